"""Ways to damage an algorithm of MSCCL, each with a place; what was valid is then invalid."""

from __future__ import annotations

from itertools import pairwise

from schedules.msccl.algorithm import READS, RECEIVES, SENDS, WRITES


def steps_of(algorithm):
    """Yield (gpu, block, index, step) of all steps."""
    for number, gpu in enumerate(algorithm.gpus):
        for block, tb in enumerate(gpu.threadblocks):
            for index, step in enumerate(tb.steps):
                yield number, block, index, step


def with_step(algorithm, gpu, block, index, *steps):
    """Return an algorithm with other steps in place of one; what depended on later steps of its threadblock moves."""
    shift = len(steps) - 1

    def moved(step, number):
        later = number == gpu and step.dep_block == block and step.dep_step > index
        return step._replace(dep_step=step.dep_step + shift) if later else step

    gpus = []
    for number, each in enumerate(algorithm.gpus):
        blocks = []
        for b, tb in enumerate(each.threadblocks):
            found = list(tb.steps)
            if (number, b) == (gpu, block):
                found[index : index + 1] = steps
            blocks.append(tb._replace(steps=tuple(moved(step, number) for step in found)))
        gpus.append(each._replace(threadblocks=tuple(blocks)))
    return algorithm._replace(gpus=tuple(gpus))


def lost_receives(algorithm):
    """Yield the algorithm without one receive."""
    for gpu, block, index, step in steps_of(algorithm):
        if step.kind in RECEIVES:
            yield with_step(algorithm, gpu, block, index)


def wrong_offsets(algorithm):
    """Yield the algorithm with one step that reads or writes one chunk further on."""
    for gpu, block, index, step in steps_of(algorithm):
        if step.kind in READS and step.kind not in ("re", "rrc", "rrcs"):
            yield with_step(algorithm, gpu, block, index, step._replace(src_offset=step.src_offset + 1))
        elif step.kind in WRITES:
            yield with_step(algorithm, gpu, block, index, step._replace(dst_offset=step.dst_offset + 1))


def missing_dependencies(algorithm):
    """Yield the algorithm without one dependency."""
    for gpu, block, index, step in steps_of(algorithm):
        if step.dep_block >= 0:
            yield with_step(algorithm, gpu, block, index, step._replace(dep_block=-1, dep_step=-1))


def cyclic_dependencies(algorithm):
    """Yield the algorithm with two threadblocks whose first steps wait for the other's last."""
    for number, gpu in enumerate(algorithm.gpus):
        busy = [block for block, tb in enumerate(gpu.threadblocks) if tb.steps and tb.steps[-1].kind != "nop"]
        for a, b in pairwise(busy):
            damaged = algorithm
            for block, other in ((a, b), (b, a)):
                last = len(gpu.threadblocks[other].steps) - 1
                first = damaged.gpus[number].threadblocks[block].steps[0]
                damaged = with_step(damaged, number, block, 0, first._replace(dep_block=other, dep_step=last))
                target = damaged.gpus[number].threadblocks[other].steps[last]
                damaged = with_step(damaged, number, other, last, target._replace(has_dependents=True))
            yield damaged


def unsaid_dependents(algorithm):
    """Yield the algorithm with one awaited step that does not say that it is awaited."""
    for gpu, block, index, step in steps_of(algorithm):
        if step.has_dependents and any(
            each.dep_block == block and each.dep_step == index
            for number, _, _, each in steps_of(algorithm) if number == gpu
        ):  # fmt: skip
            yield with_step(algorithm, gpu, block, index, step._replace(has_dependents=False))


def other_counts(algorithm):
    """Yield the algorithm with one send that takes one chunk more."""
    for gpu, block, index, step in steps_of(algorithm):
        if step.kind in SENDS:
            yield with_step(algorithm, gpu, block, index, step._replace(cnt=step.cnt + 1))


def relabelled(algorithm):
    """Yield the algorithm under each other name but custom."""
    for name in ("allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter"):
        if name != algorithm.collective:
            yield algorithm._replace(collective=name)


ALL = (lost_receives, wrong_offsets, missing_dependencies, cyclic_dependencies, unsaid_dependents, other_counts,
       relabelled)  # fmt: skip
