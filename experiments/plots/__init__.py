"""Plots after those of papers: from a results file, or from a schedule file.

Each kind is a module of its own with a function `figures`, which yields names and figures. Kinds of results take the
table that `rows.read` returns; kinds of schedules take the timelines that `simulated.Simulated` holds. `style` is the
look of all of them.
"""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["RESULT_KINDS", "SCHEDULE_KINDS"]

#: Kinds drawn from a results file, in the order in which they are drawn, and what each shows.
RESULT_KINDS = MappingProxyType(
    {
        "busbw": "bus bandwidth against size, beside the bound",
        "bars": "speed relative to one synthesizer, by topology",
        "efficiency": "share of the provable bound that is reached",
        "scaling": "synthesis time against NPUs, with fitted exponents",
        "pareto": "efficiency against synthesis time, with the Pareto front",
    }
)

#: Kinds drawn from a schedule file.
SCHEDULE_KINDS = MappingProxyType(
    {
        "heat_map": "how long each link is busy, drawn on the topology",
        "link_load": "bytes over each link, most loaded first",
        "over_time": "links in use as time goes by",
        "gantt": "when each link carries what",
    }
)
