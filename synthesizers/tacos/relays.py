"""Chunks that pass through NPUs which do not want them: earliest arrival over links whose time is booked.

TACOS (arXiv 2304.05301) brings chunks to NPUs that want them from neighbours that have them, which is of no use where
few want a chunk: AllToAll, Gather, Scatter, groups that are not connected by themselves. Its time-expanded network is
searched for paths instead. Chunk after chunk, those with the farthest to go first, takes the path on which it arrives
earliest in what earlier ones have left free, gaps included, and books it; one that several want goes to the nearest
of them, and on from wherever it has been. The time of a link is a row of slots, each as long as a chunk takes.
"""

from __future__ import annotations

import heapq

import numba
import numpy as np

from schedules import Collective, Schedule
from simulator.link_model import MAX_PS, wire_ps
from synthesizers.problem import Problem
from synthesizers.tacos.boxes import boxes_of, gates
from topologies import Paths, Topology
from topologies.exceptions import SynthesisError
from topologies.memory import require_memory

_NEVER = 2**62

#: Slots are no shorter than the slowest link's delay over this, for their tables not to grow too long.
_FINEST = 1024

#: Bytes that a hop takes while the schedule is put together, and a chunk while its way is looked for.
_BYTES_PER_HOP, _BYTES_PER_CHUNK = 100, 80


