"""Asking for memory ahead, which numba does not offer: kernels that know where they will look need not wait for it."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba import extending, types

intrinsic: Any = extending.intrinsic  # its types count the context as an argument


@intrinsic
def prefetch(context, array, index):  # noqa: ARG001
    """Ask for the cache line of an array's element, without waiting for it; the element need not exist."""

    def emit(context, builder, signature, arguments):
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [address.type], form)
        # For reading and writing, to be kept in all caches, of data.
        builder.call(ask, [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), emit
