"""Traces for Perfetto and chrome://tracing: when each link carried what, and how busy each NPU was.

`slices` turns a simulated schedule or list of transfers into columns, `activity` sums them up per NPU, `writing` gives
them the form of the Trace Event Format.
"""

from experiments.trace.slices import MAX_HOPS, Slices, require_traceable, slices_of_schedule, slices_of_transfers
from experiments.trace.writing import write_trace

__all__ = ["MAX_HOPS", "Slices", "require_traceable", "slices_of_schedule", "slices_of_transfers", "write_trace"]
