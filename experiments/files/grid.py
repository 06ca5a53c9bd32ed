"""The grid of an experiment: every run that a file asks for, in its order, all checked before any begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from math import inf, prod
from pathlib import Path
from typing import Any

from experiments.fairness import tuned_alike
from experiments.files.marked_yaml import Document, Place
from experiments.files.schema import AXES, Entrant, Experiment, Problems
from experiments.runner.groups import groups_of, pairs_of
from experiments.runner.run import Run, is_like, looks_like_file, network
from schedules.kinds import KINDS, ROOTED
from synthesizers import discover, find, parse_options
from synthesizers.registry import FILE
from topologies import CollbenchError, format_bytes, parse_bytes

#: A value and where it stands.
_Placed = tuple[Any, Place]

#: A synthesizer that takes part, and the options that the file gives it.
_Taking = tuple[Entrant, dict[str, Any]]

#: A grid of more runs is a slip.
_MAX_RUNS = 200_000


def expand(experiment: Experiment, document: Document) -> list[Run]:
    """Return the runs: block by block, problem by problem, each with all synthesizers; the same run but once.

    Raises
    ------
    ExperimentError
        A network, size, group, synthesizer or option that does not exist or does not fit, with its line.
    """
    _require_size(experiment, document)
    entrants = list(_entrants(experiment, document))
    runs: dict[str, Run] = {}
    axes = (experiment.latency, experiment.switching, experiment.limits.time_limit_s, experiment.seed)
    settings = list(product(*map(_many, axes)))
    for index, block in enumerate(experiment.blocks):
        place: Place = ("problems", index) if isinstance(experiment.problems, list) else ("problems",)
        taking_part = _taking_part(block, place, entrants, document)
        tuned = {
            chunks: [_tuned(*entrant, chunks, document) for entrant in taking_part] for chunks in _many(block.chunks)
        }
        repeats = experiment.repeats if block.repeats is None else block.repeats
        for point in _points(block, place, document):
            asked = _problem(block, place, point, document)
            chosen = zip(taking_part, tuned[point["chunks"][0]], strict=True)
            for (latency, switching, limit, seed), ((entrant, options), all_options), repeat in product(
                settings, chosen, range(repeats)
            ):
                run = Run(
                    **asked, latency=latency, switching=switching, seed=seed, repeat=repeat,
                    synthesizer=entrant.synthesizer, label=_label(entrant, options),
                    options=all_options, time_limit_s=limit, keep_schedule=experiment.keep_schedules,
                    alone=block.alone,
                )  # fmt: skip
                runs.setdefault(run.key() + run.label, run)
    _require_layouts(experiment, document, [_label(entrant, options) for entrant, options in entrants])
    _require_plots(experiment, document, list(runs.values()))
    return list(runs.values())


def _require_size(experiment: Experiment, document: Document) -> None:
    """Refuse a grid that is too large to be meant, before it is laid out."""
    entrants = 0
    for index, item in enumerate(experiment.synthesizers):
        options = {} if isinstance(item, str) else item.options
        for key, value in options.items():
            if value == []:
                raise document.error(("synthesizers", index, "options", key), f"{key} is an empty list; expected at "
                                     "least one value")  # fmt: skip
        entrants += prod(len(_many(value)) for value in options.values())
    if inf in _many(experiment.limits.time_limit_s):
        raise document.error(("limits", "time_limit_s"), "time_limit_s is infinite; leave it out for no limit")
    settings = (experiment.latency, experiment.switching, experiment.limits.time_limit_s, experiment.seed)
    runs = 0
    for block in experiment.blocks:
        axes = [len(_many(getattr(block, axis))) for axis in AXES if axis not in block.zip[1:]]
        runs += prod(axes) * (experiment.repeats if block.repeats is None else block.repeats)
    runs *= entrants * prod(len(_many(values)) for values in settings)
    if runs > _MAX_RUNS:
        raise document.error((), f"up to {runs:,} runs, more than {_MAX_RUNS:,}; split the experiment")


def _require_layouts(experiment: Experiment, document: Document, labels: list[str]) -> None:
    """Refuse a table of columns, values or labels that there will not be."""
    from experiments.tables.layout import PLACES, VALUES, require

    for index, table in enumerate(experiment.tables):
        asked: list[tuple[str, str, Iterable[str]]] = [("rows", name, PLACES) for name in table.sides or []]
        asked += [("columns", table.columns, PLACES)]
        asked += [("value", table.value, VALUES)]
        asked += [("normalise", table.normalise, labels)] if table.normalise is not None else []
        for key, name, known in asked:
            try:
                require(name, known, key)
            except CollbenchError as error:
                raise document.error(("tables", index, key), str(error)) from error


def _require_plots(experiment: Experiment, document: Document, runs: Sequence[Run]) -> None:
    """Refuse a plot of no run, or of a size without a unit."""
    for index, plot in enumerate(experiment.plots):
        if isinstance(plot, str):
            continue
        try:
            size = plot.nbytes
        except CollbenchError as error:
            raise document.error(("plots", index, "size"), f"size: {error}") from error
        if size is not None and all(run.size != size for run in runs):
            raise document.error(("plots", index, "size"), f"size: no run is of {format_bytes(size)}")
        for pattern in plot.patterns:
            if not any(is_like(pattern, run.label, run.describe()) for run in runs):
                raise document.error(("plots", index, "only"), f"only: {pattern!r} is like no run")


def _taking_part(block: Problems, place: Place, entrants: Sequence[_Taking], document: Document) -> list[_Taking]:
    """Return the synthesizers that a block of problems is for."""
    labels = [_label(*entrant) for entrant in entrants]
    for pattern in _many(block.only):
        if not any(fnmatchcase(label, pattern) for label in labels):
            raise document.error(
                (*place, "only"), f"only: {pattern!r} is like no synthesizer; labels are {', '.join(labels)}"
            )
    return [
        entrant for entrant, label in zip(entrants, labels, strict=True)
        if not block.only or any(fnmatchcase(label, pattern) for pattern in _many(block.only))
    ]  # fmt: skip


def _points(block: Problems, place: Place, document: Document) -> Iterator[dict[str, _Placed]]:
    """Yield a value for each axis: the product of all, with zipped axes as one."""
    values = {axis: _placed(getattr(block, axis), (*place, axis)) for axis in AXES}
    for at, axis in enumerate(block.zip):
        if axis not in AXES:
            raise document.error((*place, "zip", at), f"zip: unknown axis {axis!r}; expected some of {', '.join(AXES)}")
        if len(values[axis]) != len(values[block.zip[0]]):
            first = block.zip[0]
            raise document.error((*place, "zip"), f"zip: {first} has {len(values[first])} values and {axis} "
                                                  f"{len(values[axis])}; expected lists of one length")  # fmt: skip
    for axis, found in values.items():
        if not found:
            raise document.error((*place, axis), f"{axis} is an empty list; expected at least one value")
    bundles: list[list[dict[str, _Placed]]] = []
    for axis in AXES:
        if axis not in block.zip:
            bundles.append([{axis: value} for value in values[axis]])
        elif axis == min(block.zip, key=AXES.index):
            rows = zip(*(values[name] for name in block.zip), strict=True)
            bundles.append([dict(zip(block.zip, row, strict=True)) for row in rows])
    for bundle in product(*bundles):
        yield {axis: value for part in bundle for axis, value in part.items()}


def _problem(block: Problems, place: Place, point: dict[str, _Placed], document: Document) -> dict[str, Any]:
    """Return the fields of a run that say what the problem is."""
    parse = {
        "topology": lambda name: _network(name, document),
        "collective": _kind,
        "size": lambda value: parse_bytes(str(value)),  # a bare number has no unit, which is said
        "group": lambda value: groups_of(str(value)),
        "pairs": lambda value: pairs_of(value or ""),
    }
    found: dict[str, Any] = {}
    for axis, (value, at) in point.items():
        try:
            found[axis] = parse[axis](value) if axis in parse else value
        except CollbenchError as error:
            raise document.error(at, f"{axis}: {error}") from error
    kinds = _many(block.collective)
    if block.root is not None and not set(kinds) & set(ROOTED):
        raise document.error((*place, "root"), f"root is of {', '.join(ROOTED)} only; leave it out")
    if (block.pairs is not None) != ("send_recv" in kinds):
        raise document.error(place, "send_recv needs pairs, such as '0-1,2-3', and nothing else takes them")
    rooted, paired = found["collective"] in ROOTED, found["collective"] == "send_recv"
    asked = {
        "topology": found["topology"],
        "collective": found["collective"],
        "size": found["size"],
        "chunks": found["chunks"] or 1,
        "groups": () if paired else found["group"],
        "root": (found["root"] or 0) if rooted else 0,
        "pairs": found["pairs"] if paired else (),
    }
    try:
        Run(**asked, synthesizer="", label="").problem()
    except CollbenchError as error:
        raise document.error(place, str(error)) from error
    return asked


def _entrants(experiment: Experiment, document: Document) -> Iterator[_Taking]:
    """Yield each synthesizer with each combination of its options."""
    labels: dict[str, Place] = {}
    for index, item in enumerate(experiment.synthesizers):
        place: Place = ("synthesizers", index)
        entrant = Entrant(synthesizer=item) if isinstance(item, str) else item
        if entrant.synthesizer.startswith(FILE):
            found = FILE + _beside(entrant.synthesizer.removeprefix(FILE), document)
            entrant = Entrant(synthesizer=found, options=entrant.options, label=entrant.label or entrant.synthesizer)
        options = {key: _many(value) for key, value in entrant.options.items()}
        for values in product(*options.values()):
            chosen = dict(zip(options, values, strict=True))
            _require_options(entrant.synthesizer, chosen, place, document)
            label = _label(entrant, chosen)
            if not label.strip() or not label.isprintable():
                raise document.error((*place, "label"), f"the label {label!r} cannot be shown; expected a line of text")
            if label in labels:
                raise document.error(place, f"{label} is there twice; give one of them another label")
            labels[label] = place
            yield entrant, chosen


def _require_options(name: str, options: dict[str, Any], place: Place, document: Document) -> None:
    """Refuse a synthesizer that does not exist, and options that it does not have; a broken one is a failed row."""
    plugin, at = discover().get(name), place
    alone, colon, given = name.partition(":")
    if plugin is None and colon and alone in discover():
        told = ", ".join(each.replace("=", ": ", 1) for each in given.split(","))
        raise document.error((*place, "synthesizer"), f"synthesizer {name!r}: in a file options stand apart, "
                             f"{{synthesizer: {alone}, options: {{{told}}}}}")  # fmt: skip
    try:
        if plugin is None or plugin.synthesizer is not None:
            synthesizer = find(name)
            for key, value in options.items():
                at = (*place, "options", key)
                parse_options(synthesizer, {key: value})
            at = place
            parse_options(synthesizer, options)
    except CollbenchError as error:
        raise document.error(at, str(error)) from error


def _label(entrant: Entrant, options: dict[str, Any]) -> str:
    """Return what tables call a synthesizer with options; where options vary, a label given is only its beginning."""
    varied = [key for key in options if not entrant.label or isinstance(entrant.options[key], list)]
    shown = ",".join(f"{key}={_shown(options[key])}" for key in varied)
    return (entrant.label or entrant.synthesizer) + (f":{shown}" if shown else "")


def _tuned(entrant: Entrant, options: dict[str, Any], chunks: int | None, document: Document) -> dict[str, Any]:
    """Return the options of a run, tuned as everybody's are; those of a broken plugin stay."""
    name = entrant.synthesizer
    synthesizer = find(name) if name.startswith(FILE) else discover()[name].synthesizer
    options = {key: _beside(value, document) if isinstance(value, str) else value for key, value in options.items()}
    return options if synthesizer is None else tuned_alike(synthesizer, options, chunks)


