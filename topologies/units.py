"""Quantities with units: the one place where text such as ``50GB/s``, ``0.5us`` or ``1GiB`` becomes a number.

Arithmetic is exact (`fractions.Fraction`) until the last step, so ``50GiB/s`` is 53.6870912 GB/s and nothing near it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from topologies.exceptions import UnitError

# Digits are bounded, so that a typing slip such as 1e999999999 is refused and not computed.
# What stands around it is stripped first: blanks before an end that is not there would be looked at again and again.
_NUMBER = re.compile(r"([+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?)\s*+(.*)")

_DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_LARGEST_FIRST = sorted((_DECIMAL | _BINARY).items(), key=lambda item: -item[1])

BYTES = {f"{prefix}B": factor for prefix, factor in (_DECIMAL | _BINARY).items()}
#: Bandwidth units in bytes per second; bits are divided by eight.
BANDWIDTH = {f"{prefix}B/s": Fraction(factor) for prefix, factor in (_DECIMAL | _BINARY).items()} | {
    f"{prefix}bps": Fraction(factor, 8) for prefix, factor in _DECIMAL.items()
}
#: Time units in microseconds.
TIME = {
    "ps": Fraction(1, 10**6), "ns": Fraction(1, 1000), "us": Fraction(1), "µs": Fraction(1), "μs": Fraction(1),
    "ms": Fraction(1000), "s": Fraction(10**6),
}  # fmt: skip


def _split(text: str, what: str, example: str) -> tuple[Fraction, str]:
    """Return the number and the unit of `text`."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise UnitError(f"{what} {text!r}: expected a number with a unit, such as {example}")
    if not match[2]:
        raise UnitError(f"{what} {text!r} has no unit: expected one such as {example}")
    return Fraction(match[1]), match[2]


def _lookup(unit: str, table: Mapping[str, int | Fraction], text: str, what: str, example: str) -> Fraction:
    """Return the factor of `unit`; letter case counts only where it tells units apart (``Gbps`` and ``GB/s``)."""
    # Only a prefix may change its case: b is a bit and B a byte.
    prefix = unit[:1].upper() if unit[:1] in "kmgt" else unit[:1]
    for candidate in (unit, prefix + unit[1:]):
        if candidate in table:
            return Fraction(table[candidate])
    known = ", ".join(sorted(table))
    raise UnitError(f"{what} {text!r}: unknown unit {unit!r}; expected one of {known}, as in {example}")


def parse_bytes(text: str) -> int:
    """Return a size in bytes from text such as ``1GiB``, ``256MB`` or ``0B``.

    Raises
    ------
    UnitError
        No unit, an unknown one, a negative size, or a fraction of a byte.
    """
    number, unit = _split(text, "size", "1GiB, 256MB or 17B")
    value = number * _lookup(unit, BYTES, text, "size", "1GiB, 256MB or 17B")
    if value < 0:
        raise UnitError(f"size {text!r} is negative: expected 0B or more")
    if value.denominator != 1:
        raise UnitError(f"size {text!r} is not a whole number of bytes")
    if value > 2**62:
        raise UnitError(f"size {text!r} is too large: expected at most 2^62 bytes")
    return int(value)


def parse_bandwidth(text: str) -> float:
    """Return a bandwidth in GB/s (1e9 B/s) from text such as ``50GB/s``, ``50GiB/s`` or ``400Gbps``.

    Raises
    ------
    UnitError
        No unit, an unknown one, or a bandwidth that is not positive or beyond 1e9 GB/s.
    """
    number, unit = _split(text, "bandwidth", "50GB/s, 50GiB/s or 400Gbps")
    value = number * _lookup(unit, BANDWIDTH, text, "bandwidth", "50GB/s, 50GiB/s or 400Gbps")
    if value <= 0:
        raise UnitError(f"bandwidth {text!r}: expected more than zero")
    if value > 10**18:
        raise UnitError(f"bandwidth {text!r} is too large: expected at most 1e9GB/s")
    return float(value / 10**9)


def parse_time(text: str) -> float:
    """Return a time in microseconds from text such as ``0.5us``, ``500ns`` or ``2ms``.

    Raises
    ------
    UnitError
        No unit, an unknown one, or a time that is negative or beyond 1e12 µs.
    """
    number, unit = _split(text, "time", "0.5us, 500ns or 2ms")
    value = number * _lookup(unit, TIME, text, "time", "0.5us, 500ns or 2ms")
    if value < 0:
        raise UnitError(f"time {text!r} is negative: expected 0us or more")
    if value > 10**12:
        raise UnitError(f"time {text!r} is too long: expected at most 1e12us")
    return float(value)


def parse_per_dimension(text: str, parse: Callable[[str], float], what: str) -> list[float]:
    """Return the values of ``50x75GiB/s`` (one unit for all) or ``50GB/s x 400Gbps`` (a unit each).

    Parameters
    ----------
    text : str
        Values joined by ``x``; the last carries the unit, and so may the others.
    parse : callable
        `parse_bandwidth` or `parse_time`.
    what : str
        Named in the error message.

    Raises
    ------
    UnitError
        A part that is no number, or whatever `parse` refuses.
    """
    parts = text.split("x")
    matches = [_NUMBER.fullmatch(part.strip()) for part in parts]
    example = "0.5x1us" if parse is parse_time else "50x75GiB/s"
    if not all(matches):
        raise UnitError(f"{what} {text!r}: expected numbers joined by x with a unit, such as {example}")
    unit = matches[-1][2] if matches[-1] else ""
    return [parse(part if match and match[2] else part + unit) for part, match in zip(parts, matches, strict=True)]


def format_bytes(size: int) -> str:
    """Return a size as text that `parse_bytes` reads back to the same number, the shortest there is."""
    exact = [f"{size // factor}{prefix}B" for prefix, factor in _LARGEST_FIRST if size and size % factor == 0]
    return min([*exact, f"{size}B"], key=len)


def format_bandwidth(gbps: float) -> str:
    """Return a bandwidth in GB/s as text that `parse_bandwidth` reads back to the same number."""
    return f"{format_number(gbps)}GB/s"


def format_time(us: float) -> str:
    """Return a time in µs as text that `parse_time` reads back to the same number."""
    return f"{format_number(us)}us"


def format_number(value: float) -> str:
    """Return the shortest decimal text of a float, without a trailing ``.0``."""
    return repr(float(value)).removesuffix(".0")
