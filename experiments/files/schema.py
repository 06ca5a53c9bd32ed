"""What an experiment file may say, as types; keys are named as on the command line, and values may be lists."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from topologies import parse_bytes

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Rank = Annotated[int, msgspec.Meta(ge=0)]
_Seed = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Latency = Literal["blocking", "pipelined"]
_Switching = Literal["cut_through", "store_and_forward"]
# Numbers are let through where a unit is missing, so that the error can name the unit.
_Size = str | int | float

#: Keys of `Problems` that are axes of the grid, outermost first.
AXES = ("topology", "collective", "size", "chunks", "group", "root", "pairs")

_Plot = Literal["busbw", "bars", "efficiency", "scaling", "pareto", "heat_map", "link_load", "over_time", "gantt"]

#: Plots that a file may name: the kinds of ``collbench plot``.
PLOTS: tuple[str, ...] = get_args(_Plot)


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all: a key that is not there is a mistake."""


class Problems(_Strict, frozen=True, kw_only=True):
    """A block of problems: the product of its lists, but for those that `zip` names.

    Attributes
    ----------
    topology, collective, size, chunks, root
        As on the command line: one value, or a list of them. A topology file is looked for beside the experiment file.
    group : str or list of str
        NPUs in rank order, ``0,1,2,3``; several groups at once are joined by a semicolon; ``all`` is all NPUs. A list
        is several problems.
    pairs : str or list of str
        Of send_recv: ``0-1,2-3``.
    only : str or list of str
        Patterns of labels: only these synthesizers take part; by default all.
    repeats : int, optional
        Instead of the experiment's.
    alone : bool
        Whether these runs are done after the others, one at a time, so that nothing disturbs what is measured.
    zip : list of str
        Keys whose lists go together, first with first, second with second.
    """

    topology: str | list[str]
    collective: str | list[str]
    size: _Size | list[_Size]
    chunks: _Count | list[_Count] | None = None
    group: str | int | list[str | int] = "all"
    root: _Rank | list[_Rank] | None = None
    pairs: str | list[str] | None = None
    only: str | list[str] = []
    repeats: _Count | None = None
    alone: bool = False
    zip: list[str] = []


class Entrant(_Strict, frozen=True, kw_only=True):
    """A synthesizer with options.

    Attributes
    ----------
    synthesizer : str
    options : dict
        Names and values; each list is expanded into its items.
    label : str
        What tables call it; by default its name and the options given.
    """

    synthesizer: str
    options: dict[str, object] = {}
    label: str = ""


class Limits(_Strict, frozen=True, kw_only=True):
    """What a run may take before it is killed; apart from the workload.

    Attributes
    ----------
    time_limit_s : float, list of float or None
        Seconds of synthesis; solvers are told of it. A list is an axis of the grid: each run has its own limit.
    memory_limit_mb : float or None
        Memory of the process of a run, with its libraries and the processes that it starts.
    """

    time_limit_s: _Positive | Annotated[list[_Positive], msgspec.Meta(min_length=1)] | None = None
    memory_limit_mb: Annotated[float, msgspec.Meta(ge=300)] | None = None


class TableLayout(_Strict, frozen=True, kw_only=True):
    """A table to draw: see ``collbench table --help``."""

    rows: str | list[str] | None = None
    columns: str = "label"
    value: str = "busbw_gbps"
    normalise: str | None = None
    title: str = ""

    @property
    def sides(self) -> list[str] | None:
        """The columns at the side, also if it is but one; None: the usual ones."""
        return [self.rows] if isinstance(self.rows, str) else self.rows


class Plot(_Strict, frozen=True, kw_only=True):
    """A plot to draw of some of the results: see ``collbench plot --help``.

    Attributes
    ----------
    kind : str
        One of `PLOTS`.
    only : str or list of str
        Patterns of labels and problems, as of ``--only``.
    size : str, optional
        Only rows of this size.
    """

    kind: _Plot
    only: str | list[str] = []
    size: _Size | None = None

    @property
    def patterns(self) -> list[str]:
        """The patterns, also if it is but one."""
        return [self.only] if isinstance(self.only, str) else self.only

    @property
    def nbytes(self) -> int | None:
        """The size in bytes; None: all sizes.

        Raises
        ------
        UnitError
            It has no unit.
        """
        return None if self.size is None else parse_bytes(str(self.size))


class Experiment(_Strict, frozen=True, kw_only=True):
    """A whole file.

    Attributes
    ----------
    problems : Problems or list of Problems
    synthesizers : list of str or Entrant
    description : str
    latency, switching : str or list of str
        The link model.
    seed : int or list of int
    repeats : int
        How often each run is measured.
    keep_schedules : bool
        Whether schedules are stored beside the results, to be simulated again, drawn and shown.
    limits : Limits
    tables : list of TableLayout
    plots : list of str or Plot
        Drawn into the folder ``plots`` beside the results.
    """

    problems: Problems | list[Problems]
    synthesizers: list[str | Entrant]
    description: str = ""
    latency: _Latency | list[_Latency] = "blocking"
    switching: _Switching | list[_Switching] = "cut_through"
    seed: _Seed | list[_Seed] = 0
    repeats: _Count = 1
    keep_schedules: bool = False
    limits: Limits = Limits()
    tables: list[TableLayout] = msgspec.field(default_factory=lambda: [TableLayout()])
    plots: list[_Plot | Plot] = []

    @property
    def blocks(self) -> list[Problems]:
        """The blocks of problems, also if there is but one."""
        return self.problems if isinstance(self.problems, list) else [self.problems]
