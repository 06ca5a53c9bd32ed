"""Reading MSCCL XML: what is damaged, endless or hostile is refused in one line, cheaply, with its line number."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules.msccl import MscclFormatError, is_msccl_file, judge, load_msccl, parse_msccl
from tests.fuzz import READERS, attempt, mutated
from tests.schedules.msccl.samples import BY_HAND, case
from topologies import FormatError


class TestParse:
    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            ("<algo ", "<graphs ", "line 2: expected <algo> as the root element, found <graphs>"),
            ("</algo>", "", "malformed XML: no element found"),
            ("</algo>", "</algo><algo/>", "a second root element"),
            ('ngpus="3"', 'ngpus="4"', "line 2: ngpus is 4; found 3 <gpu> elements"),
            ('ngpus="3"', 'ngpus="9999999999"', "line 2: ngpus of <algo> is '9999999999'"),
            ('ngpus="3"', "", "<algo> has no attribute 'ngpus'"),
            ('nchunksperloop="3"', 'nchunksperloop="1e9"', "nchunksperloop of <algo> is '1e9'"),
            ('coll="allgather"', 'coll="all_gather"', "coll is 'all_gather'; expected one of allreduce"),
            ('type="rcs"', 'type="rsc"', "line 7: step of type 'rsc'"),
            ('s="1"', 's="2"', "line 7: step s=2 stands where step 1 is expected"),
            ('cnt="1"', 'cnt="0"', "line 6: cnt of <step> is '0'"),
            ('cnt="1"', 'cnt="-1"', "cnt of <step> is '-1'"),
            ('<gpu id="2"', '<gpu id="0"', "gpu 0 is there twice"),
            ('<gpu id="2"', '<gpu id="7"', "the gpus are not numbered from 0 without a gap: 2 is missing"),
            ('send="1" recv="2"', 'send="0" recv="2"', "line 5: gpu 0 tb 0: send is 0"),
            ('send="1" recv="2"', 'send="1" recv="3"', "recv is 3; expected another of the 3 gpus"),
            ('send="1" recv="2"', 'recv="2"', "line 6: gpu 0 tb 0 step 0 (s): its threadblock has send=\"-1\""),
            ('chan="0"', 'chan="0" nope="1"', ""),
            ("<copy ", "<step ", "<step> stands in <gpu>; expected in <tb>"),
        ],
    )  # fmt: skip
    def test_damage(self, old, new, says):
        """Each is refused with what is wrong and the line, or read where it does no harm."""
        text = BY_HAND.replace(old, new, 1)
        if not says:
            assert judge(parse_msccl(text)).status == "valid"
            return
        with pytest.raises(MscclFormatError) as caught:
            parse_msccl(text)
        assert says in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_two_roots_of_a_public_file(self):
        """A public file with two roots is refused at line 21 (cases/README.md)."""
        path = case("21")
        with pytest.raises(MscclFormatError, match="line 21: malformed XML: a second root element") as caught:
            load_msccl(path)
        assert caught.value.line == 21
        assert str(path) in str(caught.value)

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
    def test_truncated(self, share):
        """A file that has lost its end is refused with the line where it ends."""
        text = BY_HAND[: int(len(BY_HAND) * share)]
        with pytest.raises(MscclFormatError, match=r"^line \d+: malformed XML"):
            parse_msccl(text)

    @pytest.mark.parametrize(
        "text",
        [
            '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
                f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(20)
            ) + ']><algo name="&u;"/>',
            '<!DOCTYPE algo SYSTEM "file:///etc/passwd"><algo/>',
            "<algo>" + "<a>" * 1_000_000,
            BY_HAND.replace('nchunksperloop="3"', 'nchunksperloop="999999999999999"'),
            BY_HAND.replace('cnt="1"', 'cnt="4000000"'),
            BY_HAND.replace('o_chunks="3"', f'o_chunks="{"9" * 10**6}"'),
        ],
        ids=["entities", "external", "deep", "chunks", "counts", "digits"],
    )  # fmt: skip
    def test_hostile(self, text):
        """Entities, nesting without end and huge numbers are refused before anything is made of them."""
        begin = time.process_time()
        with pytest.raises(MscclFormatError) as caught:
            parse_msccl(text)
        assert len(str(caught.value)) < 300
        assert time.process_time() - begin < 2

    def test_cannot_be_read(self, tmp_path):
        """A file that is not there, or is a folder, is one line."""
        for path in (tmp_path / "nowhere.xml", tmp_path):
            with pytest.raises(FormatError, match="cannot read"):
                load_msccl(path)

    def test_told_by_content(self, tmp_path):
        """MSCCL XML is known by its first element, behind comments, whatever the file's name."""
        for text, known in (
            (BY_HAND, True),
            ("<algo inplace='1'", True),
            ("<!-- -->" * 500 + "<graphs/>", False),
            ("<?xml version='1.0'?>\n<algo/>", True),
            ("<system/>", False),
            ("{}", False),
        ):
            (tmp_path / "x.json").write_text(text)
            assert is_msccl_file(tmp_path / "x.json") is known


class TestFuzz:
    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 2**32), st.sampled_from(sorted(READERS)))
    def test_mutations(self, seed, name):
        """Whatever is done to a file that a reader takes, it reads it or refuses it in one line."""
        reader, chosen = READERS[name], random.Random(seed)
        attempt(reader, mutated(chosen.choice(reader.seeds()), chosen))
