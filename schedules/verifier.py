"""The verifier: executes a schedule's dataflow and proves that it computes its collective.

It shares no code with synthesizers, simulator or `schedules.dataflow`. Two modes: *exact* carries, for each place (NPU,
chunk), the set of contributions in it and the set of those in it more than once; *random* gives each contribution a
random 64-bit word, adds modulo a 64-bit prime, and compares sums: a wrong schedule passes with a probability of about
2⁻⁶⁴; of a schedule that adds nothing it only follows who holds what, which is exact. Both name the same hop.

At scale memory is what is scarce: a schedule of hops that stand alone is checked with little beside its columns.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from schedules.schedule import NO_FLAGS, NO_IDS, Schedule
from topologies.exceptions import VerificationError

#: Schedules of at most this many hops are checked exactly when no mode is given.
EXACT_HOPS = 20_000

#: Hops whose links are grouped by chunk at a time: a buffer of 1 GiB.
_GROUPED_HOPS = 2**28

MODES = ("auto", "exact", "random")

Result = tuple[int, int, int, int]  # (fault, position, NPU, chunk)

_ROUTE_FAULTS = (
    "",
    "starts at a switch: a switch cannot send what it was not sent for",
    "ends at a switch: a route must lead on to an NPU",
    "does not start where the hop before it in its route ended",
    "carries another chunk than the hop before it in its route",
)


def verify(schedule: Schedule, mode: str = "auto", seed: int | None = None) -> None:
    """Return nothing if the schedule computes its collective; else raise.

    Parameters
    ----------
    schedule : Schedule
        Any schedule.
    mode : {"auto", "exact", "random"}
        ``auto``: exact up to `EXACT_HOPS` hops.
    seed : int, optional
        Of the random words; by default nobody can know it.

    Raises
    ------
    VerificationError
        Names the first hop at fault, or the place that does not hold what it must, and why.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r}: expected one of {', '.join(MODES)}")
    _check_structure(schedule)
    exact = mode == "exact" or (mode == "auto" and schedule.num_hops <= EXACT_HOPS)
    if seed is None:
        seed = secrets.randbits(63)
    if not exact and schedule.flow is None and schedule.step is None and schedule.message is None:
        _check_ends(schedule)
        _execute_plain(schedule, seed)
        return
    starts, ends = _check_routes(schedule)
    if schedule.message is not None:
        from schedules.message_check import check_messages

        check_messages(schedule, starts, ends)
    if exact:
        _execute_exactly(schedule, starts, ends)
    else:
        _execute_randomly(schedule, starts, ends, seed)


def _check_structure(schedule: Schedule) -> None:
    """Refuse links and chunks that do not exist, and steps that go back."""
    limits = (("link", schedule.topology.num_links), ("chunk", schedule.collective.num_chunks))
    for name, limit in limits:
        column = getattr(schedule, name)
        if column.size and int(column.max()) >= limit:
            hop = int(np.argmax(column >= limit))
            raise VerificationError(f"hop {hop} names {name} {column[hop]}, which does not exist", hop)
    if schedule.step is not None:
        back = schedule.step[1:] < schedule.step[:-1]
        if back.any():
            hop = int(np.argmax(back)) + 1
            raise VerificationError(f"hop {hop} goes back to an earlier step", hop)