def along_paths(
    problem: Problem, collective: Collective, topology: Topology, straight: bool, once: bool = False
) -> Schedule:
    """Return the schedule of copies on paths booked one after the other, switches kept as they are.

    Parameters
    ----------
    problem : Problem
        Gives size and link model.
    collective : Collective
        One that copies.
    topology : Topology
    straight : bool
        Take shortest ways to single goals only.
    once : bool
        Let each chunk enter each box, a part of the network joined by its faster links, once only, where it can.

    Raises
    ------
    MemoryShortage
        It would not fit in memory.
    SynthesisError
        It might take over 53 days.
    """
    npus, chunks = topology.num_npus, collective.num_chunks
    # Before anything is made: each chunk has its place in some columns, and each NPU its distance from each node.
    require_memory(
        chunks * (_BYTES_PER_CHUNK + _BYTES_PER_HOP) + 3 * 8 * npus * topology.num_nodes,
        f"TACOS: {collective.kind} of {chunks:,} chunks among {npus:,} NPUs",
    )
    chunk_bytes = int(collective.chunk_bytes(problem.size).max(initial=0))
    wire = wire_ps(np.array(chunk_bytes), topology.bytes_per_s)
    delay = np.maximum(topology.latency_ps + wire, 1)
    width = np.maximum(delay if problem.model.latency == "blocking" else wire, delay.max(initial=0) // _FINEST + 1)
    far = np.ascontiguousarray(Paths(topology, message_bytes=chunk_bytes).cost.T[:npus])
    have_start, have = _members(collective, collective.initial)
    want_start, want = _members(collective, collective.final)
    wanting = np.repeat(np.arange(chunks), np.diff(want_start))
    first = have[have_start[wanting]]
    distance = far[want, first]
    if float(distance.sum()) * 2 >= MAX_PS:
        raise SynthesisError(
            "TACOS found no schedule that is sure to take less than 53 days; give a smaller size or larger bandwidths"
        )
    farthest, ahead = np.zeros(chunks), np.zeros(chunks, np.int64)
    np.maximum.at(farthest, wanting, distance)
    # A chunk makes a hop to each NPU that wants it and has it not, and as many as the farthest of these is away.
    hops = int(np.maximum(farthest // delay.max(initial=1), np.diff(want_start) - np.diff(have_start)).sum())
    require_memory(hops * _BYTES_PER_HOP, f"TACOS: {collective.kind} as {hops:,} hops or more")
    ahead[wanting] = (want - first) % npus
    # All at one distance in turn: everybody's next, everybody's second next, and one piece of each after the other.
    order = np.lexsort((ahead, np.arange(chunks) % collective.chunks, -farthest))
    start, onward = topology.out_links
    boxes = boxes_of(topology) if once else np.empty((0, topology.num_nodes), np.int32)
    chunk, link, begin = search(
        npus, start, onward, topology.src, topology.dst, width, delay, far, straight, *gates(topology, boxes), order,
        have_start, have, want_start, want,
    )  # fmt: skip
    require_memory(len(chunk) * _BYTES_PER_HOP, f"TACOS: {collective.kind} as {len(chunk):,} hops")
    # From one NPU through switches to the next is one leg, and one flow of the schedule.
    sets_out = topology.src[link] < npus
    leg = np.cumsum(sets_out) - 1
    listed = np.argsort(begin[sets_out][leg], kind="stable")
    notes: dict[str, object] = {"paths": "shortest" if straight else "any"} | ({"once": True} if once else {})
    if not topology.num_switches:
        notes["planned_us"] = int((begin + delay[link]).max(initial=0)) / 1e6
    flow = leg[listed] if topology.num_switches else None
    return Schedule(topology, collective, chunk[listed], link[listed], flow=flow, notes=notes)


def _members(collective: Collective, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (start, npus): the members of each of the listed sets."""
    size = np.diff(collective.set_start)[sets]
    start = np.zeros(len(sets) + 1, np.int64)
    np.cumsum(size, out=start[1:])
    place = np.arange(start[-1]) + np.repeat(collective.set_start[sets] - start[:-1], size)
    return start, collective.set_member[place]


@numba.njit(cache=True, nogil=True)
def free_slot(after, slot):
    """Return the first free slot of a link from `slot` on; what lies past the table is free."""
    while slot < len(after) and after[slot] != slot:
        if after[slot] < len(after):
            after[slot] = after[after[slot]]
        slot = after[slot]
    return slot


@numba.njit(cache=True, nogil=True)
def search(
    num_npus, out_start, out_links, src, dst, width, delay, far, straight, gate_of, box_of, num_boxes, order,
    have_start, have, want_start, want,
):  # fmt: skip
    """Book the way of every chunk; return its hops, chunk after chunk, each way in order.

    Parameters
    ----------
    num_npus : int
        Nodes from there on are switches, which pass on but keep nothing.
    out_start, out_links : (nodes + 1,), (L,) int arrays
        Links out of each node.
    src, dst : (L,) int arrays
    width, delay : (L,) int64 arrays
        Picoseconds, at least 1, for which a chunk takes a link, and until it is across.
    far : (num_npus, nodes) float64 array
        ``far[t, v]``: at least how long a chunk takes from v to t.
    straight : bool
        Take no link that does not lead nearer to the goal, by `far`.
    gate_of : (L,) int array
        The box that each link leads into from outside, and each chunk enters once, if it can; −1: none.
    box_of : (levels, nodes) int array
        The boxes that each node is in.
    num_boxes : int
    order : (C,) int64 array
        Chunks in the order in which they choose.
    have_start, have, want_start, want : (C + 1,), (…,) int arrays
        NPUs that have each chunk, and that want it.

    Returns
    -------
    chunk, link, start : (H,) int64 arrays
        Of each hop, with the picosecond in which it sets out.
    """
    nodes = len(out_start) - 1
    links = len(dst)
    slack = 4 * nodes  # picoseconds that `far` may have been rounded by
    after = np.empty((links, 64), np.int32)
    after[:] = np.arange(64)
    hop_chunk = np.empty(1024, np.int64)
    hop_link = np.empty(1024, np.int64)
    hop_start = np.empty(1024, np.int64)
    hops = 0
    there = np.full(nodes, np.int64(_NEVER))  # when the chunk at hand is at a node for good
    seen = np.full(nodes, np.int64(_NEVER))  # when it could be, in this search
    by = np.empty(nodes, np.int64)
    sets_out = np.empty(nodes, np.int64)
    wanted = np.zeros(nodes, np.bool_)
    back = np.empty(nodes, np.int64)
    entered = np.full(num_boxes, -1, np.int64)  # the latest chunk that has entered each box
    for chunk in order:
        gated = num_boxes > 0
        been = [np.int64(0)]
        been.pop()
        for place in range(have_start[chunk], have_start[chunk + 1]):
            been.append(np.int64(have[place]))
            there[have[place]] = 0
            for level in range(len(box_of)):
                entered[box_of[level, have[place]]] = chunk
        left = 0
        for place in range(want_start[chunk], want_start[chunk + 1]):
            if there[want[place]] == _NEVER:
                wanted[want[place]] = True
                left += 1
        while left > 0:
            goal = -1
            if left == 1:
                for place in range(want_start[chunk], want_start[chunk + 1]):
                    if wanted[want[place]]:
                        goal = want[place]
            queue = [(0.0, np.int64(0), np.int64(0))]
            queue.pop()
            touched = [np.int64(0)]
            touched.pop()
            for npu in been:
                seen[npu] = there[npu]
                touched.append(npu)
                ahead = far[goal, npu] if goal >= 0 else 0.0
                heapq.heappush(queue, (there[npu] + ahead, there[npu], npu))
            found = np.int64(-1)
            while len(queue) > 0:
                _, now, node = heapq.heappop(queue)
                if now > seen[node]:
                    continue
                if wanted[node]:
                    found = node
                    break
                for place in range(out_start[node], out_start[node + 1]):
                    link = out_links[place]
                    head = np.int64(dst[link])
                    if there[head] < _NEVER or seen[head] <= now + delay[link]:
                        continue
                    if gated and gate_of[link] >= 0 and entered[gate_of[link]] == chunk:
                        continue
                    if straight and goal >= 0 and far[goal, head] + delay[link] > far[goal, node] + slack:
                        continue
                    begin = free_slot(after[link], (now + width[link] - 1) // width[link]) * width[link]
                    arrival = begin + delay[link]
                    if arrival < seen[head]:
                        if seen[head] == _NEVER:
                            touched.append(head)
                        seen[head] = arrival
                        by[head] = link
                        sets_out[head] = begin
                        ahead = far[goal, head] if goal >= 0 else 0.0
                        heapq.heappush(queue, (arrival + ahead, arrival, head))
            if found < 0:
                if not gated:
                    return hop_chunk[:0], hop_link[:0], hop_start[:0]
                # Boxes that do not hang together by themselves: the chunk must enter one again.
                gated = False
                for node in touched:
                    seen[node] = _NEVER
                continue
            length = 0
            node = found
            while there[node] == _NEVER:
                back[length] = node
                length += 1
                node = np.int64(src[by[node]])
            if hops + length > len(hop_chunk):
                more = np.empty(len(hop_chunk) + length, np.int64)
                hop_chunk = np.concatenate((hop_chunk, more))
                hop_link = np.concatenate((hop_link, more))
                hop_start = np.concatenate((hop_start, more))
            for place in range(length - 1, -1, -1):
                node = back[place]
                link = by[node]
                slot = sets_out[node] // width[link]
                if slot >= after.shape[1]:
                    longer = np.empty((links, 2 * slot), np.int32)
                    longer[:] = np.arange(2 * slot)
                    longer[:, : after.shape[1]] = after
                    after = longer
                after[link, slot] = slot + 1
                hop_chunk[hops], hop_link[hops], hop_start[hops] = chunk, link, sets_out[node]
                hops += 1
                if node < num_npus:
                    there[node] = seen[node]
                    been.append(node)
                    for level in range(len(box_of)):
                        entered[box_of[level, node]] = chunk
                    if wanted[node]:
                        wanted[node] = False
                        left -= 1
            for node in touched:
                seen[node] = _NEVER
        for npu in been:
            there[npu] = _NEVER
    return hop_chunk[:hops], hop_link[:hops], hop_start[:hops]
