"""A second way to run an algorithm of MSCCL: one step after another in a random order, on sets of contributions.

It knows nothing of races: it may run into one, or not. What the judge calls valid must come out right in every order.
"""

from __future__ import annotations

from collections import defaultdict, deque

from schedules.msccl.conditions import Conditions


def outcome(algorithm, random, in_place):
    """Return whether the collective comes out right in one random order of the steps."""
    conditions = Conditions(algorithm, in_place)
    memory, under_way, done = {}, defaultdict(deque), {}
    blocks = [(g, b) for g, gpu in enumerate(algorithm.gpus) for b in range(len(gpu.threadblocks))]

    def at(gpu, buffer, offset):
        place = conditions.address(gpu, buffer, offset)
        start = conditions.initial(*place)
        return memory.get(place, [] if start is None else [(start[0], gpu)])

    while blocks:
        gpu, b = blocks[random.integers(len(blocks))]
        tb, index = algorithm.gpus[gpu].threadblocks[b], done.get((gpu, b), 0)
        if index == len(tb.steps):
            blocks.remove((gpu, b))
            continue
        step = tb.steps[index]
        way_in, way_out = (tb.recv, gpu, tb.channel), (gpu, tb.send, tb.channel)
        receives = step.kind in ("r", "rcs", "rrc", "rrs", "rrcs")
        if (step.dep_block >= 0 and done.get((gpu, step.dep_block), 0) <= step.dep_step) or (
            receives and not under_way[way_in]
        ):
            continue
        values = under_way[way_in].popleft() if receives else [[]] * step.cnt
        if step.kind in ("s", "cpy", "re", "rrc", "rrs", "rrcs"):
            values = [v + at(gpu, step.src_buffer, step.src_offset + i) for i, v in enumerate(values)]
        if step.kind == "re":
            values = [v + at(gpu, step.dst_buffer, step.dst_offset + i) for i, v in enumerate(values)]
        if step.kind in ("r", "rcs", "rrc", "rrcs", "cpy", "re"):
            for i, value in enumerate(values):
                memory[conditions.address(gpu, step.dst_buffer, step.dst_offset + i)] = value
        if step.kind in ("s", "rcs", "rrs", "rrcs"):
            under_way[way_out].append(values)
        done[gpu, b] = index + 1
    for (gpu, buffer, offset), chunk, contributions in conditions.final():
        wanted = [rank for rank in range(len(algorithm.gpus)) if contributions >> rank & 1]
        found = sorted(at(gpu, buffer, offset), key=lambda each: each[1])
        if conditions.kind in ("allreduce", "reduce", "reduce_scatter"):
            if found != [(chunk, rank) for rank in wanted]:
                return False
        elif [each[0] for each in found] != [chunk]:
            return False
    return True
