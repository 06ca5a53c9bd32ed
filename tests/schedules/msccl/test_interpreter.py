"""The judge of MSCCL algorithms: what is right is valid, damage is refused with its place, races need no bad luck."""

from __future__ import annotations

import numpy as np
import pytest

from schedules.msccl import judge, load_msccl, parse_msccl, schedule_of
from tests.schedules.msccl import damage
from tests.schedules.msccl.disorder import outcome
from tests.schedules.msccl.samples import BY_HAND, algo, case, exported
from topologies import ring


def racing():
    """Return an exchange of two GPUs in place in which what arrives may be added before the old value has left."""
    gpus = [[(1, 0, 0), (1, -1, 0, "s i0 i0"), (-1, 1, 0, "rrc i0 i0")],
            [(1, 0, 0), (0, -1, 0, "s i0 i0"), (-1, 0, 0, "rrc i0 i0")]]  # fmt: skip
    return algo(*gpus, coll="allreduce", chunks=1, inplace=1)


SIZES = (1, 2, 0)


class TestJudge:
    @pytest.mark.parametrize("name", ["01", "05", "07", "15", "18"])
    def test_public_files_are_valid(self, name):
        """Five files as found in public compute what they say (cases/README.md)."""
        assert judge(load_msccl(case(name))).status == "valid"

    def test_by_hand_is_valid(self):
        """A file with a comment first, foreign elements and missing attributes is read and valid."""
        assert judge(parse_msccl(BY_HAND)).status == "valid"

    @pytest.mark.parametrize(("first", "status"), [(1, "invalid"), (2, "valid"), (0, "valid")])
    def test_overlap(self, first, status):
        """A copy between ranges that overlap is refused, as a GPU copies all at once; others are not."""
        steps = [
            ("cpy", "i", 0, "s", 0),
            ("cpy", "s", 0, "s", first),
            ("s", "s", first, "o", 0),
            ("cpy", "s", first, "o", 0),
        ]
        text = '<algo nchunksperloop="2" ngpus="2" coll="broadcast" inplace="0" outofplace="1">'
        text += '<gpu id="0" i_chunks="2" o_chunks="2" s_chunks="4"><tb id="0" send="1" recv="-1" chan="0">'
        text += "".join(
            f'<step s="{number}" type="{kind}" srcbuf="{src}" srcoff="{at}" dstbuf="{dst}" dstoff="{to}" cnt="2"/>'
            for number, (kind, src, at, dst, to) in enumerate(steps)
        )
        text += '</tb></gpu><gpu id="1" i_chunks="2" o_chunks="2"><tb id="0" send="-1" recv="0" chan="0">'
        text += '<step s="0" type="r" dstbuf="o" dstoff="0" cnt="2"/></tb></gpu></algo>'
        verdict = judge(parse_msccl(text))
        assert verdict.status == status
        if status == "invalid":
            assert "2 chunks from s[0] to s[1], which overlap" in verdict.reason

    def test_a_nop_of_one_chunk(self):
        """What a nop counts means nothing, to the judge and to the schedule that is made of it."""
        text = '<algo nchunksperloop="1" ngpus="2" coll="broadcast" inplace="1"><gpu id="0" i_chunks="1">'
        text += '<tb id="0" send="1"><step s="0" type="s" srcbuf="i" srcoff="0" cnt="1"/></tb></gpu>'
        text += '<gpu id="1" i_chunks="1"><tb id="0" recv="0"><step s="0" type="nop" cnt="1"/>'
        text += '<step s="1" type="r" dstbuf="i" dstoff="0" cnt="1"/></tb></gpu></algo>'
        algorithm = parse_msccl(text)
        assert judge(algorithm).status == "valid"
        assert schedule_of(algorithm, ring(2)).num_hops == 1

    def test_custom_cannot_be_verified(self):
        """Nobody says what a custom collective must do; that it ends and has no race is still looked at."""
        custom = parse_msccl(BY_HAND)._replace(collective="custom")
        assert judge(custom)[:2] == ("cannot verify", "no known postcondition")
        assert judge(next(damage.lost_receives(custom))).status == "invalid"

    def test_many_messages_are_under_way(self):
        """Both GPUs send twice before they receive: with one slot a connection this would stop, here it does not."""
        blocks = [[(4, 0, 0)], [(4, 0, 0)]]
        for gpu, other in ((0, 1), (1, 0)):
            blocks[gpu].append((other, other, 0, "s i2 i2", "s i3 i3", "rrc i2 i2", "rrc i3 i3"))
            blocks[gpu].append((other, other, 1, "s i0 i0", "s i1 i1", "rrc i0 i0", "rrc i1 i1"))
        assert judge(algo(*blocks, coll="allreduce", chunks=4, inplace=1)).status == "valid"

    def test_lucky_race(self):
        """A copy that nothing orders before the send that reads it is a race, whichever runs first."""
        send = (1, -1, 0, "s o0 o0")
        gpus = [[SIZES, (-1, -1, 0, "cpy i0 o0"), send, (-1, 1, 0, "r i0 o1")],
                [SIZES, (-1, -1, 0, "cpy i0 o1"), (0, -1, 0, "s i0 o1"), (-1, 0, 0, "r i0 o0")]]  # fmt: skip
        verdict = judge(algo(*gpus))
        assert verdict.status == "invalid"
        assert "reads o[0]" in verdict.reason or "race" in verdict.reason
        gpus[0][1:3] = [(-1, -1, 0, "cpy i0 o0 -1 -1 1"), (1, -1, 0, "s o0 o0 0 0")]
        assert judge(algo(*gpus)).status == "valid"

    def test_order_through_other_gpus_counts(self):
        """What has been sent, forwarded and come back is ordered, though no dependency says so."""
        gpus = [[(1, 0, 0), (1, -1, 0, "s i0 i0"), (-1, 1, 0, "r i0 i0")],
                [(1, 0, 0), (0, 0, 0, "rrc i0 i0", "s i0 i0")]]  # fmt: skip
        assert judge(algo(*gpus, coll="allreduce", chunks=1, inplace=1)).status == "valid"

    def test_overwriting_what_is_still_read(self):
        """A receive that may arrive before the old value has left is a race of a write with a read."""
        verdict = judge(racing())
        assert verdict.status == "invalid"
        assert "a race" in verdict.reason
        assert verdict.fault.line == 15

    def test_one_end_one_threadblock(self):
        """Two threadblocks that send on one connection have no order."""
        gpus = [[SIZES, (1, -1, 0, "s i0 o0"), (1, -1, 0, "s i0 o0")], [SIZES, (-1, 0, 0, "r i0 o0", "r i0 o0")]]
        assert "both send to gpu 1 on channel 0" in judge(algo(*gpus)).reason

    def test_dependency_on_a_nop(self):
        """Nobody can wait for a nop: the runtime never says that it is done."""
        gpus = [[SIZES, (-1, -1, 0, "nop i-1 o-1 -1 -1 1"), (-1, -1, 0, "cpy i0 o0 0 0")], [SIZES]]
        assert "which is a nop" in judge(algo(*gpus)).reason

    def test_neither_way(self):
        """A file that may be used neither in place nor out of place is no use."""
        assert judge(parse_msccl(BY_HAND)._replace(in_place=False)).status == "invalid"

    @pytest.mark.parametrize("coll", ["reduce", "reduce_scatter"])
    def test_allreduce_is_no_part_of_itself(self, coll):
        """An AllReduce in place leaves what Reduce and ReduceScatter ask for, and yet is neither."""
        algorithm = exported("ring", "ring:4", "all_reduce", in_place=True)._replace(collective=coll)
        assert "an allreduce" in judge(algorithm).reason


