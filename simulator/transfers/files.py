"""Files of transfers: the JSON form in which ASTRA-sim's answers are kept, with its units stated."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import numpy as np

from simulator.transfers.transfer_list import TransferList
from topologies import Topology, parse_bandwidth, parse_time
from topologies.exceptions import CollbenchError, FormatError
from topologies.reading import read_bytes


class _Transfer(msgspec.Struct, forbid_unknown_fields=True):
    """One entry of `transfers` in a file."""

    id: int | str
    bytes: int
    path: list[int] = []
    links: list[int] = []
    after: list[int | str] = []


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """A file of transfers."""

    npus: int
    links: list[tuple[int, int, float, float]]
    transfers: list[_Transfer]
    name: str = ""
    note: str = ""
    switches: int = 0
    units: str = ""
    bandwidth_unit: str = ""
    latency_unit: str = ""
    expected_ns: float | None = None


def load_transfers(path: str | os.PathLike[str]) -> TransferList:
    """Return the transfers of a JSON file.

    The file holds one object with the keys

    - ``npus``, and optionally ``switches`` (their nodes follow the NPUs), ``name``, ``note``, ``expected_ns``;
    - ``links``: a list of ``[src, dst, bandwidth, latency]``, one entry per direction;
    - the units of these, either as ``"bandwidth_unit": "GB/s"`` and ``"latency_unit": "us"`` (any unit that collbench
      reads) or in a text such as ``"units": "bandwidth GiB/s (2^30), latency ns, …"``; the keys win. There is no
      default: the "GB/s" of some tools are GiB/s;
    - ``transfers``: a list of ``{"id": 7, "bytes": 1048576, "path": [0, 1, 2], "after": [3, 5]}``. Ids are numbers or
      text, each once. `path` names nodes; where parallel links leave it open which one is meant, ``"links": [4, 9]``
      (positions in the list of links) stands instead. `after` may be left out.

    Raises
    ------
    FormatError
        The file cannot be read, is not of this form, or does not describe a network and transfers on it.
    """
    raw = read_bytes(path)
    try:
        return _transfer_list(msgspec.json.decode(raw, type=_File), Path(path).stem)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        expected = "expected one whole JSON object with npus, links, units and transfers"
        raise FormatError(f"{path}: not a file of transfers ({' '.join(str(error).split())}); {expected}") from error
    except OverflowError as error:
        raise FormatError(f"{path}: a number is too large; expected at most 2^63-1") from error
    except CollbenchError as error:
        raise FormatError(f"{path}: {' '.join(str(error).split())}") from error


def _transfer_list(content: _File, stem: str) -> TransferList:
    """Return the transfers of a decoded file."""
    topology = _network(content, stem)
    position: dict[int | str, int] = {}
    between: dict[tuple[int, int], int] = {}  # −1: several
    for link, ends in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        between[ends] = -1 if ends in between else link
    routes: list[int] = []
    route_start = [0]
    for index, transfer in enumerate(content.transfers):
        if transfer.id in position:
            raise FormatError(f"transfer id {transfer.id!r} is there twice; expected each id once")
        position[transfer.id] = index
        routes += _route(transfer, topology, between)
        route_start.append(len(routes))
    after: list[int] = []
    after_start = [0]
    for transfer in content.transfers:
        for name in transfer.after:
            if name not in position:
                raise FormatError(f"transfer {transfer.id!r} is after {name!r}, which is no transfer's id")
            after.append(position[name])
        after_start.append(len(after))
    nbytes = np.array([transfer.bytes for transfer in content.transfers], np.int64)
    return TransferList(topology, nbytes, np.array(route_start), np.array(routes, np.int64), np.array(after_start),
                        np.array(after, np.int64), list(position), content.units, content.expected_ns)  # fmt: skip


def _route(transfer: _Transfer, topology: Topology, between: dict[tuple[int, int], int]) -> list[int]:
    """Return the links of a transfer."""
    if bool(transfer.path) == bool(transfer.links):
        raise FormatError(f"transfer {transfer.id!r}: expected either a path of nodes or links, found "
                          f"{'both' if transfer.path else 'neither'}")  # fmt: skip
    if transfer.links:
        return transfer.links
    if len(transfer.path) < 2:
        raise FormatError(f"transfer {transfer.id!r} has a path of one node; expected at least two")
    for node in transfer.path:
        if not 0 <= node < topology.num_nodes:
            raise FormatError(
                f"transfer {transfer.id!r} passes node {node}; the network has 0…{topology.num_nodes - 1}"
            )
    route = []
    for a, b in zip(transfer.path, transfer.path[1:], strict=False):
        link = between.get((a, b))
        if link is None:
            raise FormatError(f"transfer {transfer.id!r} goes from {a} to {b}, which no link joins")
        if link < 0:
            raise FormatError(
                f"transfer {transfer.id!r} goes from {a} to {b}, which several links join; give it 'links' (positions "
                "in the list of links) instead of 'path'"
            )
        route.append(link)
    return route


def _network(content: _File, stem: str) -> Topology:
    """Return the network of a decoded file."""
    bandwidth_unit = content.bandwidth_unit or _unit(content.units, "bandwidth")
    latency_unit = content.latency_unit or _unit(content.units, "latency")
    # Numbers go through the one parser of quantities; there are few different ones.
    gbps = {value: parse_bandwidth(f"{value!r}{bandwidth_unit}") for value in {row[2] for row in content.links}}
    us = {value: parse_time(f"{value!r}{latency_unit}") for value in {row[3] for row in content.links}}
    rows = [(src, dst, us[latency], gbps[bandwidth]) for src, dst, bandwidth, latency in content.links]
    return Topology.from_links(content.npus, rows, num_switches=content.switches, name=content.name or stem)


def _unit(text: str, quantity: str) -> str:
    """Return the unit of a quantity in a text such as ``bandwidth GiB/s (2^30), latency ns``."""
    match = re.search(rf"\b{quantity}\s+([^\s,;()]+)\s*(\([^)]*\))?", text)
    if match is None:
        example = '"bandwidth_unit": "GB/s"' if quantity == "bandwidth" else '"latency_unit": "ns"'
        raise FormatError(f"the unit of {quantity} is not stated; add it, such as {example}")
    if "2^30" in (match[2] or "") and "Gi" not in match[1]:
        raise FormatError(f"units {match[0]!r} contradict themselves; write GiB/s for 2^30 bytes per second")
    return match[1]
