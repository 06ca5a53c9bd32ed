"""What holds for every reader: content alone decides, and nobody's file does harm."""

from __future__ import annotations

import time

import pytest

from tests.fuzz import READERS, attempt
from tests.topologies.readers.samples import ASTRA, GML, IBNET, NS3, SAMPLES, all_pairs, nccl, nvlink, smi
from topologies import FormatError, OptionError, UnitError, mesh, parse_topology, save_topology
from topologies.readers import FORMATS, read_source, read_topology
from topologies.readers.source import KEYS, Source, parse_given

EACH = [(form, text, given) for form in FORMATS for text, given in SAMPLES[form.module]]


pytestmark = pytest.mark.filterwarnings("ignore::topologies.TopologyWarning")


class TestEach:
    @pytest.mark.parametrize(("form", "text", "given"), EACH, ids=[form.module for form, _, _ in EACH])
    def test_one_reader_knows_it(self, form, text, given, tmp_path):
        """A file is known to one reader only, whatever it is called; line ends and a byte-order mark change nothing."""
        assert [other.title for other in FORMATS if other.part("recognises")(text)] == [form.title]
        topology = read_source(Source("x", text, given))
        path = tmp_path / "file.json"
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        assert read_topology(str(path), given) == topology
        said = ",".join(f"{key}={value}" for key, value in given.items())
        assert parse_topology(f"{path}@{said}" if said else str(path)) == topology

    @pytest.mark.parametrize(("form", "text", "given"), EACH, ids=[form.module for form, _, _ in EACH])
    def test_what_has_no_meaning(self, form, text, given):
        """A key that a format does not take is refused, and every key is of some format."""
        for key in KEYS.keys() - form.keys:
            with pytest.raises(OptionError, match=f"{key} has no meaning for"):
                read_source(Source("x", text, {key: KEYS[key][0]}))
        assert set().union(*(other.keys for other in FORMATS)) == KEYS.keys()

    @pytest.mark.parametrize(("form", "text", "given"), EACH, ids=[form.module for form, _, _ in EACH])
    def test_cut_off_anywhere(self, form, text, given):
        """A file that ends early is read or refused in one line, in due time."""
        for end in range(0, len(text), max(1, len(text) // 40)):
            attempt(READERS["topologies"], text[:end].encode())


class TestFiles:
    def test_foreign(self, tmp_path):
        """A file that nobody knows is refused with its beginning and what there is; so are bytes, and nothing."""
        path = tmp_path / "x"
        for content, says in ((b"hello\n", "begins 'hello'.*GraphML.*ibnetdiscover"), (b"\xff\xfe<\0", "not text"),
                              (b"a\0b", "zero byte"), (b"", "begins ''")):  # fmt: skip
            path.write_bytes(content)
            with pytest.raises(FormatError, match=says):
                read_topology(str(path))
        with pytest.raises(FormatError, match="cannot read"):
            read_topology(str(tmp_path))

    def test_own_file(self, tmp_path):
        """Collbench's own JSON says all itself."""
        save_topology(mesh((2, 3)), path := tmp_path / "own.txt")
        assert parse_topology(str(path)) == mesh((2, 3))
        with pytest.raises(OptionError, match="bandwidth has no meaning for collbench's own JSON"):
            parse_topology(f"{path}@bandwidth=1GB/s")

    def test_at_sign_in_a_name(self, tmp_path):
        """A file whose name holds an @ is that file."""
        path = tmp_path / "a@b.txt"
        path.write_text(smi(all_pairs(3, "NV6")))
        assert parse_topology(f"{path}@gpu=H100").num_links == 36

    @pytest.mark.parametrize(("said", "says"), [
        ("gpu", "expected key=value"), ("gpv=1", "did you mean 'gpu'"), ("zzz=1", "expected one of gpu, "),
        ("gpu=A100,gpu=A100", "given twice"), ("", "expected key=value"),
    ])  # fmt: skip
    def test_what_follows_the_name(self, said, says):
        """A slip in what follows a file's name is refused with the nearest key."""
        with pytest.raises(OptionError, match=says):
            parse_given("x", said)

    @pytest.mark.parametrize("given", [{"bandwidth": "fast"}, {"latency": "1"}, {"gpu": "H1000"}, {"bonded": "maybe"}])
    def test_wrong_values(self, given):
        """What is given is checked."""
        with pytest.raises((OptionError, UnitError), match="^x: "):
            read_source(Source("x", smi([[" X ", "NV2"], ["NV2", " X "]]), given))


_BOMB = "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(20))


class TestHostile:
    @pytest.mark.parametrize("text", [
        "2 0 1\n0 1 100Gbps 0.0005ms " + "0" * 10**5 + "1\n",
        "src,dst,bandwidth_gbps,latency_us\n0,1,50,1\n1,0,50,1\n" + "\n" * 300_000,
    ], ids=["zeros", "blank lines"])  # fmt: skip
    def test_read_cheaply(self, text):
        """Long files in which there is little are read in due time."""
        begin = time.process_time()
        assert read_source(Source("x", text, {})).num_links == 2
        assert time.process_time() - begin < 4

    @pytest.mark.parametrize("text", [
        f'<!DOCTYPE system [<!ENTITY a "aaaaaaaaaa">{_BOMB}]><system>&u;</system>',
        '<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml/>',
        "<system>" + "<a>" * 1_000_000,
        nccl({0: nvlink(1, 10**9), 1: nvlink(0, 10**9)}),
        nccl({0: nvlink(1), 1: nvlink(0)}).replace('rank="1"', f'rank="{"9" * 10**6}"'),
        smi(all_pairs(2, "NV9999")),
        "topology: " + "[" * 200_000 + "\nlatency: 1\n",
        "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ntopology: [*c]\nlatency: 1\n",
        ASTRA.replace("2, 3, 4", "999999999, 999999999, 4"),
        ASTRA.replace("500.5", "1" + "0" * 10**5),
        NS3.replace("4 1 3", "999999999 1 3"),
        NS3.replace("4 1 3", "4 1 999999999"),
        '{"nodes": ' + "[" * 10**6 + ', "links": [',
        '{"nodes": [], "links": [], "x": ' + "1" * 10**6 + "}",
        '{"gpus_per_node": 999999999, "name": "dgx2", "node_betas_list": [1], "node_invbws_list": [1]}',
        '{"gpus_per_node": 1, "name": "c", "links": [[999999999]], "betas": [[1]], "invbws": [[1]]}',
        "graph " + "[ a " * 10**6,
        GML.replace("id 7", "id " + "7" * 10**6),
        "src,dst,bandwidth_gbps\n" + '0,"' + "1" * 10**6,
        "1," * 10**6 + "\n" + "1," * 10**6,
        IBNET.replace('"S-0000000000000020"\t', '"S-' + "0" * 10**6 + '"\t'),
        "=== Weight between two GPUs ===\n" + " ".join(f"GPU{i}" for i in range(10**5)) + "\n",
        'comment "x" ' * 40 + "\nfoo",
        "src,dst,bandwidth (" + " " * 3900 + "x\n0,1,1\n",
        "3 1 2\n0\n" + "\n" * 10**5,
        "src,dst,bandwidth\n0,1,1 a" + " " * 50_000 + "b\n",
        ("1,1" + " " * 60_000 + "x\n") * 2,
        "Weight between two GPUs\n" + "hops " * 20_000,
        "<?" * 32_000,
        "<!--" * 16_000,
        "\n" * 10**6 + "foo",
        "<system>" + "<a/>\n" * (4 * 10**5) + "<b></system>",
    ], ids=["entities", "external", "deep xml", "links", "digits xml", "cells", "deep yaml", "aliases", "npus",
            "digits yaml", "nodes", "lines", "deep json", "digits json", "gpus", "counts", "deep gml", "digits gml",
            "field", "columns", "guid", "header", "comments", "blanks in a header", "blank lines",
            "blanks in a unit", "blanks in a matrix", "titles", "instructions", "open comments", "nothing",
            "elements"])  # fmt: skip
    def test_refused_cheaply(self, text):
        """Entities, nesting without end and huge counts are refused before anything is made of them."""
        begin = time.process_time()
        with pytest.raises((FormatError, OptionError)) as caught:
            read_source(Source("x", text, {}))
        assert len(str(caught.value)) < 600
        assert "\n" not in str(caught.value)
        assert time.process_time() - begin < 4
