"""Communication sketches of TACCL (arXiv 2111.04867, section 3) and their files, read as published.

A sketch names the connections between GPUs that may be used. Inside a node: all (``none``), or those round switches
(``switch``: lists of GPUs, each list a switch, with ``uc-min`` or ``uc-max``: few or many different connections).
Between nodes: ``relay`` with ``internode_conn``, from local sender to local receivers, optionally who forwards whose
chunks. Besides: symmetries, and how often each input is cut.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from topologies.exceptions import OptionError

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Rank = Annotated[int, msgspec.Meta(ge=0)]
_T = TypeVar("_T", bound=msgspec.Struct)


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base: a key that is not there is a mistake."""


class Intranode(_Strict, frozen=True):
    """The part inside a node.

    Attributes
    ----------
    strategy : str
        ``none``: every connection; ``switch``: those round `switches`; ``minmax``, ``maxmin``: every connection, with
        the busiest one relieved or the idlest one used.
    switches : list of list of int
        Local GPU ids round each switch.
    switch_hyperedge_strategy : list of str
        For each switch: ``uc-min``, few different connections, or ``uc-max``, many.
    """

    strategy: Literal["none", "switch", "minmax", "maxmin"] = "none"
    switches: list[list[_Rank]] = []
    switch_hyperedge_strategy: list[Literal["uc-min", "uc-max"]] = []


class Internode(_Strict, frozen=True):
    """The part between nodes.

    Attributes
    ----------
    strategy : str
    internode_conn : dict or str
        Local sender → local receivers, ``fully-connected`` or ``direct-map`` (each GPU to its namesake).
    gpus_to_sender_rev_map : dict, optional
        Local sender → the local GPUs whose chunks it forwards.
    enforce_ordering : bool
        A sender forwards its own chunks before those of others.
    """

    strategy: Literal["relay"] = "relay"
    internode_conn: dict[str, list[_Rank]] | Literal["fully-connected", "direct-map"] = "fully-connected"
    gpus_to_sender_rev_map: dict[str, list[_Rank]] | None = None
    enforce_ordering: bool = False


class Hyperparameters(_Strict, frozen=True):
    """How often each input is cut; `heuristic` numbers an ordering of the published code and is not used."""

    input_chunkup: _Count = 1
    heuristic: int = 0


class Sketch(_Strict, frozen=True):
    """A communication sketch; the fields are the keys of its file."""

    nnodes: _Count = 1
    intranode_sketch: Intranode = Intranode()
    internode_sketch: Internode | None = None
    symmetry_offsets: list[tuple[_Rank, _Count]] = []
    hyperparameters: Hyperparameters = Hyperparameters()

    def connections(self, gpus_per_node: int) -> dict[int, tuple[int, ...]]:
        """Return the local receivers of each local sender; none where the sketch has one node.

        Raises
        ------
        OptionError
            A sender that is no number.
        """
        if self.internode_sketch is None:
            return {}
        given = self.internode_sketch.internode_conn
        if given == "fully-connected":
            return {gpu: tuple(range(gpus_per_node)) for gpu in range(gpus_per_node)}
        if given == "direct-map":
            return {gpu: (gpu,) for gpu in range(gpus_per_node)}
        assert isinstance(given, dict)
        return {_gpu(key, "internode_conn"): tuple(receivers) for key, receivers in given.items()}

    def senders(self) -> dict[int, tuple[int, ...]]:
        """Return the local GPUs whose chunks each local sender forwards; empty where the sketch does not say."""
        given = None if self.internode_sketch is None else self.internode_sketch.gpus_to_sender_rev_map
        return {_gpu(key, "gpus_to_sender_rev_map"): tuple(gpus) for key, gpus in (given or {}).items()}

    def reversed(self, gpus_per_node: int) -> Sketch:
        """Return the sketch of the reversed network: receivers send, and forward the chunks of those they heard."""
        if self.internode_sketch is None:
            return self
        back: dict[str, list[int]] = {}
        for sender, receivers in self.connections(gpus_per_node).items():
            for receiver in receivers:
                back.setdefault(str(receiver), []).append(sender)
        forwards: dict[str, list[int]] = {}
        for sender, gpus in self.senders().items():
            for receiver in self.connections(gpus_per_node).get(sender, ()):
                known = forwards.setdefault(str(receiver), [])
                known += [gpu for gpu in gpus if gpu not in known]
        internode = msgspec.structs.replace(
            self.internode_sketch, internode_conn=back, gpus_to_sender_rev_map=forwards or None
        )
        return msgspec.structs.replace(self, internode_sketch=internode)


def read_sketch(path: str | os.PathLike[str]) -> Sketch:
    """Return the sketch of a JSON file.

    Raises
    ------
    OptionError
        A file that cannot be read, an unknown key (the nearest is given) or a value of the wrong type.
    """
    return read_struct(path, Sketch, "sketch")


def read_struct(path: str | os.PathLike[str], kind: type[_T], what: str) -> _T:
    """Return a JSON file as a typed value; `what` names it in messages."""
    try:
        content = msgspec.json.decode(Path(path).read_bytes())
    except OSError as error:
        raise OptionError(f"cannot read the {what} {path}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise OptionError(f"{what} {path} is not JSON: {error}") from error
    _require_known(content, kind, f"{what} {path}")
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise OptionError(f"{what} {path}: {str(error).replace('`', '')}") from error


def _require_known(content: Any, kind: type[msgspec.Struct], where: str) -> None:
    """Refuse keys that a type does not have, with the nearest that it has."""
    if not isinstance(content, dict):
        raise OptionError(f"{where}: expected a mapping, found a {type(content).__name__}")
    parts: dict[str, type[msgspec.Struct]] = {
        "intranode_sketch": Intranode,
        "internode_sketch": Internode,
        "hyperparameters": Hyperparameters,
    }
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key, value in content.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(known)}"
            raise OptionError(f"{where}: unknown key {key!r}; {hint}")
        if key in parts and isinstance(value, dict):
            _require_known(value, parts[key], f"{where}, {key}")


def _gpu(key: str, where: str) -> int:
    """Return a JSON key as a local GPU id."""
    if not key.strip().isdecimal():
        raise OptionError(f'sketch, {where}: {key!r} is no local GPU id; expected such as "0"')
    return int(key)
