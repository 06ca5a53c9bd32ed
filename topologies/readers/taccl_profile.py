"""Link profiles of TACCL and their files, read as published; and the networks that they describe.

A profile gives the cost of one chunk in µs: ``node_betas_list`` (β) and ``node_invbws_list`` (α + β) for each sort of
link inside a node, fastest first, or the matrices ``links``, ``betas``, ``invbws`` (``[to][from]``) of a custom node;
and ``remote_beta`` and ``remote_invbw`` between nodes. What counts is α + β, so α is the difference of the two.
"""

from __future__ import annotations

import itertools
import os
from typing import Annotated

import msgspec
import numpy as np

from topologies.exceptions import OptionError
from topologies.readers.json_struct import parse_struct, read_struct
from topologies.topology import Topology

#: Bytes of the chunk for which `profile_topology` turns costs into bandwidths.
CHUNK_BYTES = 10**6

#: Costs beyond this, ten seconds for a chunk, are a mistake; times of whole schedules stay within 64 bits.
_MOST_US = 1e7

# Which links of an NDv2 node are double, which single, in the numbering of the published code.
_NDV2_DOUBLE = ((0, 1), (0, 4), (1, 3), (2, 3), (2, 6), (4, 5), (5, 7), (6, 7))
_NDV2_SINGLE = ((0, 2), (0, 3), (1, 2), (1, 5), (3, 7), (4, 6), (4, 7), (5, 6))


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link profile; the fields are the keys of its file, costs are µs per chunk."""

    name: str
    gpus_per_node: Annotated[int, msgspec.Meta(ge=1)]
    alpha: float = 0.0
    node_betas_list: list[float] = []
    node_invbws_list: list[float] = []
    links: list[list[Annotated[int, msgspec.Meta(ge=0)]]] = []
    betas: list[list[float]] = []
    invbws: list[list[float]] = []
    nics_per_node: Annotated[int, msgspec.Meta(ge=0)] = 1
    remote_alpha: float = 0.0
    remote_beta: float = 0.0
    remote_invbw: float = 0.0


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile of a JSON file.

    Raises
    ------
    OptionError
        A file that cannot be read, an unknown key, a value of the wrong type, lists that do not fit together, a cost
        that cannot be.
    """
    return _checked(read_struct(path, Profile, "profile"), path)


def parse_profile(text: str, path: str) -> Profile:
    """Return the profile of a JSON text; `path` names it in messages.

    Raises
    ------
    OptionError
        As `read_profile`.
    """
    return _checked(parse_struct(text, Profile, f"profile {path}", "profile"), path)


def _checked(profile: Profile, path: str | os.PathLike[str]) -> Profile:
    """Return a profile whose lists fit together and whose costs can be."""
    if len(profile.node_betas_list) != len(profile.node_invbws_list):
        raise OptionError(f"profile {path}: {len(profile.node_betas_list)} node_betas_list for "
                          f"{len(profile.node_invbws_list)} node_invbws_list; expected as many")  # fmt: skip
    if not profile.node_betas_list and not profile.links:
        raise OptionError(f"profile {path}: no costs inside a node; give node_betas_list and node_invbws_list, or the "
                          "matrices links, betas and invbws of a custom node")  # fmt: skip
    for name in ("links", "betas", "invbws"):
        matrix = getattr(profile, name)
        size = profile.gpus_per_node
        if profile.links and (len(matrix) != size or any(len(row) != size for row in matrix)):
            raise OptionError(f"profile {path}: {name} is not a matrix of {size} × {size}, as gpus_per_node says")
    matrices = itertools.chain(*profile.betas, *profile.invbws)
    lists = itertools.chain(profile.node_betas_list, profile.node_invbws_list)
    remote = (profile.remote_alpha, profile.remote_beta, profile.remote_invbw)
    for cost in itertools.chain(lists, matrices, remote, (profile.alpha,)):
        if not 0 <= cost <= _MOST_US:
            raise OptionError(f"profile {path}: a cost of {cost:g}; expected from 0 to {_MOST_US:g} µs per chunk")
    pairs = [
        ("node_invbws_list", *each) for each in zip(profile.node_betas_list, profile.node_invbws_list, strict=True)
    ]
    for name, beta, invbw in (*pairs, ("remote_invbw", profile.remote_beta, profile.remote_invbw)):
        if invbw < beta:
            raise OptionError(
                f"profile {path}: {name} is α + β, and {invbw:g} is less than the β of {beta:g} beside it"
            )
    return profile


