"""What numba does not offer of the machine below it: the lowest bit of a word, and words by which threads meet.

Threads meet inside kernels, without Python, thousands of times a second: one tells a number, others look for it. Those
that have looked for long should give way, as what they wait for may need their core.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import types

from simulator.prefetching import intrinsic

#: Whether threads can meet here: what they need to wait is the system's, and POSIX.
MEETS = hasattr(os, "sched_yield") and hasattr(time, "CLOCK_MONOTONIC")


def _element(context, builder, array, argument, index):
    """Return the address of an array's element."""
    return builder.gep(context.make_array(array)(context, builder, argument).data, [index])


@intrinsic
def lowest(context, word):  # noqa: ARG001
    """Return the place of the lowest bit set in a word that is not zero."""

    def emit(context, builder, signature, arguments):  # noqa: ARG001
        return builder.cttz(arguments[0], ir.IntType(1)(True))

    return types.uint64(word), emit


@intrinsic
def tell(context, words, index, number):  # noqa: ARG001
    """Store a number for other threads: who sees it sees all that was written before."""

    def emit(context, builder, signature, arguments):
        address = _element(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], address, "release", 8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64), emit


@intrinsic
def told(context, words, index):  # noqa: ARG001
    """Return a number that another thread may have told."""

    def emit(context, builder, signature, arguments):
        return builder.load_atomic(_element(context, builder, signature.args[0], *arguments), "acquire", 8)

    return types.int64(words, types.int64), emit


clock_gettime: Any
give_way: Any
if MEETS:
    clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.uintp))
    give_way = types.ExternalFunction("sched_yield", types.int32())
    CLOCK = time.CLOCK_MONOTONIC
else:  # one thread then, which never waits
    CLOCK = 0

    @numba.njit(nogil=True)
    def clock_gettime(clock, into):  # noqa: ARG001
        """Leave the time as it is."""
        return 0

    @numba.njit(nogil=True)
    def give_way():
        """Go on."""
        return 0
