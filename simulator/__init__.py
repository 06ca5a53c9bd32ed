"""Link models, the alpha-beta simulator, its timeline, lower bounds and metrics."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from simulator.link_model import LATENCIES, SWITCHINGS, LinkModel
from simulator.metrics import algbw_gbps, busbw_factor, busbw_gbps, group_size
from simulator.simulate import hop_times, simulate_ps, simulate_us

if TYPE_CHECKING:
    from simulator.bounds import Bound, allgather_bound_gbps, bound, quantised_bound_us, rsag_bound_us
    from simulator.relisting import relist
    from simulator.timelines import Segment, Timeline, timeline
    from simulator.transfers import TransferList, load_transfers, simulate_transfers, transfer_times

__all__ = [
    "LATENCIES",
    "SWITCHINGS",
    "Bound",
    "LinkModel",
    "Segment",
    "Timeline",
    "TransferList",
    "algbw_gbps",
    "allgather_bound_gbps",
    "bound",
    "busbw_factor",
    "busbw_gbps",
    "group_size",
    "hop_times",
    "load_transfers",
    "quantised_bound_us",
    "relist",
    "rsag_bound_us",
    "simulate_ps",
    "simulate_transfers",
    "simulate_us",
    "timeline",
    "transfer_times",
]

# These modules need numba or scipy from their first line; a command that needs neither should not wait for them.
_LATER = {
    "Bound": "bounds", "allgather_bound_gbps": "bounds", "bound": "bounds", "quantised_bound_us": "bounds",
    "rsag_bound_us": "bounds", "relist": "relisting", "Segment": "timelines", "Timeline": "timelines",
    "timeline": "timelines", "TransferList": "transfers", "load_transfers": "transfers",
    "simulate_transfers": "transfers", "transfer_times": "transfers",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is exported from a heavy module when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'simulator' has no attribute {name!r}")
    value = getattr(import_module(f"simulator.{_LATER[name]}"), name)
    globals()[name] = value
    return value