def profile_topology(profile: Profile, machine: str = "custom", boxes: int = 1) -> Topology:
    """Return the network of a profile, on which a chunk of `CHUNK_BYTES` costs what the profile says.

    Parameters
    ----------
    profile : Profile
    machine : {"ndv2", "dgx2", "hub_and_spoke", "custom"}
        The node: NDv2's cube mesh, sixteen GPUs round an NVSwitch, a link between any two GPUs, or the profile's own
        matrices.
    boxes : int
        Nodes; several are joined by their NICs round one network switch, each shared by as many GPUs.

    Raises
    ------
    OptionError
        A profile that does not fit the machine.
    """
    gpus = profile.gpus_per_node
    local = _local_links(profile, machine)
    around_switch = machine == "dgx2"
    rows: list[tuple[int, int, float, float]] = []
    first_switch = gpus * boxes
    for box in range(boxes):
        base = box * gpus
        for a, b, beta, invbw in local:
            rows.append((base + a, base + b, *_figures(beta, invbw)))
        if around_switch:
            beta, invbw = profile.node_betas_list[0], profile.node_invbws_list[0]
            latency, bandwidth = _figures(beta, invbw)
            for gpu in range(gpus):
                rows.append((base + gpu, first_switch + box, latency / 2, bandwidth))
                rows.append((first_switch + box, base + gpu, latency / 2, bandwidth))
    switches = boxes if around_switch else 0
    if boxes > 1:
        nics = max(profile.nics_per_node, 1)
        latency, bandwidth = _figures(profile.remote_beta, profile.remote_invbw)
        first_nic = first_switch + switches
        network = first_nic + nics * boxes
        for box in range(boxes):
            for gpu in range(gpus):
                nic = first_nic + box * nics + gpu * nics // gpus
                rows.append((box * gpus + gpu, nic, 0.0, bandwidth))
                rows.append((nic, box * gpus + gpu, 0.0, bandwidth))
            for nic in range(first_nic + box * nics, first_nic + (box + 1) * nics):
                # The whole latency lies where a NIC sends: a chunk holds it for α + β, as TACCL counts.
                rows.append((nic, network, latency, bandwidth))
                rows.append((network, nic, 0.0, bandwidth))
        switches += nics * boxes + 1
    return Topology.from_links(gpus * boxes, rows, num_switches=switches, name=f"{profile.name} x {boxes}")


def _figures(beta: float, invbw: float) -> tuple[float, float]:
    """Return (latency in µs, bandwidth in GB/s) of a link from β and α + β of a chunk."""
    if beta <= 0:
        raise OptionError(f"a link with a β of {beta:g} has no bandwidth; expected more than 0 µs per chunk")
    return max(invbw - beta, 0.0), CHUNK_BYTES / beta / 1e3


def _local_links(profile: Profile, machine: str) -> list[tuple[int, int, float, float]]:
    """Return (from, to, β, α + β) of the links inside a node."""
    if machine == "custom":
        links = np.array(profile.links)
        if links.size == 0:
            raise OptionError(f"profile {profile.name}: a custom node needs the matrices links, betas and invbws")
        return [(int(b), int(a), profile.betas[a][b], profile.invbws[a][b])
                for a, b in np.argwhere(links > 0).tolist() for _ in range(links[a, b])]  # fmt: skip
    sorts = list(zip(profile.node_betas_list, profile.node_invbws_list, strict=True))
    wanted = {"ndv2": 2, "dgx2": 1, "hub_and_spoke": 1}
    if machine not in wanted:
        raise OptionError(f"unknown machine {machine!r}; expected one of {', '.join((*wanted, 'custom'))}")
    if len(sorts) != wanted[machine] or (machine == "ndv2" and profile.gpus_per_node != 8):
        raise OptionError(f"profile {profile.name}: {len(sorts)} sorts of links, {profile.gpus_per_node} GPUs do not "
                          f"make a node of {machine}")  # fmt: skip
    if machine == "dgx2":
        return []
    if machine == "hub_and_spoke":
        gpus = range(profile.gpus_per_node)
        return [(a, b, *sorts[0]) for a in gpus for b in gpus if a != b]
    return [(*ends, *sorts[sort]) for sort, pairs in enumerate((_NDV2_DOUBLE, _NDV2_SINGLE))
            for a, b in pairs for ends in ((a, b), (b, a))]  # fmt: skip
