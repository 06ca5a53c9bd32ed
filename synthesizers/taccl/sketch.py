"""Communication sketches of TACCL (arXiv 2111.04867, section 3) and their files, read as published.

A sketch names the connections between GPUs that may be used. Inside a node: all; with ``switch``, lists of GPUs say
round which switches they go, each with ``uc-min`` or ``uc-max``: few or many different connections.
Between nodes: ``relay`` with ``internode_conn``, from local sender to local receivers, optionally who forwards whose
chunks. Besides: symmetries, and how often each input is cut.
"""

from __future__ import annotations

import os
import re
from typing import Annotated, Literal

import msgspec

from topologies.exceptions import OptionError
from topologies.readers.json_struct import read_struct

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Rank = Annotated[int, msgspec.Meta(ge=0)]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base: a key that is not there is a mistake."""


class Intranode(_Strict, frozen=True):
    """The part inside a node.

    Attributes
    ----------
    strategy : str
        ``none``: every connection; ``switch``: with those round `switches` sharing what a GPU has of its switch;
        ``minmax``, ``maxmin``: every connection, with the busiest one relieved or the idlest one used.
    switches : list of list of int
        Local GPU ids round each switch; the same ones twice are one switch.
    switch_hyperedge_strategy : list of str
        For each list of `switches`: ``uc-min``, few different connections, or ``uc-max``, many; empty: no matter.
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
        A file that cannot be read; a key that is unknown or stands twice, a value of the wrong type.
    """
    return read_struct(path, Sketch, "sketch")


def _gpu(key: str, where: str) -> int:
    """Return a JSON key as a local GPU id."""
    # As JSON writes a number: else "0", " 0" and "00" would be one GPU, whose last entry counts.
    if not re.fullmatch(r"0|[1-9][0-9]{0,8}", key):
        raise OptionError(f'sketch, {where}: {key!r:.60} is no local GPU id; expected such as "0"')
    return int(key)
