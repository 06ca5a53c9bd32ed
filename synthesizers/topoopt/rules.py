"""The wirings that a search chooses from: how the finder may split a server's ports, for one demand.

The paper's finder splits ports once, by bytes (NSDI 2023, section 4.2). Bytes do not tell how many links they will
cross, and a port too many for rings is a port too few for cables; so a search lays out every split, by both ways of
sharing ring ports to groups, and the authors' own wiring, and lets the estimate choose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from synthesizers.topoopt.estimate import Estimator
from synthesizers.topoopt.permutations import Variant
from synthesizers.topoopt.ring_circuits import circuits
from synthesizers.topoopt.wiring import SPLITS, Shares, Split, Wiring, find_topology
from topologies import Demand, Fabric, Topology


class Rule(NamedTuple):
    """How a fabric is wired for a demand: what `find_topology` takes."""

    variant: Variant
    split: Split | int
    shares: Shares


class Wired(NamedTuple):
    """A wiring, the rule that it follows, what estimates times on it, and a time in µs that no estimate is below."""

    rule: Rule
    wiring: Wiring
    estimator: Estimator
    at_least_us: float


def rules_of(ports: int, variants: Sequence[Variant]) -> tuple[Rule, ...]:
    """Return the rules for a fabric of so many ports; both of the paper's readings come first.

    Parameters
    ----------
    ports : int
    variants : sequence of str
        ``released`` counts on an even number of ports only, where there are others.
    """
    found: list[Rule] = []
    for variant in variants:
        if variant == "released":
            if ports % 2 == 0 or len(variants) == 1:
                found.append(Rule(variant, "sent", "ceiling"))
            continue
        found += [Rule(variant, split, "ceiling") for split in reversed(SPLITS)]
        found += [Rule(variant, d_a, shares) for shares in ("level", "ceiling") for d_a in range(1, ports + 1)]
    return tuple(found)


def wirings(fabric: Fabric, demand: Demand, rules: Sequence[Rule]) -> Iterator[Wired]:
    """Yield what the rules make of a demand, each network once, those of the least `at_least_us` first.

    Parameters
    ----------
    fabric : Fabric
    demand : Demand
    rules : sequence of Rule
    """
    seen: dict[Topology, Wired] = {}
    for rule in rules:
        wiring = find_topology(fabric, demand, *rule)
        if wiring.topology not in seen:
            estimator = Estimator(wiring.topology, circuits(wiring))
            seen[wiring.topology] = Wired(rule, wiring, estimator, estimator.at_least_us(demand))
    yield from sorted(seen.values(), key=lambda each: each.at_least_us)
