"""Loads of links where the traffic of each pair is split over all of its shortest routes; compiled.

As Brandes counts shortest paths (U. Brandes, A faster algorithm for betweenness centrality, 2001): routes from one
source are counted on the way out, and its traffic is handed back along them from the farthest node. A route weighs the
product of its links' weights, and weights fall with the loads of the rounds before: what a schedule avoids by choosing
the least loaded of several routes is avoided here without naming any.
"""

from __future__ import annotations

import math

import numba
import numpy as np

#: Rounds of splitting; loads settle to a few per cent in four.
ROUNDS = 4

#: How much a link's load tells: one with the highest load weighs exp(−STRESS) of an idle one.
STRESS = 6.0


@numba.njit(cache=True, nogil=True)
def even_loads(traffic, head, out_start, out_links, rates, load):
    """Return (links,) float64 loads, those given and the traffic's: of the rounds those with the least busiest link.

    Parameters
    ----------
    traffic : (npus, npus) float64 array
        Bytes; every pair with some is joined.
    head : (links,) int array
        Where each link leads.
    out_start, out_links : int arrays
        The links out of node v are ``out_links[out_start[v]:out_start[v + 1]]``.
    rates : (links,) float64 array
        Bytes per second.
    load : (links,) float64 array
        Bytes on each link already.
    """
    weight, mean, best, least = np.ones(len(load)), np.zeros(len(load)), load.copy(), np.inf
    for number in range(ROUNDS):
        split = _split(traffic, head, out_start, out_links, weight)
        busiest = 0.0
        for link in range(len(load)):
            mean[link] += (split[link] - mean[link]) * 2.0 / (number + 2)
            busiest = max(busiest, (load[link] + mean[link]) / rates[link])
        if busiest < least:
            least = busiest
            best[:] = load + mean
        if busiest <= 0:
            break
        for link in range(len(load)):
            weight[link] = math.exp(-STRESS * (load[link] + mean[link]) / rates[link] / busiest)
    return best


@numba.njit(cache=True, nogil=True)
def _split(traffic, head, out_start, out_links, weight):
    """Return the load of each link by traffic that is split over shortest routes by their weights."""
    nodes, npus = len(out_start) - 1, len(traffic)
    load = np.zeros(len(head))
    hops, order = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    routes, due = np.empty(nodes), np.empty(nodes)
    for source in range(npus):
        left = 0
        for node in range(nodes):
            hops[node], routes[node] = -1, 0.0
            due[node] = traffic[source, node] if node < npus else 0.0
            left += due[node] > 0
        hops[source], routes[source], order[0], count, at = 0, 1.0, source, 1, 0
        # Nodes beyond the last that is sent anything need not be seen.
        deepest = nodes
        while at < count and hops[order[at]] < deepest:
            here = order[at]
            at += 1
            for place in range(out_start[here], out_start[here + 1]):
                link = out_links[place]
                there = head[link]
                if hops[there] < 0:
                    hops[there] = hops[here] + 1
                    order[count] = there
                    count += 1
                    if due[there] > 0:
                        left -= 1
                        if left == 0:
                            deepest = hops[there]
                if hops[there] == hops[here] + 1:
                    routes[there] += routes[here] * weight[link]
        for at in range(count - 1, -1, -1):
            here = order[at]
            if hops[here] >= deepest:
                continue
            for place in range(out_start[here], out_start[here + 1]):
                link = out_links[place]
                there = head[link]
                if hops[there] == hops[here] + 1 and due[there] > 0:
                    part = due[there] * (routes[here] * weight[link] / routes[there])
                    load[link] += part
                    due[here] += part
    return load
