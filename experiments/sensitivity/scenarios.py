"""Scenarios: in what another network, link model or size differs from the one that schedules were made for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from simulator import LATENCIES, SWITCHINGS, LinkModel
from topologies import OptionError, Topology, format_bytes, scaled

#: The scenario that all others are compared with.
AS_RUN = "as run"

#: Sizes are divided and multiplied by this, where none are given.
_FACTOR = 16

#: Changes are shares in steps of this.
_PARTS = 10**6


@dataclass(frozen=True)
class Scenario:
    """One change of the model; schedules stay what they are.

    Attributes
    ----------
    name : str
        What tables call it.
    latency, bandwidth : float
        Factors of all links; where `draw` is given, the largest share by which each link may differ either way.
    draw : (int, int) or None
        Seed and number of a draw in which each link has factors of its own, the same for all schedules on a network.
    other_latency, other_switching : bool
        Whether the link model is the other one.
    size : int or None
        Bytes instead of those of the problem.
    times, over : int
        Factor and divisor of the size of the problem, rounded up to a byte.
    """

    name: str
    latency: float = 1.0
    bandwidth: float = 1.0
    draw: tuple[int, int] | None = None
    other_latency: bool = False
    other_switching: bool = False
    size: int | None = None
    times: int = 1
    over: int = 1

    def network(self, topology: Topology) -> Topology:
        """Return the network, by the name that it has.

        Raises
        ------
        TopologyError
            A link becomes slower or faster than one can be.
        """
        latency: float | np.ndarray = self.latency
        bandwidth: float | np.ndarray = self.bandwidth
        if self.draw is not None:
            rng = np.random.default_rng([*self.draw, int(topology.fingerprint, 16)])
            latency, bandwidth = (_drawn(rng, share, topology.num_links) for share in (self.latency, self.bandwidth))
        elif latency == bandwidth == 1:
            return topology
        return scaled(topology, latency, bandwidth, name=topology.name)

    def link_model(self, model: LinkModel) -> LinkModel:
        """Return the link model."""
        return LinkModel(
            _other(LATENCIES, model.latency) if self.other_latency else model.latency,
            _other(SWITCHINGS, model.switching) if self.other_switching else model.switching,
        )

    def nbytes(self, size: int) -> int:
        """Return the size."""
        return -(-size * self.times // self.over) if self.size is None else self.size


def scenarios(
    latency_change: float = 0.2,
    bandwidth_change: float = 0.2,
    sizes: Sequence[int] | None = None,
    draws: int = 5,
    seed: int = 0,
) -> list[Scenario]:
    """Return the scenarios, the unchanged one first.

    They are: latencies, bandwidths or both less and more by a share; draws in which each link differs from its own by
    up to that share; the other latency model and the other switching; other sizes.

    Parameters
    ----------
    latency_change, bandwidth_change : float
        Shares, above 0 and below 1.
    sizes : sequence of int, optional
        Bytes; by default a sixteenth of each problem's and sixteen times as much.
    draws, seed : int
        Draws, and what they come from.

    Raises
    ------
    OptionError
        A share of nothing or of all.
    """
    for name, share in (("latency", latency_change), ("bandwidth", bandwidth_change)):
        if not 1 / _PARTS <= share <= 1 - 1 / _PARTS:
            raise OptionError(f"{name} change {share:.6%}: expected more than 0 % and less than 100 %")
    found = [Scenario(AS_RUN)]
    steps = [(round(1 - share, 6), 1.0, round(1 + share, 6)) for share in (latency_change, bandwidth_change)]
    changes = sorted(product(*steps), key=lambda pair: ((pair[0] != 1) + (pair[1] != 1), pair[1] != 1))
    for latency, bandwidth in changes[1:]:
        parts = [f"latency ×{latency:g}"] if latency != 1 else []
        parts += [f"bandwidth ×{bandwidth:g}"] if bandwidth != 1 else []
        found.append(Scenario(" and ".join(parts), latency, bandwidth))
    found += [
        Scenario(f"uneven links {draw}", latency_change, bandwidth_change, (seed, draw)) for draw in range(1, draws + 1)
    ]
    found += [
        Scenario("other latency model", other_latency=True),
        Scenario("other switching", other_switching=True),
    ]
    if sizes is None:
        return [*found, Scenario(f"size ÷{_FACTOR}", over=_FACTOR), Scenario(f"size ×{_FACTOR}", times=_FACTOR)]
    return found + [Scenario(f"size {format_bytes(size)}", size=size) for size in sizes]


def _drawn(rng: np.random.Generator, share: float, count: int) -> np.ndarray:
    """Return (count,) factors, each of a millionth more or less by up to a share."""
    most = round(share * _PARTS)
    return rng.integers(_PARTS - most, _PARTS + most, count, endpoint=True) / _PARTS


def _other(words: Sequence[str], word: str) -> str:
    """Return the one of two words that is not this one."""
    return words[1 - words.index(word)]
