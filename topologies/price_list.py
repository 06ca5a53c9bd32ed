"""Price lists as CSV: ``part,gbit_per_s,usd``, with comments; what is wrong with one is said with its line."""

from __future__ import annotations

import csv
import difflib
import re
from pathlib import Path

from topologies.exceptions import FormatError
from topologies.reading import read_bytes
from topologies.shape import shortened

#: Parts that are sold by bandwidth, and parts that have one price.
BY_BANDWIDTH = ("transceiver", "nic", "switch_port")
FIXED = ("patch_panel_port", "optical_switch_port", "switch_1x2")

_COLUMNS = ["part", "gbit_per_s", "usd"]


def read_prices(path: Path) -> tuple[dict[str, tuple[tuple[float, float], ...]], dict[str, float]]:
    """Return the prices of a file.

    Returns
    -------
    by_bandwidth : dict of str to tuple of (float, float)
        Part → (Gb/s, USD), ascending.
    fixed : dict of str to float
        Part → USD.

    Raises
    ------
    FormatError
        The file cannot be read, a line is malformed, or a part has no price or two.
    """
    prices: dict[str, dict[float, float]] = {part: {} for part in BY_BANDWIDTH + FIXED}
    header = None
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip(" \t,") or line.lstrip().startswith("#"):  # spreadsheets write empty rows as commas
            continue
        where = f"{path}, line {number}"
        try:
            fields = [field.strip() for field in next(csv.reader([line], strict=True))]
        except csv.Error as error:
            raise FormatError(f"{where}: {error}; expected {','.join(_COLUMNS)}") from None
        if header is None:
            header = fields
            if header != _COLUMNS:
                raise FormatError(f"{where}: columns {shortened(line)!r}; expected {','.join(_COLUMNS)}")
            continue
        if len(fields) != len(_COLUMNS):
            raise FormatError(f"{where}: found {len(fields)} fields, expected {len(_COLUMNS)}: {','.join(_COLUMNS)}")
        part, speed, usd = _entry(where, *fields)
        if speed in prices[part]:
            raise FormatError(f"{where}: {part}{f' of {speed:g} Gb/s' if speed else ''} has a price above already")
        prices[part][speed] = usd
    for part, entries in prices.items():
        if not entries:
            example = f"{part},100,50" if part in BY_BANDWIDTH else f"{part},,50"
            raise FormatError(f"{path}: no price of {part}; expected a line such as {example}")
    return {part: tuple(sorted(prices[part].items())) for part in BY_BANDWIDTH}, {
        part: prices[part][0.0] for part in FIXED
    }


def _lines(path: Path) -> list[str]:
    """Return the lines of a text file; spreadsheets may have put a byte-order mark in front."""
    try:
        return read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not text; expected a CSV file of {','.join(_COLUMNS)}") from error


def _entry(where: str, part: str, speed: str, usd: str) -> tuple[str, float, float]:
    """Return the part, its bandwidth (0 where it has one price) and its price."""
    if part not in BY_BANDWIDTH + FIXED:
        near = difflib.get_close_matches(part.lower(), BY_BANDWIDTH + FIXED, 1, 0.6)
        wanted = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(BY_BANDWIDTH + FIXED)}"
        raise FormatError(f"{where}: unknown part {shortened(part)!r}; {wanted}")
    if part in FIXED:
        if speed:
            raise FormatError(f"{where}: {part} has one price; expected no gbit_per_s, as in {part},,50")
        return part, 0.0, _number(where, "usd", usd)
    gbit_per_s = _number(where, "gbit_per_s", speed)
    if gbit_per_s == 0:
        raise FormatError(f"{where}: gbit_per_s {speed!r}; expected more than 0")
    return part, gbit_per_s, _number(where, "usd", usd)


def _number(where: str, column: str, text: str) -> float:
    """Return a plain decimal number."""
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{0,12})?", text):
        raise FormatError(f"{where}: {column} {shortened(text)!r}; expected a number of 0 or more, such as 99.5")
    return float(text)
