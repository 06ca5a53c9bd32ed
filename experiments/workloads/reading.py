"""From a workload file to a workload: what is wrong in it is an error of one line, with the file's line."""

from __future__ import annotations

import difflib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from experiments.files.marked_yaml import Document, ExperimentError, Place, read_yaml
from experiments.files.strict import located, require_known_keys
from experiments.workloads.model import Server, Table, Workload
from experiments.workloads.schema import LAYERS, Attention, ServerFile, Tables, Totals, WorkloadFile
from topologies.exceptions import UnitError
from topologies.units import parse_bandwidth, parse_bytes

#: Parameters, or activation values of a batch, beyond which a file is a slip, and sums of bytes would not fit 64 bits.
_MAX_VALUES = 2**42

#: By how much a stated time may differ from the one reckoned: what three digits leave open.
_ROUNDING = 0.005


def shipped() -> dict[str, Path]:
    """Return the workloads that come with collbench: names, and where their files are."""
    return {path.stem: path for path in sorted(Path(__file__).parent.glob("*.yaml"))}


def read_workload(path_or_name: str) -> Workload:
    """Return the workload of a file, or of a shipped one by its name.

    Parameters
    ----------
    path_or_name : str
        A YAML file, or ``dlrm``, ``candle``, ``bert``, ``ncf``, ``vgg16`` or ``resnet50``.

    Raises
    ------
    ExperimentError
        Neither a file nor a name; an unknown key, a missing one, a value of the wrong type or out of range, or totals
        that do not follow from the layers; with file and line.
    """
    document = read_yaml(_found(path_or_name))
    content = document.content
    if not isinstance(content, dict):
        found = "an empty file" if content is None else f"a {type(content).__name__}"
        raise document.error((), f"expected a workload: a mapping with name, batch, server and layers, found {found}")
    require_known_keys(document, content, WorkloadFile, ())
    _require_parts(document, content)
    try:
        file = msgspec.convert(content, WorkloadFile)
    except msgspec.ValidationError as error:
        raise located(document, str(error)) from None
    _require_sense(document, file)
    workload = Workload(
        name=file.name,
        batch=file.batch,
        bytes_per_value=file.bytes_per_value,
        server=_server(document, file.server),
        layers=tuple(layer.layer() for layer in file.layers),
        tables=tuple(table for group in file.tables for table in _tables(group)),
    )
    for what, values in (
        ("parameters", workload.layer_parameters + workload.table_parameters),
        ("activation values of a batch", workload.batch * workload.activation_values),
        ("inputs of a batch", workload.batch * sum(layer.repeat * layer.input_values for layer in workload.layers)),
    ):
        if values > _MAX_VALUES:
            raise document.error((), f"{values:.3g} {what}; expected at most {_MAX_VALUES:.3g}: is a count wrong?")
    _require_totals(document, file.totals, workload)
    return workload


def _found(path_or_name: str) -> str:
    """Return the path of a workload file, or of a shipped one by its name."""
    if Path(path_or_name).is_file():
        return path_or_name
    known = shipped()
    if path_or_name in known:
        return str(known[path_or_name])
    near = difflib.get_close_matches(path_or_name.lower(), known, 1)
    hint = f"did you mean {near[0]}?" if near else f"expected a YAML file, or one of {', '.join(known)}"
    raise ExperimentError(f"{path_or_name} is no file and no workload that is shipped; {hint}")


def _require_parts(document: Document, content: dict[str, Any]) -> None:
    """Refuse keys that are not known, and those that are missing, in the parts of a file."""
    parts: list[tuple[Place, Any, type[msgspec.Struct]]] = [
        (("server",), content.get("server"), ServerFile), (("totals",), content.get("totals"), Totals),
    ]  # fmt: skip
    for index, item in enumerate(_items(content.get("tables"))):
        parts.append((("tables", index), item, Tables))
    for index, item in enumerate(_items(content.get("layers"))):
        if not isinstance(item, dict):
            continue
        place: Place = ("layers", index)
        name = item.get("kind")
        if name not in list(LAYERS):
            found = f"unknown kind {name!r}" if "kind" in item else "the key 'kind' is missing in layers"
            raise document.error((*place, "kind"), f"{found}; expected one of {', '.join(LAYERS)}")
        parts.append((place, {key: value for key, value in item.items() if key != "kind"}, LAYERS[name]))
    for place, item, kind in parts:
        if isinstance(item, dict):
            require_known_keys(document, item, kind, place)


def _items(value: Any) -> list[Any]:
    """Return a list as it is, and of anything else nothing: its type is refused later."""
    return value if isinstance(value, list) else []


def _require_sense(document: Document, file: WorkloadFile) -> None:
    """Refuse what is of the right type but cannot be."""
    if not file.layers:
        raise document.error(("layers",), "layers is empty; expected at least one")
    for key, items in (("layers", file.layers), ("tables", file.tables)):
        seen = Counter[str]()
        for index, item in enumerate(items):
            seen[item.name] += 1
            if seen[item.name] > 1:
                raise document.error((key, index, "name"), f"the name {item.name!r} is there twice; give it once")
    for index, layer in enumerate(file.layers):
        if isinstance(layer, Attention) and layer.hidden % layer.heads:
            raise document.error(
                ("layers", index, "heads"),
                f"heads: {layer.heads} heads do not share a hidden width of {layer.hidden}; expected a divisor of it",
            )


def _server(document: Document, server: ServerFile) -> Server:
    """Return what one server has, its units read."""
    try:
        key = "memory"
        memory = parse_bytes(str(server.memory))
        key = "memory_bandwidth"
        bandwidth = parse_bandwidth(str(server.memory_bandwidth))
    except UnitError as error:
        raise document.error(("server", key), f"{key}: {error}") from error
    return Server(memory, float(server.tflops), bandwidth)


def _tables(group: Tables) -> list[Table]:
    """Return tables alike, numbered if there are several."""
    if group.count == 1:
        return [Table(group.name, group.rows, group.width, group.lookups)]
    return [Table(f"{group.name}_{at}", group.rows, group.width, group.lookups) for at in range(group.count)]


def _require_totals(document: Document, totals: Totals, workload: Workload) -> None:
    """Refuse totals that do not follow from layers and tables."""
    for key in ("layer_parameters", "table_parameters", "layer_flops"):
        stated, found = getattr(totals, key), getattr(workload, key)
        if stated is not None and stated != found:
            raise document.error(("totals", key), f"{key}: {stated:,} stated, but the file adds up to {found:,}")
    stated, found = totals.layer_ms, workload.layer_s * 1e3
    if stated is not None and not abs(stated - found) <= _ROUNDING * found:
        raise document.error(("totals", "layer_ms"), f"layer_ms: {stated:g} stated, but the file gives {found:.4g}")
