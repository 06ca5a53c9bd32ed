"""Reading TE-CCL's JSON: what its solver printed, flow by flow, and the demand that it says was met.

A flow is a sentence, ``Chunk c from s traveled over i->j in epoch k``, which may end with the switches that it went
through. Nodes are numbered with the switches among them; GPUs are those that the demand names. The linear program for
AllToAll splits chunks (``with volume 0.5``); which part goes where the file does not say, so it is refused.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from topologies.exceptions import FormatError
from topologies.reading import read_bytes

#: Most of each thing that is read: far past what the solver can make.
MAX_BYTES = 2**28
_MAX_NODES = 2**14
_MAX_CHUNKS = 2**16
_MAX_EPOCH = 2**31 - 1

_FLOW = re.compile(
    r"Chunk (\d{1,9}) from (\d{1,9}) traveled over (\d{1,9})->(\d{1,9})"
    r"(?: with volume ([0-9.e+-]{1,30}))? in epoch (\d{1,10})(?: via switches [\d, >-]{1,200})?"
)
_FLOW_KEY = re.compile(r"\d+-Flows")
_DEMAND_KEY = re.compile(r"\d+-Demand_Met")


class Flow(NamedTuple):
    """One chunk over one pair of nodes; it may be used at `target` from the next epoch on."""

    chunk: int
    origin: int
    source: int
    target: int
    epoch: int

    def __str__(self) -> str:
        return f"chunk {self.chunk} from {self.origin} over {self.source}->{self.target} in epoch {self.epoch}"


@dataclass(frozen=True)
class Flows:
    """What a file says.

    Attributes
    ----------
    flows : tuple of Flow
        By epoch.
    demand : dict
        (origin, chunk) → the nodes that want it, ascending; empty where the file names no demand.
    """

    flows: tuple[Flow, ...]
    demand: dict[tuple[int, int], tuple[int, ...]]

    @property
    def gpus(self) -> tuple[int, ...]:
        """Nodes that hold or want a chunk, ascending; all others are switches. GPU r of a network is the r-th."""
        origins = {origin for origin, _ in self.demand} or {flow.origin for flow in self.flows}
        return tuple(sorted(origins | {node for wanted in self.demand.values() for node in wanted}))


def is_teccl_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like TE-CCL's output, whole or not."""
    try:
        with open(path, "rb") as file:
            start = file.read(4096).decode("utf-8", "replace")
    except OSError:
        return False
    return re.match(r'\s*\{\s*"(1-Epoch_Duration|\d+-(Demand_Met|Flows))"', start) is not None


def load_teccl(path: str | os.PathLike[str]) -> Flows:
    """Return the flows of a file.

    Raises
    ------
    FormatError
        The file cannot be read, or is not TE-CCL's; the message names the file and the place.
    """
    text = read_bytes(path, MAX_BYTES)
    try:
        return parse_teccl(text)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def parse_teccl(text: bytes | str) -> Flows:
    """Return the flows of a text; see `load_teccl`."""
    if len(text) > MAX_BYTES:
        raise FormatError(f"more than {MAX_BYTES} bytes, which no output of TE-CCL has")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise FormatError("not TE-CCL's output: nested too deeply") from None
    except ValueError:  # bytes that are no UTF-8, numbers without end
        raise FormatError("not JSON: text that is no UTF-8, or a number of too many digits") from None
    if not isinstance(content, dict):
        raise FormatError("not TE-CCL's output: expected an object with 7-Flows")
    rows = next((content[key] for key in content if _FLOW_KEY.fullmatch(key)), None)
    if not isinstance(rows, list) or not rows:
        raise FormatError("not TE-CCL's output: expected 7-Flows, a list of sentences")
    flows = [_flow(row, number) for number, row in enumerate(rows)]
    met: Any = next((content[key] for key in content if _DEMAND_KEY.fullmatch(key)), {})
    return Flows(tuple(sorted(flows, key=lambda flow: flow.epoch)), _demand(met))


def _flow(row: object, number: int) -> Flow:
    """Return a flow from its sentence."""
    found = _FLOW.fullmatch(row) if isinstance(row, str) else None
    if found is None:
        raise FormatError(
            f"flow {number} is {str(row)[:80]!r}: expected 'Chunk c from s traveled over i->j in epoch k'"
        )
    chunk, origin, source, target, volume, epoch = found.groups()
    if volume is not None and volume not in ("1", "1.0"):
        raise FormatError(
            f"flow {number} carries {volume} of a chunk, and which part the file does not say; solve with whole chunks"
        )
    flow = Flow(int(chunk), int(origin), int(source), int(target), int(epoch))
    if max(flow.origin, flow.source, flow.target) >= _MAX_NODES or flow.chunk >= _MAX_CHUNKS or flow.epoch > _MAX_EPOCH:
        raise FormatError(f"flow {number} ({flow}): there are at most {_MAX_NODES} nodes and {_MAX_CHUNKS} chunks")
    if flow.source == flow.target:
        raise FormatError(f"flow {number} ({flow}) leads nowhere: expected two nodes")
    return flow


def _demand(met: Any) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return who wants each chunk, from nested objects ``GPU s``, ``GPU d``, ``Chunk c``."""
    wanted: dict[tuple[int, int], list[int]] = {}
    for origin, targets in _members(met, "GPU", _MAX_NODES):
        for target, chunks in _members(targets, "GPU", _MAX_NODES):
            for chunk, _ in _members(chunks, "Chunk", _MAX_CHUNKS):
                wanted.setdefault((origin, chunk), []).append(target)
    return {key: tuple(sorted(set(nodes))) for key, nodes in sorted(wanted.items())}


def _members(content: Any, word: str, limit: int) -> list[tuple[int, Any]]:
    """Return the numbered entries of one level of the demand."""
    if not isinstance(content, dict):
        raise FormatError(f"Demand_Met has {str(content)[:40]!r} where an object with '{word} n' is expected")
    found = []
    for key, inner in content.items():
        number = re.fullmatch(rf"{word} (\d{{1,9}})", key)
        if number is None or int(number[1]) >= limit:
            raise FormatError(f"Demand_Met has {key[:40]!r}: expected '{word} n' with n below {limit}")
        found.append((int(number[1]), inner))
    return found