def _check_routes(schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
    """Return which hops start a route and which end one; refuse routes that do not connect."""
    from schedules.verifier_kernels import routes

    flow = NO_IDS if schedule.flow is None else schedule.flow
    topology = schedule.topology
    starts, ends, hop, fault = routes(
        schedule.chunk, schedule.link, flow, topology.src, topology.dst, topology.num_npus
    )
    if fault:
        raise VerificationError(f"hop {hop} ({_hop_text(schedule, hop)}) {_ROUTE_FAULTS[fault]}", hop)
    return starts, ends


def _check_ends(schedule: Schedule) -> None:
    """Refuse hops from or to a switch, in a schedule without routes that would lead on from there."""
    from schedules.verifier_kernels import first_at_switch

    topology = schedule.topology
    if topology.num_switches:
        hop, fault = first_at_switch(schedule.link, topology.src, topology.dst, topology.num_npus)
        if fault:
            raise VerificationError(f"hop {hop} ({_hop_text(schedule, hop)}) {_ROUTE_FAULTS[fault]}", hop)


def _hop_text(schedule: Schedule, hop: int) -> str:
    """Return what a hop does, for messages."""
    return f"chunk {schedule.chunk[hop]}, {schedule.topology.link_name(int(schedule.link[hop]))}"


def _execute_exactly(schedule: Schedule, starts: np.ndarray, ends: np.ndarray) -> None:
    """Run the schedule on contributor sets, kept as integers with a bit per contributor."""
    collective, topology = schedule.collective, schedule.topology
    nothing: tuple[int, int] | None = None
    places: dict[tuple[int, int], tuple[int, int]] = {}  # (NPU, chunk) -> (contributions, those there repeatedly)
    for chunk in range(collective.num_chunks):
        for npu in collective.set_of(collective.initial[chunk]).tolist():
            places[npu, chunk] = (1 << npu if collective.reduces else 1, 0)
    chunks, links = schedule.chunk.tolist(), schedule.link.tolist()
    sources, targets = topology.src[schedule.link].tolist(), topology.dst[schedule.link].tolist()
    adds = [False] * len(chunks) if schedule.reduce is None else schedule.reduce.tolist()
    flows = range(-1, -len(chunks) - 1, -1) if schedule.flow is None else schedule.flow.tolist()
    steps = range(len(chunks)) if schedule.step is None else schedule.step.tolist()
    started, ended = starts.tolist(), ends.tolist()
    last_delivery: dict[tuple[int, int], int] = {}
    carried: dict[int, tuple[int, int]] = {}
    first = 0
    while first < len(links):
        stop = first + 1
        while stop < len(links) and steps[stop] == steps[first]:
            stop += 1
        for hop in range(first, stop):
            if started[hop]:
                value = places.get((sources[hop], chunks[hop]), nothing)
                if value is None:
                    _refuse_empty(schedule, hop)
                else:
                    carried[_route_of(flows[hop], hop)] = value
        for hop in range(first, stop):
            if ended[hop]:
                place = targets[hop], chunks[hop]
                once, twice = carried.pop(_route_of(flows[hop], hop))
                if adds[hop] and place in places:
                    have, have_twice = places[place]
                    once, twice = have | once, have_twice | twice | (have & once)
                places[place] = once, twice
                last_delivery[place] = hop
        first = stop
    for chunk in range(collective.num_chunks):
        holders = collective.set_of(collective.initial[chunk]).tolist()
        target = sum(1 << npu for npu in holders) if collective.reduces else 1
        for npu in collective.set_of(collective.final[chunk]).tolist():
            value = places.get((npu, chunk), nothing)
            if value != (target, 0):
                _refuse_final(schedule, npu, chunk, value, target, last_delivery.get((npu, chunk)))


def _route_of(flow: int, hop: int) -> int:
    """Return a key for what a hop carries: its flow, or the hop itself where it has none."""
    return flow if flow >= 0 else -1 - hop


def _refuse_empty(schedule: Schedule, hop: int) -> None:
    """Raise for a hop that sends what is not there."""
    source = schedule.topology.node_name(int(schedule.topology.src[schedule.link[hop]]))
    raise VerificationError(
        f"hop {hop} ({_hop_text(schedule, hop)}) sends what is not there: no earlier hop has brought "
        f"chunk {schedule.chunk[hop]} to {source}",
        hop,
    )


def _refuse_final(
    schedule: Schedule, npu: int, chunk: int, value: tuple[int, int] | None, target: int, hop: int | None
) -> None:
    """Raise for a place that does not hold what it must."""
    name = schedule.topology.node_name(npu)
    if value is None:
        raise VerificationError(f"{name} ends without chunk {chunk}: no hop brings it there")
    once, twice = value
    missing = [node for node in range(schedule.topology.num_npus) if (target & ~once) >> node & 1]
    repeated = [node for node in range(schedule.topology.num_npus) if twice >> node & 1]
    if schedule.collective.reduces:
        parts = [f"lacks the contribution of {_listed(schedule, missing)}"] if missing else []
        parts += [f"holds that of {_listed(schedule, repeated)} more than once"] if repeated else []
        why = " and ".join(parts)
    else:
        why = "holds it added to itself"
    at = f"; hop {hop} was the last to write it" if hop is not None else ""
    raise VerificationError(f"{name} ends with a wrong chunk {chunk}: it {why}{at}", hop)


def _listed(schedule: Schedule, nodes: list[int]) -> str:
    """Return up to four node names."""
    return ", ".join(schedule.topology.node_name(node) for node in nodes[:4]) + (", …" if len(nodes) > 4 else "")


def _execute_plain(schedule: Schedule, seed: int) -> None:
    """Run a schedule of hops that stand alone: on who holds what if it only copies, else on random words."""
    from schedules.holdings_check import check_holdings, only_copies
    from schedules.verifier_kernels import execute_plain, first_listed, grouped_links, hop_counts

    if only_copies(schedule):
        hop, npu, chunk = check_holdings(schedule)
        if hop >= 0:
            _refuse_empty(schedule, hop)
        if npu >= 0:
            _refuse_word(schedule, 1, -1, npu, chunk)
        return
    collective, topology = schedule.collective, schedule.topology
    adds = NO_FLAGS if schedule.reduce is None else schedule.reduce
    missing = np.full(collective.num_chunks, -1)  # of each chunk, the first hop that sends what is not there
    first = hop_counts(schedule.chunk, collective.num_chunks)
    results = []
    begin = 0
    while begin < collective.num_chunks:
        # As many chunks at a time as have their hops' links in a buffer of limited size.
        stop = max(begin + 1, int(np.searchsorted(first, first[begin] + _GROUPED_HOPS, "right")) - 1)
        links = grouped_links(schedule.chunk, schedule.link, adds, first, begin, stop)

        def run(low: int, high: int, links: np.ndarray = links, skipped: int = int(first[begin])) -> Result:
            """Execute the chunks of a range; return (fault, position, NPU, chunk)."""
            return execute_plain(links, first, skipped, topology.src, topology.dst, topology.num_nodes,
                                 collective.initial, collective.final, collective.set_start, collective.set_member,
                                 collective.reduces, seed, missing, low, high)  # fmt: skip

        results += _halved(run, first, begin, stop)
        begin = stop
    if (missing >= 0).any():
        _refuse_empty(schedule, int(first_listed(schedule.chunk, missing)))
    _refuse_results(schedule, results, first)


def _execute_randomly(schedule: Schedule, starts: np.ndarray, ends: np.ndarray, seed: int) -> None:
    """Run any schedule on random words, chunk by chunk."""
    from schedules.verifier_kernels import execute, first_listed, grouped_hops

    collective, topology = schedule.collective, schedule.topology
    adds = NO_FLAGS if schedule.reduce is None else schedule.reduce
    missing = np.full(collective.num_chunks, -1)  # of each chunk, the first hop that sends what is not there
    order, first = grouped_hops(schedule.chunk, collective.num_chunks)
    flow = NO_IDS if schedule.flow is None else schedule.flow
    step = NO_IDS if schedule.step is None else schedule.step
    words = np.zeros(schedule.num_hops, np.uint64)

    def run(low: int, high: int) -> Result:
        """Execute the chunks of a range; return (fault, position, NPU, chunk)."""
        return execute(order, first, schedule.link, flow, step, adds, starts, ends, words, topology.src, topology.dst,
                       topology.num_nodes, collective.initial, collective.final, collective.set_start,
                       collective.set_member, collective.reduces, seed, missing, low, high)  # fmt: skip

    results = _halved(run, first, 0, collective.num_chunks)
    if (missing >= 0).any():
        _refuse_empty(schedule, int(first_listed(schedule.chunk, missing)))
    _refuse_results(schedule, results, first)


def _halved(run: Callable[[int, int], Result], first: np.ndarray, low: int, high: int) -> list[Result]:
    """Run the chunks low…high−1 on two threads, of about as many hops each."""
    middle = int(np.searchsorted(first, (first[low] + first[high]) // 2))
    middle = min(max(middle, low), high)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, (low, middle), (middle, high)))


def _refuse_results(schedule: Schedule, results: Sequence[Result], first: np.ndarray) -> None:
    """Raise for the first chunk that ended wrong."""
    for fault, position, npu, chunk in results:
        if fault:
            hop = -1
            if position >= 0:
                hop = int(np.flatnonzero(schedule.chunk == chunk)[position - first[chunk]])
            _refuse_word(schedule, fault, hop, npu, chunk)


def _refuse_word(schedule: Schedule, fault: int, hop: int, npu: int, chunk: int) -> None:
    """Raise for what the random execution found."""
    name = schedule.topology.node_name(npu)
    if fault == 1:
        raise VerificationError(f"{name} ends without chunk {chunk}: no hop brings it there")
    at = f"; hop {hop} was the last to write it" if hop >= 0 else ""
    raise VerificationError(
        f"{name} ends with a wrong chunk {chunk}: a contribution is missing, foreign or counted twice{at}",
        hop if hop >= 0 else None,
    )
