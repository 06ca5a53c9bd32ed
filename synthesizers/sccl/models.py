"""SCCL's constraints (arXiv 2008.08708, section 3.4) for CP-SAT: who holds what after each step, and what links carry.

Chunks that several want are modelled one by one, each received once by each NPU at most. Where every chunk has one
taker, copies are of no use and the chunks of one source differ only in where they end: they are a flow of whole chunks
through the steps, which falls apart into the ways of the single chunks. That takes the symmetry among chunks away.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from synthesizers.sccl.instance import Instance

#: A chunk that crosses a link in a step: (step, link, chunk).
Send = tuple[int, int, int]


class Steps:
    """The rounds of each step, common to both models."""

    def __init__(self, instance: Instance, steps: int, rounds: int) -> None:
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self.instance, self.steps = instance, steps
        # A round at least: a step that nothing is sent in could be left out.
        self.rounds = [self.model.new_int_var(1, rounds, "") for _ in range(steps)]
        self.total = sum(self.rounds)
        self.model.add(self.total <= rounds)
        self.carried: dict[tuple[int, int], list[Any]] = defaultdict(list)

    def close(self) -> None:
        """Add that no link carries more than its rounds allow, and ask for the fewest rounds."""
        for (link, step), sent in sorted(self.carried.items()):
            self.model.add(sum(sent) <= self.instance.per_round[link] * self.rounds[step])
        self.model.add(self.total >= self.instance.rounds_at_least(self.steps))
        self.model.minimize(self.total)

    def sends(self, solver: Any) -> list[Send]:
        """Return what a solution sends."""
        raise NotImplementedError


class Copied(Steps):
    """Chunks one by one."""

    def __init__(self, instance: Instance, steps: int, rounds: int) -> None:
        super().__init__(instance, steps, rounds)
        model, topology, demand = self.model, instance.topology, instance.demand
        links = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
        self.sent: dict[Send, Any] = {}
        for chunk in demand.wanted:
            sources = list(demand.sources[chunk])
            targets = demand.targets[chunk]
            reach = instance.distance[sources].min(axis=0).tolist()
            held: dict[int, Any] = {npu: int(npu in sources) for npu in range(topology.num_nodes)}
            for step in range(steps):
                into: dict[int, list[Any]] = defaultdict(list)
                for link, (source, target) in enumerate(links):
                    # Not before it can be there, not to where it was, and not so late that it serves nobody.
                    left = int(instance.distance[target, list(targets)].min())
                    if reach[source] > step or target in sources or step + 1 + left > steps:
                        continue
                    sent = self.sent[step, link, chunk] = model.new_bool_var("")
                    into[target].append(sent)
                    self.carried[link, step].append(sent)
                    if not isinstance(held[source], int):
                        model.add_implication(sent, held[source])
                for npu, received in into.items():
                    after = model.new_bool_var("")
                    model.add(sum(received) + held[npu] == after)
                    held[npu] = after
            for npu in targets:
                model.add(held[npu] == 1)
        self.close()

    def sends(self, solver: Any) -> list[Send]:
        """Return what a solution sends."""
        return sorted(send for send, taken in self.sent.items() if solver.value(taken))


class Flows(Steps):
    """All chunks of one source as one flow; each chunk has one holder and one taker."""

    def __init__(self, instance: Instance, steps: int, rounds: int) -> None:
        super().__init__(instance, steps, rounds)
        model, topology, demand = self.model, instance.topology, instance.demand
        links = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
        self.chunks: dict[int, dict[int, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )  # source → target → chunks
        for chunk in demand.wanted:
            self.chunks[demand.sources[chunk][0]][demand.targets[chunk][0]].append(chunk)
        self.sent: dict[tuple[int, int, int], Any] = {}  # source, step, link → chunks
        for origin, wanted in sorted(self.chunks.items()):
            supply = sum(map(len, wanted.values()))
            reach = instance.distance[origin].tolist()
            held: dict[int, Any] = {npu: supply if npu == origin else 0 for npu in range(topology.num_nodes)}
            for step in range(steps):
                change: defaultdict[int, Any] = defaultdict(int)
                leaving: dict[int, list[Any]] = defaultdict(list)
                for link, (source, target) in enumerate(links):
                    left = int(instance.distance[target, list(wanted)].min())
                    if reach[source] > step or target == origin or step + 1 + left > steps:
                        continue
                    sent = self.sent[origin, step, link] = model.new_int_var(0, supply, "")
                    self.carried[link, step].append(sent)
                    leaving[source].append(sent)
                    change[source] -= sent
                    change[target] += sent
                for npu, out in leaving.items():
                    model.add(sum(out) <= held[npu])
                for npu, difference in change.items():
                    after = model.new_int_var(0, supply, "")
                    model.add(after == held[npu] + difference)
                    held[npu] = after
            for npu, amount in held.items():
                model.add(amount == len(wanted.get(npu, ())))
        self.close()

    def sends(self, solver: Any) -> list[Send]:
        """Return what a solution sends, as ways of single chunks, followed back from where they end."""
        topology, found = self.instance.topology, []
        links = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
        for origin, wanted in sorted(self.chunks.items()):
            arriving: dict[tuple[int, int], list[int]] = defaultdict(list)  # (NPU, step) → links, one for each chunk
            for (source, step, link), amount in self.sent.items():
                if source == origin:
                    arriving[links[link][1], step] += [link] * solver.value(amount)
            for target, chunks in sorted(wanted.items()):
                for chunk in chunks:
                    npu = target
                    for step in range(self.steps - 1, -1, -1):
                        # What arrives last leaves last: what is left is held, and enough of it.
                        if arriving[npu, step]:
                            link = arriving[npu, step].pop()
                            found.append((step, link, chunk))
                            npu = links[link][0]
        return sorted(found)


def model_of(instance: Instance, steps: int, rounds: int) -> Steps:
    """Return the smaller of the models that an instance allows, for so many steps and rounds at most."""
    demand = instance.demand
    alone = all(len(demand.sources[chunk]) == len(demand.targets[chunk]) == 1 for chunk in demand.wanted)
    return (Flows if alone else Copied)(instance, steps, rounds)


def num_variables(instance: Instance, steps: int) -> int:
    """Return about how many variables the model has."""
    demand = instance.demand
    alone = all(len(demand.sources[chunk]) == len(demand.targets[chunk]) == 1 for chunk in demand.wanted)
    flows = len({demand.sources[chunk] for chunk in demand.wanted}) if alone else len(demand.wanted)
    return flows * instance.topology.num_links * max(steps, 1)
