"""Writing MSCCL XML: an algorithm as text, with every attribute, since runtimes pass over files that lack one."""

from __future__ import annotations

import re

from schedules.msccl.algorithm import ANY_BYTES, Algorithm


def format_msccl(algorithm: Algorithm) -> str:
    """Return an algorithm as MSCCL XML, a line for each element."""
    root = "" if algorithm.root is None else f' root="{algorithm.root}"'
    lines = [
        f'<algo name="{_plain(algorithm.name)}" proto="{_plain(algorithm.protocol)}" nchannels="{algorithm.channels}" '
        f'nchunksperloop="{algorithm.chunks}" ngpus="{len(algorithm.gpus)}" coll="{algorithm.collective}" '
        f'inplace="{algorithm.in_place:d}" outofplace="{algorithm.out_of_place:d}" minBytes="{algorithm.min_bytes}" '
        f'maxBytes="{algorithm.max_bytes or ANY_BYTES}"{root}>'
    ]
    for number, gpu in enumerate(algorithm.gpus):
        lines.append(
            f'  <gpu id="{number}" i_chunks="{gpu.input_chunks}" o_chunks="{gpu.output_chunks}" '
            f's_chunks="{gpu.scratch_chunks}">'
        )
        for index, block in enumerate(gpu.threadblocks):
            lines.append(f'    <tb id="{index}" send="{block.send}" recv="{block.recv}" chan="{block.channel}">')
            lines += [
                f'      <step s="{position}" type="{step.kind}" srcbuf="{step.src_buffer}" srcoff="{step.src_offset}" '
                f'dstbuf="{step.dst_buffer}" dstoff="{step.dst_offset}" cnt="{step.cnt}" depid="{step.dep_block}" '
                f'deps="{step.dep_step}" hasdep="{step.has_dependents:d}"/>'
                for position, step in enumerate(block.steps)
            ]
            lines.append("    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _plain(name: str) -> str:
    """Return a name with nothing in it that XML, or a runtime's simple parser, would stumble over."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")[:120] or "schedule"
