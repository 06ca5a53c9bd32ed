"""The networks of the study: TopoOpt's fabric and what the same money, or the same ports, would buy instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from topologies import Topology, fabric, fat_tree, kautz, random_regular, switch, torus
from topologies.costs import Costs

if TYPE_CHECKING:
    from experiments.topoopt_study.settings import Setting


@dataclass(frozen=True)
class Network:
    """A network of a setting.

    Attributes
    ----------
    topology : Topology or Fabric
        A fabric is wired by the search.
    usd : float
        What it costs in all.
    """

    topology: Topology
    usd: float


def network_of(setting: Setting, costs: Costs) -> Network:
    """Return the network that a setting names."""
    return NETWORKS[setting.network].build(setting, costs)


@dataclass(frozen=True)
class _Kind:
    """What a network is called in tables, and how it is built."""

    label: str
    build: Callable[[Setting, Costs], Network]


def _unwired(setting: Setting, costs: Costs) -> Network:
    """Return TopoOpt's fabric, on a patch panel."""
    found = fabric(setting.servers, setting.ports, setting.port_gbps, setting.latency_us)
    return Network(found, costs.fabric_usd(found))


def _equal_tree(oversubscription: int) -> Callable[[Setting, Costs], Network]:
    """Return the builder of the fat-tree that costs as much as TopoOpt's fabric."""

    def build(setting: Setting, costs: Costs) -> Network:
        budget = _unwired(setting, costs).usd / setting.servers
        gbps = costs.cost_equal_gbit_per_s(budget, oversubscription) / 8
        tree = fat_tree(setting.servers, gbps, setting.latency_us / 2, oversubscription)
        return Network(tree, budget * setting.servers)

    return build


def _ideal(setting: Setting, costs: Costs) -> Network:
    """Return one switch with all the bandwidth of a server's ports in one."""
    total = setting.ports * setting.port_gbps
    middle = switch(setting.servers, total, setting.latency_us / 2)
    return Network(middle, costs.ideal_switch_usd(setting.servers, 8 * total))


def _direct(build: Callable[[Setting], Topology]) -> Callable[[Setting, Costs], Network]:
    """Return the builder of a network of cables between servers, with as many ports."""

    def priced(setting: Setting, costs: Costs) -> Network:
        found = build(setting)
        return Network(found, costs.direct_usd(found))

    return priced


def grid_of(servers: int, ports: int) -> tuple[int, ...]:
    """Return the sizes of the most even torus of so many servers with at most so many ports each."""
    sizes = [1] * max(ports // 2, 1)
    rest, factors = servers, []
    for prime in range(2, servers + 1):
        while rest % prime == 0:
            factors.append(prime)
            rest //= prime
    for factor in sorted(factors, reverse=True):
        sizes[sizes.index(min(sizes))] *= factor
    return tuple(sorted((size for size in sizes if size > 1), reverse=True))


def _regular(setting: Setting) -> Topology:
    """Return a random regular graph of the setting's seed."""
    return random_regular(setting.servers, setting.ports, setting.port_gbps, setting.latency_us, seed=setting.seed)


def _one_ring(setting: Setting) -> Topology:
    """Return a ring whose neighbours are joined by all ports, half of them each way."""
    ahead, back = [1] * ((setting.ports + 1) // 2), [setting.servers - 1] * (setting.ports // 2)
    unwired = fabric(setting.servers, setting.ports, setting.port_gbps, setting.latency_us)
    src = np.tile(np.arange(setting.servers), setting.ports)
    dst = (src + np.repeat(ahead + back, setting.servers)) % setting.servers
    return unwired.wired(src, dst, f"ring of {setting.servers}")


NETWORKS: Mapping[str, _Kind] = MappingProxyType({
    "topoopt": _Kind("TopoOpt", _unwired),
    "topoopt_released": _Kind("TopoOpt (as released)", _unwired),
    "topoopt_random": _Kind("Random search", _unwired),
    "matching": _Kind("Demand-only matching", _unwired),
    "fat_tree": _Kind("Fat-tree, equal cost", _equal_tree(1)),
    "oversubscribed": _Kind("Fat-tree 2:1, equal cost", _equal_tree(2)),
    "ideal_switch": _Kind("Ideal switch", _ideal),
    "random_regular": _Kind("Random regular", _direct(_regular)),
    "kautz": _Kind("Kautz", _direct(lambda s: kautz(s.servers, s.ports, s.port_gbps, s.latency_us, regular=True))),
    "torus": _Kind("Torus", _direct(lambda s: torus(grid_of(s.servers, s.ports), s.port_gbps, s.latency_us))),
    "ring": _Kind("Single ring", _direct(_one_ring)),
})  # fmt: skip
