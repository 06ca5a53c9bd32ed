"""A start without a solver: every chunk goes down a tree of shortest ways, each NPU fed over the least loaded link."""

from __future__ import annotations

from collections import Counter, defaultdict

from synthesizers.sccl.instance import Instance
from synthesizers.sccl.models import Send


def tree_sends(instance: Instance) -> tuple[list[Send], int]:
    """Return sends in `instance.least_steps` steps, and the rounds that they take together."""
    demand, topology, load = instance.demand, instance.topology, Counter[tuple[int, int]]()
    into: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for link, (source, target) in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        into[target].append((link, source))
    sends: list[Send] = []
    for chunk in demand.wanted:
        depth = instance.distance[list(demand.sources[chunk])].min(axis=0).tolist()
        fed = {npu for npu in range(topology.num_nodes) if depth[npu] == 0}
        # The farthest first: the way to one may serve others that are nearer.
        for target in sorted(demand.targets[chunk], key=lambda npu: -depth[npu]):
            npu = target
            while npu not in fed:
                fed.add(npu)
                step = depth[npu] - 1
                above = [(link, source) for link, source in into[npu] if depth[source] == step]
                link, source = min(
                    above,
                    key=lambda way: ((load[step, way[0]] + 1) / instance.per_round[way[0]], way[1] not in fed, way),
                )
                load[step, link] += 1
                sends.append((step, link, chunk))
                npu = source
    rounds = [1] * instance.least_steps
    for (step, link), chunks in load.items():
        rounds[step] = max(rounds[step], -(-chunks // instance.per_round[link]))
    return sorted(sends), sum(rounds)
