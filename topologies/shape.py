"""Shapes and the values that go with them: sizes per dimension, one bandwidth and latency for all or one for each.

The same checks and the same canonical short name (``mesh:8x8@50x75GB/s,0.5us``) serve every generator, so that what a
generator builds is called what a user would type for it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from topologies.exceptions import TopologyError
from topologies.units import format_number

DEFAULT_BANDWIDTH_GBPS = 50.0
DEFAULT_LATENCY_US = 0.5

#: Most links that a generator builds: 2^27, where the columns take some 3 GB and building them about three times that.
MAX_LINKS = 2**27

#: One value for every dimension, or a sequence of one per dimension.
PerDimension = float | Sequence[float]


def checked_sizes(kind: str, shape: Any) -> tuple[int, ...]:
    """Return the sizes of a shape as ints.

    Parameters
    ----------
    kind : str
        Named in the error message.
    shape : int or sequence of int
        Sizes, the first dimension first.

    Raises
    ------
    TopologyError
        No dimension, or a size that is not a positive whole number.
    """
    try:
        sizes = tuple(shape)
    except TypeError:
        sizes = (shape,)
    if not sizes:
        raise TopologyError(f"{kind}: the shape has no dimension; expected sizes such as 8 or 8x8")
    whole = []
    for index, size in enumerate(sizes):
        where = f"size {index} of {len(sizes)}" if len(sizes) > 1 else "the size"
        try:
            whole.append(operator.index(size))
        except TypeError:
            raise TopologyError(f"{kind}: {where} is {size!r}; expected a whole number of 1 or more") from None
        if whole[-1] < 1:
            raise TopologyError(f"{kind}: {where} is {size}; expected 1 or more")
    return tuple(whole)


def per_dimension(name: str, what: str, values: PerDimension, dimensions: int) -> tuple[float, ...]:
    """Return one value for each dimension.

    Parameters
    ----------
    name, what : str
        The topology and the quantity (`bandwidth` or `latency`), named in the error message.
    values : float or sequence of float
        One value for all, or one for each; a sequence of one also serves all.
    dimensions : int
        How many there are.

    Raises
    ------
    TopologyError
        A wrong number of values, or one that no link can have.
    """
    try:
        given = np.asarray(values, float).reshape(-1).tolist()
    except (TypeError, ValueError):
        unit = "GB/s" if what == "bandwidth" else "us"
        raise TopologyError(f"{name}: {what} {values!r}; expected a number of {unit}, or one per dimension") from None
    if len(given) not in (1, dimensions):
        noun = {"bandwidth": "bandwidths", "latency": "latencies"}[what]
        wanted = "1" if dimensions == 1 else f"1 (for all) or {dimensions} (one for each dimension)"
        raise TopologyError(f"{name}: found {len(given)} {noun}, expected {wanted}")
    for value in given:
        # A dimension of 1 has no link that the topology itself could refuse.
        if not (math.isfinite(value) and (value > 0 or (value == 0 and what == "latency"))):
            least = "more than 0 GB/s" if what == "bandwidth" else "0 us or more"
            raise TopologyError(f"{name}: {what} {value:g}; expected a finite value of {least}")
    return tuple(given) * (dimensions if len(given) == 1 else 1)


def refuse_oversize(name: str, num_links: int) -> None:
    """Refuse a network of more than `MAX_LINKS` links before any memory is taken for it.

    Raises
    ------
    TopologyError
        Says how many links it would have.
    """
    if num_links > MAX_LINKS:
        shown = f"{num_links:,}" if num_links < 10**18 else f"about 2^{num_links.bit_length() - 1}"
        raise TopologyError(
            f"{shortened(name)}: it would have {shown} links, expected at most {MAX_LINKS:,}; choose smaller sizes"
        )


def shortened(text: str, most: int = 80) -> str:
    """Return `text` cut to what a line of an error message can hold."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short_name(kind: str, sizes: Sequence[int], bandwidths_gbps: Sequence[float], latencies_us: Sequence[float]) -> str:
    """Return the canonical short name: values equal in all dimensions once, and none where all are the defaults."""
    name = f"{kind}:{'x'.join(map(str, sizes))}"
    bandwidths, latencies = _joined(bandwidths_gbps), _joined(latencies_us)
    if (bandwidths, latencies) == (_joined([DEFAULT_BANDWIDTH_GBPS]), _joined([DEFAULT_LATENCY_US])):
        return name
    return f"{name}@{bandwidths}GB/s,{latencies}us"


def _joined(values: Sequence[float]) -> str:
    """Return values joined by x, or one where all are the same."""
    texts = [format_number(value) for value in values]
    return texts[0] if len(set(texts)) == 1 else "x".join(texts)
