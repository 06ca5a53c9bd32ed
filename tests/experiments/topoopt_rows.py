"""Tiny rows of the TopoOpt study, made by hand."""

from __future__ import annotations

import msgspec

from experiments.topoopt_study.measure import PERCENTILES
from experiments.topoopt_study.rows import frame_of, rows_of
from experiments.topoopt_study.settings import Setting

#: USD of a server.
USD = {"topoopt": 3608.0, "fat_tree": 3608.0, "ideal_switch": 7746.0, "ring": 3108.0}


def measured(network, no_overlap_ms, *, workload="dlrm", servers=16, ports=4, gbit=100, seed=0, **instead):
    """Return a row that worked, of an iteration of so many ms, of which 5 are computing."""
    setting = Setting(workload, network, servers, ports, gbit / 8, 1.0, seed, 40)
    no_overlap_s = no_overlap_ms / 1e3
    return msgspec.structs.asdict(setting) | {
        "topology": network, "usd": USD.get(network, 3000.0) * servers, "search_s": 0.1, "all_reduce_bytes": 8,
        "mp_bytes": 8, "groups": 1, "joint_us": 1e3 * (no_overlap_ms - 5), "all_reduce_us": 2000.0, "mp_us": 1000.0,
        "bound_us": 1.0, "compute_s": 0.005, "no_overlap_s": no_overlap_s, "overlap_s": no_overlap_s - 0.001,
        "exposed_s": no_overlap_s - 0.006, "bandwidth_tax": 1.5, "hops": [1, 1, 1, 1, 2, 2, 2, 4],
        "link_busy_us": [float(100 * (each + 1)) for each in PERCENTILES], "trace": [0.1, 0.08, no_overlap_s],
        "status": "ok", "reason": "",
    } | instead  # fmt: skip


def broken(network, reason, **of_setting):
    """Return a row that failed."""
    kept = {field.name for field in msgspec.structs.fields(Setting)}
    row = measured(network, 10, **of_setting)
    return {name: value for name, value in row.items() if name in kept} | {"status": "failed", "reason": reason}


def studied(*rows):
    """Return rows as tables and figures read them."""
    return rows_of(frame_of(rows))


#: Two workloads, two bandwidths, four networks; seeds differ on one, and one has failed.
ROWS = [
    *(measured("topoopt", ms, gbit=gbit, seed=seed)
      for gbit, times in ((25, (40, 42, 50)), (100, (20, 20, 20))) for seed, ms in enumerate(times)),
    measured("fat_tree", 84, gbit=25), measured("fat_tree", 30),
    measured("ideal_switch", 20, gbit=25), measured("ideal_switch", 10),
    measured("ring", 41, gbit=25), broken("ring", "no ring today"),
    measured("topoopt", 15, workload="vgg16", bandwidth_tax=None, hops=[], mp_us=0.0),
    measured("fat_tree", 30, workload="vgg16", bandwidth_tax=None, hops=[], mp_us=0.0),
]  # fmt: skip
