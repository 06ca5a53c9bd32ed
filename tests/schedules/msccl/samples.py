"""Algorithms that tests of MSCCL XML share: exported schedules, small files of their own, and public ones if there."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from schedules import collective
from schedules.msccl import export_msccl, parse_msccl
from simulator import LinkModel
from synthesizers import Problem, find, parse_options
from topologies import parse_topology

#: Files as found in public; not part of the repository.
CASES = Path(__file__).parents[4] / "shared" / "cases" / "schedules"


def case(name):
    """Return the path of a public file; the test is skipped where there is none."""
    found = sorted(CASES.glob(f"{name}-*.xml")) if CASES.is_dir() else []
    if not found:
        pytest.skip("the public files are not here")
    return found[0]


def made(synthesizer, network, kind, chunks=1, root=0):
    """Return a synthesizer's schedule."""
    topology = parse_topology(network)
    rooted = kind in ("broadcast", "reduce", "gather", "scatter")
    work = collective(kind, topology.num_npus, chunks=chunks, root=root if rooted else 0)
    chosen = find(synthesizer)
    return chosen.synthesize(Problem(topology, work, 2**20, LinkModel()), parse_options(chosen, {}))


#: An AllGather of three GPUs round a ring, by hand, in the ways of files in the wild: a comment before the root, an
#: element of another tool, attributes that are missing, a source that means nothing.
BY_HAND = """<!-- by hand -->
<algo name="by hand" nchunksperloop="3" ngpus="3" coll="allgather" inplace="1">
  <gpu id="0" i_chunks="0" o_chunks="3" s_chunks="0">
    <copy i_chunk="0" o_chunk="0"/>
    <tb id="0" send="1" recv="2" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rcs" srcbuf="i" srcoff="7" dstbuf="o" dstoff="2" cnt="1"/>
      <step s="2" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1"/>
    </tb>
  </gpu>
  <gpu id="2" i_chunks="0" o_chunks="3" s_chunks="0">
    <tb id="0" send="0" recv="1" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="1"/>
      <step s="1" type="rcs" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1"/>
      <step s="2" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="0" o_chunks="3" s_chunks="0">
    <tb id="0" send="2" recv="0" chan="0">
      <step s="0" type="s" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1"/>
      <step s="1" type="rcs" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
      <step s="2" type="r" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="1"/>
    </tb>
  </gpu>
</algo>
"""


@cache
def exported(synthesizer, network, kind, chunks=1, in_place=False, instances=1):
    """Return a synthesizer's schedule as an algorithm that has been a file."""
    return parse_msccl(export_msccl(made(synthesizer, network, kind, chunks), "x", in_place, instances))


def algo(*gpus, coll="allgather", chunks=2, **attributes):
    """Return an algorithm of GPUs that are lists of (send, recv, chan, steps); a step is a text of its fields."""
    names = {"inplace": 0} | attributes
    lines = [f'<algo name="x" ngpus="{len(gpus)}" nchunksperloop="{chunks}" coll="{coll}" '
             + " ".join(f'{name}="{value}"' for name, value in names.items()) + ">"]  # fmt: skip
    for number, (sizes, *blocks) in enumerate(gpus):
        lines.append('<gpu id="{}" i_chunks="{}" o_chunks="{}" s_chunks="{}">'.format(number, *sizes))
        for index, (send, recv, chan, *steps) in enumerate(blocks):
            lines.append(f'<tb id="{index}" send="{send}" recv="{recv}" chan="{chan}">')
            for position, text in enumerate(steps):
                kind, source, target, *rest = text.split()
                depid, deps, hasdep = [*rest, *("-1", "-1", "0")[len(rest) :]]
                lines.append(
                    f'<step s="{position}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1:]}" cnt="1" '
                    f'dstbuf="{target[0]}" dstoff="{target[1:]}" depid="{depid}" deps="{deps}" hasdep="{hasdep}"/>'
                )
            lines.append("</tb>")
        lines.append("</gpu>")
    return parse_msccl("\n".join([*lines, "</algo>"]))
