"""Flows: what each NPU sends over each link so that the last link of an AllToAll is done as early as can be.

The LP of multi-commodity flow, aggregated by source (N·|E| variables; Shahrokhi and Matula, J. ACM 37(2), 1990), solved
by `simulator.bounds.flow_search` from the side of its dual. Where translations carry a network onto itself one source
is solved for, all links of a column loaded alike, and its flow is carried to the others: convexity makes the mean of an
optimum's images an optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schedules import Collective
from simulator.bounds.cuts import joined_links
from simulator.bounds.flow_search import FlowSearch
from synthesizers.translations import Translations, translations_of
from topologies import Topology
from topologies.memory import require_memory

#: Sources × links, parallel ones joined, that the LP is solved for: a 12×12 mesh, in half a minute.
MOST_VARIABLES = 80_000

#: No link is faster, in bytes per second; parallel ones together may be.
_FASTEST = 10**18

#: How much the links' mean time counts beside the last one's: of flows done equally early the one with the fewest hops
#: is the easiest to schedule. The last link is later for it by this share of what the others gain at most.
_DETOURS = 0.01


@dataclass(frozen=True)
class Flows:
    """A fractional AllToAll.

    Attributes
    ----------
    sources : (S,) int64 array
        The members of groups of two and more, group by group.
    amount : (S, L) float64 array
        What each sends over each link, in units of what it sends to one NPU.
    share : (S,) float64 array
        That unit, as a share of the buffer.
    optimal : bool
        Whether the search proved them best.
    """

    sources: np.ndarray
    amount: np.ndarray
    share: np.ndarray
    optimal: bool


def variables_of(topology: Topology, collective: Collective) -> int:
    """Return how many variables the LP has: sources × links, or the links alone where one source stands for all."""
    src, dst, rate = joined_links(topology)
    everybody = len(collective.groups) == 1 and len(collective.groups[0]) == topology.num_npus
    if everybody and _translations(topology, src, dst, rate) is not None:
        return len(src)
    return len(src) * sum(len(group) for group in collective.groups if len(group) > 1)


def best_flows(topology: Topology, collective: Collective) -> Flows:
    """Return the flows of an AllToAll that load the links least for their bandwidth.

    Parameters
    ----------
    topology : Topology
        All members of a group reach each other.
    collective : Collective
        An AllToAll.
    """
    src, dst, rate = joined_links(topology)
    room = rate.astype(float) / float(max(rate, default=1))
    groups = [np.array(group) for group in collective.groups if len(group) > 1]
    sources = np.concatenate(groups) if groups else np.zeros(0, np.int64)
    share = np.repeat([1.0 / len(group) for group in groups], [len(group) for group in groups])
    require_memory(
        len(sources) * topology.num_links * 24, f"flows of {len(sources)} NPUs over {topology.num_links} links"
    )
    wanted = np.zeros((len(sources), topology.num_nodes))
    first = 0
    for group in groups:
        wanted[first : first + len(group), group] = 1.0 / len(group)
        first += len(group)
    wanted[np.arange(len(sources)), sources] = 0.0
    moves = _translations(topology, src, dst, rate) if len(sources) == topology.num_npus == len(groups[0]) else None
    if not len(sources):
        return Flows(sources, np.zeros((0, topology.num_links)), share, True)
    if moves is None:
        search = FlowSearch(topology.num_nodes, src, dst, room, sources, wanted, detours=_DETOURS)
        optimal = search.run(1.0 / room)[1]
        joined = search.flows()
    else:
        alike = moves.column_of(len(src))
        zero = np.zeros(1, np.int64)
        search = FlowSearch(topology.num_nodes, src, dst, room, zero, wanted[sources == 0], alike, _DETOURS)
        optimal = search.run(1.0 / room)[1]
        image = moves.links[moves.add(src, sources[:, None]), alike]
        joined = np.zeros((len(sources), len(src)))
        np.put_along_axis(joined, image, np.broadcast_to(search.flows(), joined.shape), axis=1)
    # Parallel links carry in proportion to their bandwidth.
    key = src * topology.num_nodes + dst
    pair = np.searchsorted(key, topology.src.astype(np.int64) * topology.num_nodes + topology.dst)
    part = topology.bytes_per_s / rate[pair].astype(float)
    return Flows(sources, joined[:, pair] * part / share[:, None], share, optimal)


def _translations(topology: Topology, src: np.ndarray, dst: np.ndarray, rate: np.ndarray) -> Translations | None:
    """Return the translations of a network with its parallel links joined, whatever their latencies."""
    if topology.num_switches or max(rate, default=0) > _FASTEST:
        return None
    gbps = rate.astype(float) / 1e9
    return translations_of(Topology(topology.num_npus, src, dst, np.zeros(len(src)), gbps))