def _shown(value: Any) -> str:
    """Return an option's value as the command line takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _many(value: Any) -> list[Any]:
    """Return a value as a list of one, and a list as it is."""
    return value if isinstance(value, list) else [value]


def _placed(value: Any, place: Place) -> list[_Placed]:
    """Return values with their places."""
    if isinstance(value, list):
        return [(item, (*place, index)) for index, item in enumerate(value)]
    return [(value, place)]


def _network(name: str, document: Document) -> str:
    """Return the name by which a run finds a network."""
    found = _beside(name, document)
    network(found)
    return found


def _beside(name: str, document: Document) -> str:
    """Return the path of a file beside the experiment file, as short as it goes; what names none stays as it is."""
    beside = Path(document.path).parent / name
    if not beside.is_file() and "@" in name:  # what a topology file does not say follows its name
        name, _, said = name.rpartition("@")
        return f"{_beside(name, document)}@{said}"
    if not looks_like_file(name) or not beside.is_file():  # a short name goes before a file of the same name
        return name
    here = Path.cwd()
    return str(beside.relative_to(here) if beside.is_relative_to(here) else beside)


def _kind(name: str) -> str:
    """Return the name of a collective, checked."""
    import difflib

    from topologies import CollectiveError

    known = [kind for kind in KINDS if kind != "custom"]
    if name not in known:
        near = difflib.get_close_matches(name.lower().replace("-", "_"), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
        raise CollectiveError(f"unknown collective {name!r}; {hint}")
    return name
