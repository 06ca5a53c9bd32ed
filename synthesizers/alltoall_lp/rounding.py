"""Rounding: fractional flows of an AllToAll as routes of whole pieces.

With P pieces for each pair, a source's flow times P is rounded link by link, up or down, to a flow of whole pieces: one
exists because networks with whole capacities and demands have whole flows. Which links are rounded up is a min-cost
flow, cheap where the sources before have so far sent less than their fractions, so that errors cancel rather than add
up. A whole flow is then walked back from each target, a piece at a time, which gives the pieces their routes.
"""

from __future__ import annotations

import numba
import numpy as np

from synthesizers.alltoall_lp.flows import Flows
from topologies import Topology
from topologies.exceptions import SynthesisError

#: What a solver leaves on a link that should be empty, or lacks on one that should be full.
_NOISE = 1e-6

#: Costs are whole numbers: a link's share of a piece too much or too little in as many steps.
_COST = 1000


def whole_flows(topology: Topology, flows: Flows, targets: list[np.ndarray], pieces: int) -> np.ndarray:
    """Return (S, L) int64: pieces of each source over each link; each target of a source gets `pieces`.

    Parameters
    ----------
    topology : Topology
    flows : Flows
    targets : list of (T,) int arrays
        The NPUs that each source sends to.
    pieces : int

    Raises
    ------
    SynthesisError
        The flows do not reach the targets.
    """
    whole = np.floor(flows.amount * pieces + _NOISE).astype(np.int64)
    behind = np.zeros(topology.num_links)  # what links should have carried so far, less what they have
    for place, source in enumerate(flows.sources.tolist()):
        exact, floor = flows.amount[place] * pieces, whole[place]
        rest = exact - floor
        behind += rest * flows.share[place]
        open_ = np.flatnonzero(rest > _NOISE)
        due = np.zeros(topology.num_nodes, np.int64)
        due[targets[place]] = -pieces
        due[source] = pieces * len(targets[place])
        np.add.at(due, topology.dst, floor)
        np.add.at(due, topology.src, -floor)
        if not due.any():
            continue
        # One more piece takes (b - 1)² - b² to the squares of what links are behind, in pieces of this source.
        lag = behind[open_] / flows.share[place]
        up = _rounded_up(topology, open_, due, np.rint(_COST * np.clip(1 - 2 * lag, -8, 8)).astype(np.int64))
        floor[up] += 1
        behind[up] -= flows.share[place]
    return whole


def _rounded_up(topology: Topology, links: np.ndarray, due: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the links that take one piece more, the cheapest that bring all of them where they are due."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    flow = SimpleMinCostFlow()
    ends = topology.src[links], topology.dst[links]
    arcs = flow.add_arcs_with_capacity_and_unit_cost(*ends, np.ones(len(links), np.int64), cost)
    flow.set_nodes_supplies(np.arange(topology.num_nodes, dtype=np.int32), due)
    if flow.solve() != flow.OPTIMAL:
        raise SynthesisError("alltoall_lp: the flows of the LP could not be rounded to whole pieces; try other pieces")
    return links[flow.flows(arcs) > 0]


@numba.njit(cache=True, nogil=True)
def routes_of(carried, source, targets, pieces, src, first, into):
    """Return (start, links): the routes of `pieces` pieces to each target, target by target.

    Parameters
    ----------
    carried : (L,) int64 array
        A whole flow from `source`; used up.
    source, targets : int, (T,) int64 array
    pieces : int
    src : (L,) int array
    first, into : arrays
        The links into each node, as `Topology.in_links` gives them.

    Of the links into a node that have pieces left, a route takes the one with the most; loops are cut out.
    """
    start = np.zeros(len(targets) * pieces + 1, np.int64)
    links = np.empty(4 * len(targets) * pieces + 64, np.int32)
    seen = np.full(len(first), -1, np.int64)  # where on the route a node is entered
    back = np.empty(len(src) + 1, np.int32)
    for route in range(len(targets) * pieces):
        node, length = targets[route // pieces], 0
        seen[node] = 0
        while node != source:
            best = into[first[node]]
            for place in range(first[node], first[node + 1]):
                if carried[into[place]] > carried[best]:
                    best = into[place]
            if carried[best] <= 0:
                return start[:0], links[:0]  # no flow
            carried[best] -= 1
            back[length] = best
            length += 1
            node = src[best]
            if seen[node] >= 0:  # a loop: back to where it began
                again = seen[node]
                while length > again:
                    length -= 1
                    seen[src[back[length]]] = -1
                seen[node] = again
            else:
                seen[node] = length
        begin = start[route]
        if begin + length > len(links):
            links = np.concatenate((links, np.empty(len(links) + length, np.int32)))
        seen[targets[route // pieces]] = -1
        for place in range(length):
            links[begin + length - 1 - place] = back[place]
            seen[src[back[place]]] = -1
        start[route + 1] = begin + length
    return start, links[: start[-1]].copy()