SAMPLES = [
    ("ring", "ring:4", "all_reduce"), ("halving_doubling", "dgx1", "all_reduce"), ("tacos", "mesh:2x2", "all_gather"),
    ("direct", "switch:4", "all_to_all"), ("halving_doubling", "ring:4", "reduce_scatter"),
    ("double_binary_tree", "dgx1", "broadcast"),
]  # fmt: skip


class TestDamage:
    @pytest.mark.parametrize("kind", damage.ALL, ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize("sample", SAMPLES, ids="-".join)
    def test_exported(self, sample, kind):
        """Whatever is damaged in what was exported, it is invalid, and the place is named."""
        for damaged in list(kind(exported(*sample)))[::3]:
            verdict = judge(damaged)
            assert verdict.status == "invalid"
            assert verdict.reason.startswith(f"line {verdict.fault.line}: ")

    @pytest.mark.parametrize("kind", [kind for kind in damage.ALL if kind is not damage.missing_dependencies],
                             ids=lambda kind: kind.__name__)  # fmt: skip
    @pytest.mark.parametrize("name", ["01", "05", "07", "15", "18"])
    def test_public(self, name, kind):
        """So it is in public files, whose dependencies are not all needed."""
        for damaged in list(kind(load_msccl(case(name))))[::9]:
            assert judge(damaged).status == "invalid"

    def test_some_dependencies_of_public_files_are_needed(self):
        """Of the 64 dependencies of a public AllReduce some can be left out one at a time, and others are missed."""
        found = [judge(each).status for each in damage.missing_dependencies(load_msccl(case("18")))]
        assert "invalid" in found


class TestDisorder:
    @pytest.mark.parametrize("sample", SAMPLES, ids="-".join)
    @pytest.mark.parametrize("instances", [1, 2])
    def test_every_order_is_right(self, sample, instances):
        """What is valid comes out right in random orders of its steps."""
        algorithm = exported(*sample, instances=instances)
        assert all(outcome(algorithm, np.random.default_rng(seed), False) for seed in range(3))

    def test_some_order_is_wrong(self):
        """What lacks a dependency comes out wrong in some order: the second way to run it does find races."""
        assert not all(outcome(racing(), np.random.default_rng(seed), True) for seed in range(60))
