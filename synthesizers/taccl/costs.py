"""Costs of sends in whole picoseconds, as the simulator counts them, or as a profile says.

A send over a wire starts its first link at once and each further link an offset later; every link, a port, is held for
its own time. So planned times are those of the simulator (`simulator.link_model`): a plan that respects all ports takes
no longer there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.link_model import LinkModel
from synthesizers.taccl.wires import Wires
from topologies.exceptions import OptionError
from topologies.readers.taccl_profile import Profile

#: (port, offset of its start from the send's, time that it is held), in picoseconds.
Hold = tuple[int, int, int]


@dataclass(frozen=True)
class Cost:
    """What a send costs.

    Attributes
    ----------
    time : int
        From start to arrival.
    holds : tuple of (port, offset, time held)
        In the order of the route.
    """

    time: int
    holds: tuple[Hold, ...]


@dataclass(frozen=True)
class Costs:
    """Costs of wires.

    Parameters
    ----------
    wires : Wires
    model : LinkModel
    extra_ports : tuple of tuples of int
        Ports of each wire beyond its links: those of the switches that a sketch draws round NPUs.
    given : tuple of (α, β), optional
        From a profile: picoseconds of each wire, β for a chunk of `unit` bytes.
    unit : int
    """

    wires: Wires
    model: LinkModel
    extra_ports: tuple[tuple[int, ...], ...] = ()
    given: tuple[tuple[int, int], ...] | None = None
    unit: int = 1
    _known: dict[tuple[int, int], Cost] = field(default_factory=dict, repr=False, compare=False)

    def of(self, wire: int, nbytes: int) -> Cost:
        """Return the cost of sending `nbytes` over a wire, as one message."""
        cost = self._known.get((wire, nbytes))
        if cost is None:
            cost = self._known[wire, nbytes] = self._worked_out(wire, nbytes)
        return cost

    def alpha(self, wire: int) -> int:
        """Return the latency of a wire in picoseconds."""
        return self.of(wire, 0).time

    def _worked_out(self, wire: int, nbytes: int) -> Cost:
        """Return the cost, by the rules of the link model."""
        topology, blocking = self.wires.topology, self.model.latency == "blocking"
        extra = self.extra_ports[wire] if self.extra_ports else ()
        if self.given is not None:
            alpha, beta = self.given[wire]
            wire_time = -(-beta * nbytes // max(self.unit, 1))
            held = alpha + wire_time if blocking else wire_time
            links = tuple((link, 0, held) for link in self.wires.routes[wire])
            return Cost(alpha + wire_time, (*links, *((port, 0, wire_time) for port in extra)))
        holds: list[Hold] = []
        begin = end = before = 0
        for place, link in enumerate(self.wires.routes[wire]):
            latency = int(topology.latency_ps[link])
            on_wire = -(-nbytes * 10**12 // int(topology.bytes_per_s[link]))
            if place == 0:
                begin = 0
            elif self.model.switching == "store_and_forward":
                begin = end
            else:
                begin = max(begin + before, end - on_wire)
            end = begin + latency + on_wire
            before = latency
            holds.append((link, begin, latency + on_wire if blocking else on_wire))
        # A sketched switch is held for β, as in TACCL: what a port carries, not what a message takes.
        beta = max(-(-nbytes * 10**12 // int(topology.bytes_per_s[link])) for link in self.wires.routes[wire])
        return Cost(end, (*holds, *((port, 0, beta) for port in extra)))


def profile_costs(profile: Profile, wires: Wires, box: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return (α, β) of each wire in picoseconds, as a profile says.

    Inside a box the wires are told apart by bandwidth, the fastest being the first of the profile's lists; or by the
    matrices of a custom profile.

    Raises
    ------
    OptionError
        A profile for other boxes, or for other sorts of links than the network has.
    """
    gpus, npus = profile.gpus_per_node, len(box)
    if gpus != npus // (max(box) + 1):
        raise OptionError(f"profile {profile.name:.60}: gpus_per_node is {gpus}; expected {npus // (max(box) + 1)}, as "
                          f"{wires.topology.name} has nodes of so many: give the profile of this machine")  # fmt: skip
    local = [wire for wire in range(len(wires)) if wires.src[wire] // gpus == wires.dst[wire] // gpus]
    speeds = sorted({wires.bandwidth_gbps[wire] for wire in local}, reverse=True)
    if not profile.links and len(speeds) != len(profile.node_betas_list):
        raise OptionError(f"profile {profile.name:.60}: {len(profile.node_betas_list)} sorts of links in "
                          f"node_betas_list; expected {len(speeds)}, as {wires.topology.name} has so many bandwidths "
                          "inside a node")  # fmt: skip
    found: list[tuple[int, int]] = []
    for wire in range(len(wires)):
        a, b = wires.src[wire], wires.dst[wire]
        if a // gpus != b // gpus:
            beta, both = profile.remote_beta, profile.remote_invbw
        elif profile.links:
            beta, both = profile.betas[b % gpus][a % gpus], profile.invbws[b % gpus][a % gpus]
        else:
            sort = speeds.index(wires.bandwidth_gbps[wire])
            beta, both = profile.node_betas_list[sort], profile.node_invbws_list[sort]
        if beta <= 0:
            raise OptionError(f"profile {profile.name}: no cost for the wire from GPU {a} to GPU {b}; expected a β of "
                              "more than 0")  # fmt: skip
        found.append((round(max(both - beta, 0.0) * 1e6), round(beta * 1e6)))
    return tuple(found)
