"""A random wiring of rings and cables: what a search that knows nothing of TopoOpt's rules would try."""

from __future__ import annotations

import numpy as np

from synthesizers.topoopt.permutations import totient_perms
from synthesizers.topoopt.wiring import GroupRings, Wiring
from topologies import Demand, Fabric


def random_wiring(fabric: Fabric, demand: Demand, rng: np.random.Generator) -> Wiring:
    """Return rings over all servers with random jumps, and random cables between servers with the ports that are left.

    The number of rings is uniform over 1 … ports, at least one so that all servers are joined; jumps are drawn without
    regard to the demand, and so is each round of cables, a random matching of all servers.

    Parameters
    ----------
    fabric : Fabric
        Two servers or more.
    demand : Demand
        Its AllReduce group of all servers, if there is one, is given the rings.
    rng : numpy.random.Generator
    """
    servers = fabric.num_npus
    every = np.arange(servers)
    pool = np.array(totient_perms(servers))
    rings = int(rng.integers(1, fabric.ports + 1))
    jumps = rng.choice(pool, rings, replace=rings > len(pool)).tolist()
    src, dst = [np.tile(every, rings)], [np.concatenate([(every + jump) % servers for jump in jumps])]
    matched = []
    for _ in range(fabric.ports - rings):
        order = rng.permutation(servers)[: servers // 2 * 2].reshape(-1, 2)
        matched.append(tuple((int(a), int(b)) for a, b in np.sort(order, axis=1)))
        src.append(order.ravel())
        dst.append(order[:, ::-1].ravel())
    links = np.arange(rings * servers).reshape(rings, servers)
    cables = rings * servers + np.arange(2 * sum(map(len, matched))).reshape(-1, 2)
    whole = GroupRings(tuple(range(servers)), tuple(jumps), links)
    is_group = [len(group) == servers for group in demand.groups]
    none = np.zeros((0, servers), np.int64)
    first = is_group.index(True) if any(is_group) else -1
    groups = tuple(
        GroupRings(tuple(range(servers)), tuple(jumps), links) if index == first else GroupRings(tuple(group), (), none)
        for index, group in enumerate(demand.groups)
    )
    topology = fabric.wired(np.concatenate(src), np.concatenate(dst), f"{fabric.name}, random")
    return Wiring(fabric, topology, "paper", (rings, fabric.ports - rings), groups, None if any(is_group) else whole,
                  tuple(matched), cables)  # fmt: skip
