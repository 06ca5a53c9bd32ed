"""What the scaling study runs: series of networks that grow, from a YAML file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from experiments.files.study_file import read_study
from topologies import parse_bytes, parse_topology
from topologies.exceptions import CollbenchError


class Series(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the figure.

    Attributes
    ----------
    name : str
        For the legend.
    collective : str
        ``all_gather`` or ``all_reduce``.
    topologies : list of str
        Short names, small networks first.
    """

    name: str
    collective: str
    topologies: list[str]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file: what it is about, the bytes of each NPU, and the series."""

    description: str
    bytes_per_npu: str
    series: list[Series]


class Setting(msgspec.Struct, frozen=True):
    """One row of the study."""

    series: str
    collective: str
    topology: str
    bytes_per_npu: int


def read_settings(path: Path) -> list[Setting]:
    """Return the settings of a study file, in its order.

    Raises
    ------
    ExperimentError
        A mistake in the file, with its line.
    """
    document, found = read_study(path, Settings, "series", Series)
    settings = []
    try:
        size = parse_bytes(found.bytes_per_npu)
    except CollbenchError as error:
        raise document.error(("bytes_per_npu",), str(error)) from None
    for at, series in enumerate(found.series):
        if series.collective not in ("all_gather", "all_reduce"):
            raise document.error(("series", at, "collective"),
                                 f"collective {series.collective!r}: expected all_gather or all_reduce")  # fmt: skip
        for number, name in enumerate(series.topologies):
            try:
                parse_topology(name)
            except CollbenchError as error:
                raise document.error(("series", at, "topologies", number), str(error)) from None
            settings.append(Setting(series.name, series.collective, name, size))
    return settings
