"""One row of the study: a strategy is searched on a network, its traffic scheduled, verified, simulated, and priced."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import numpy as np

from experiments.topoopt_study.candidates import Candidate, candidates
from experiments.topoopt_study.networks import network_of
from experiments.topoopt_study.settings import Setting
from experiments.workloads import IterationTime, Placement, read_workload
from schedules import Schedule, demanded, verify
from simulator import bound, simulate_us
from synthesizers.exchange import Routes, exchange
from synthesizers.topoopt import routes_on
from topologies import Demand
from topologies.costs import Costs
from topologies.exceptions import CollbenchError

#: Percentiles of path lengths and of link loads that are kept.
PERCENTILES = (0, 10, 25, 50, 75, 90, 99, 100)

#: Shortest paths that one-to-one traffic chooses from; the released code takes the first that it finds.
_PATHS = 4


def attempt(setting: Setting) -> dict[str, Any]:
    """Return the row of a setting; one with the reason where it failed."""
    try:
        return {**measure(setting), "status": "ok", "reason": ""}
    except CollbenchError as error:
        return failed(setting, str(error))


def failed(setting: Setting, reason: str) -> dict[str, Any]:
    """Return the row of a setting that has none."""
    return {**msgspec.structs.asdict(setting), "status": "failed", "reason": reason}


def measure(setting: Setting) -> dict[str, Any]:
    """Return the row of a setting: its fields, and what was found.

    Parameters
    ----------
    setting : Setting

    Returns
    -------
    dict
        ``usd``; ``search_s`` and ``trace`` (the best estimate in seconds after each evaluation); times in µs:
        ``joint_us``, ``all_reduce_us``, ``mp_us`` (simulated, of verified schedules), ``bound_us`` (of all traffic at
        once, on this network); ``compute_s``, ``no_overlap_s``, ``overlap_s``, ``exposed_s``; ``bandwidth_tax``,
        ``hops`` (of model-parallel traffic) and ``link_busy_us`` (by all traffic), at `PERCENTILES`.

    Raises
    ------
    CollbenchError
        The network cannot be built or wired; a strategy that does not fit; a schedule that is wrong.
    """
    network = network_of(setting, Costs.read())
    placement = Placement(read_workload(setting.workload), setting.servers)
    begin = time.perf_counter()
    tried, trace = candidates(setting, network.topology, placement)
    search_s = time.perf_counter() - begin
    paths = 0 if setting.network == "topoopt_released" else _PATHS
    # An estimate chose; what simulates worse than what the search began with is not taken.
    timed = []
    for each in tried:
        routes = routes_on(each.topology, each.demand, each.rings, paths)
        timed.append((each, routes, *_timed(each, each.demand, routes)))
    best, routes, joint, joint_us = min(timed, key=lambda one: one[3] / 1e6 + placement.compute_s(one[0].strategy))
    demand = best.demand
    all_reduce = Demand(demand.num_npus, demand.groups, demand.group_bytes)
    mp = Demand(demand.num_npus, traffic=demand.traffic)
    all_reduce_us, mp_us = (
        joint_us if part.size == demand.size else _timed(best, part, routes)[1] if part.size else 0.0
        for part in (all_reduce, mp)
    )
    iteration = IterationTime(placement.compute_s(best.strategy), mp_us / 1e6, joint_us / 1e6)
    return {
        **msgspec.structs.asdict(setting), "topology": best.topology.name, "usd": network.usd, "search_s": search_s,
        "trace": trace, "all_reduce_bytes": demand.reduced_bytes, "mp_bytes": demand.mp_bytes,
        "groups": len(demand.groups), "joint_us": joint_us, "all_reduce_us": all_reduce_us, "mp_us": mp_us,
        "bound_us": bound(best.topology, joint.collective, demand.size).time_us, "compute_s": iteration.compute_s,
        "no_overlap_s": iteration.no_overlap_s, "overlap_s": iteration.overlap_s, "exposed_s": iteration.exposed_s,
        **_routes_say(joint, demand.size),
    }  # fmt: skip


def _timed(candidate: Candidate, part: Demand, routes: Routes) -> tuple[Schedule, float]:
    """Return the verified schedule of a candidate's demand, or of a part of it, and its time in µs."""
    schedule = exchange(candidate.topology, demanded(part), candidate.rings, routes)
    verify(schedule)
    return schedule, simulate_us(schedule, part.size)


def _routes_say(schedule: Schedule, size: int) -> dict[str, Any]:
    """Return bandwidth tax and path lengths of what goes from one to one, and how busy links are with everything."""
    topology, work = schedule.topology, schedule.collective
    nbytes = work.chunk_bytes(size)
    load = np.zeros(topology.num_links)
    np.add.at(load, schedule.link, nbytes[schedule.chunk])
    # What one server holds goes from one to one; hops count at servers, so that a switch on the way is free.
    single = np.diff(work.set_start)[work.initial] == 1
    counted = single[schedule.chunk] & (topology.dst[schedule.link] < topology.num_npus)
    hops, moved = np.bincount(schedule.chunk[counted], minlength=len(single))[single], nbytes[single]
    return {
        "bandwidth_tax": float((moved * hops).sum() / moved.sum()) if moved.sum() else None,
        "hops": _percentiles(hops), "link_busy_us": _percentiles(load / topology.bytes_per_s * 1e6),
    }  # fmt: skip


def _percentiles(values: np.ndarray) -> list[float]:
    """Return the percentiles that are kept; nothing of nothing."""
    return np.percentile(values, PERCENTILES).tolist() if len(values) else []
