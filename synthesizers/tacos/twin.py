"""Pure-Python twins of the compiled matching kernels of TACOS, same signatures: the rules, as sets, lists and a heap.

Slow, and kept only so that tests can hold the kernels equal to something that can be checked by eye.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import groupby, pairwise

from synthesizers.tacos.matching import NEWEST, OLDEST, RAREST

_MASK = 2**64 - 1


def mixed(seed, a, b):
    """Twin of `synthesizers.tacos.matching.mixed` and of `synthesizers.tacos.choices.turn`."""
    z = (seed * 0x9E3779B97F4A7C15 + a * 0xBF58476D1CE4E5B9 + b * 0x94D049BB133111EB + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) >> 32


def match(
    num_npus, num_chunks, src, dst, in_start, in_links, out_start, out_links, duration, queue_of, num_queues,  # noqa: ARG001
    first_start, first_chunks, gate_of, box_of, num_boxes, rule, skip_slow, seed, cutoff, hop_chunk, hop_link,
):  # fmt: skip
    """Twin of `synthesizers.tacos.matching.match`: a log per NPU, a set of what it still has to ask for, and a heap."""
    source, target, span, queue = src.tolist(), dst.tolist(), duration.tolist(), queue_of.tolist()
    gate, boxes = gate_of.tolist(), box_of.T.tolist()
    into, out = _split(in_start, in_links), _split(out_start, out_links)
    log = _split(first_start, first_chunks)  # of each NPU, its chunks in order of arrival
    missing = [set(range(num_chunks)) - set(held) for held in log]  # neither held nor awaited
    spread = [sum(c not in lacking for lacking in missing) for c in range(num_chunks)]
    entered: list[set[int]] = [set() for _ in range(num_boxes)]
    for npu, held in enumerate(log):
        for box in boxes[npu]:
            entered[box].update(held)
    gated = num_boxes > 0
    free_at = [0] * len(source)
    flying: list[tuple[int, int, int]] = []  # (end, queue, hop)
    active = list(range(num_npus))
    now = last_end = event = 0
    forced = False
    hops: list[tuple[int, int]] = []  # (chunk, link)
    while True:
        before = len(hops)
        for d in active:
            faster: list[int] = []  # in-links of d that are faster than those at hand
            for _, alike in groupby(into[d], key=span.__getitem__):
                links = list(alike)
                for link in _rotated(links, seed, d, event):
                    if free_at[link] > now or not missing[d]:
                        continue
                    wait = skip_slow and not forced and faster
                    if wait and _faster_suffice(faster, now + span[link], now, missing[d], log, source, span, free_at):
                        continue
                    closed = entered[gate[link]] if gated and gate[link] >= 0 else ()
                    choice = [c for c in log[source[link]] if c in missing[d] and c not in closed]
                    if not choice:
                        continue
                    chunk = _chosen(choice, rule, spread, seed, event, d)
                    missing[d].remove(chunk)
                    for box in boxes[d]:
                        entered[box].add(chunk)
                    free_at[link] = now + span[link]
                    heappush(flying, (free_at[link], queue[link], len(hops)))
                    last_end = max(last_end, free_at[link])
                    hops.append((chunk, link))
                faster += links
        for chunk, _ in hops[before:]:
            spread[chunk] += 1
        if last_end > cutoff:
            break
        if not flying:
            if len(hops) == len(hop_chunk) or (not gated and (forced or not skip_slow)):
                break
            gated = gated and skip_slow and not forced
            forced = True
            active = [d for d in range(num_npus) if missing[d]]
            continue
        forced = False
        event += 1
        now = flying[0][0]
        reached: dict[int, None] = {}  # NPUs at which something arrives, in that order
        while flying and flying[0][0] == now:
            chunk, link = hops[heappop(flying)[2]]
            log[target[link]].append(chunk)
            reached[target[link]] = None
        visits: dict[int, None] = {}
        for u in reached:
            visits[u] = None
            visits.update((target[link], None) for link in out[u] if free_at[link] <= now)
        active = list(visits)
    _fill(hop_chunk, hop_link, hops)
    return len(hops), last_end


def match_even(
    num_npus, num_chunks, src, in_start, in_links, first_start, first_chunks, seed, max_steps, hop_chunk, hop_link
):  # fmt: skip
    """Twin of `synthesizers.tacos.even.match_even`: step by step, each link takes the oldest chunk that is of use."""
    source = src.tolist()
    into, log = _split(in_start, in_links), _split(first_start, first_chunks)
    missing = [set(range(num_chunks)) - set(held) for held in log]
    hops: list[tuple[int, int]] = []
    step = 0
    while len(hops) < len(hop_chunk) and step < max_steps:
        arrivals: list[tuple[int, int]] = []
        before = len(hops)
        for d in range(num_npus):
            for link in _rotated(into[d], seed, d, step):
                chunk = next((c for c in log[source[link]] if c in missing[d]), None)
                if chunk is not None:
                    missing[d].remove(chunk)
                    hops.append((chunk, link))
                    arrivals.append((d, chunk))
        if len(hops) == before:
            break
        for d, chunk in arrivals:
            log[d].append(chunk)
        step += 1
    _fill(hop_chunk, hop_link, hops)
    return len(hops), step


def grow(before, after, duration, box_of, once, rank, cutoff, hop_chunk, hop_node, hop_column):
    """Twin of `synthesizers.tacos.translated.grow`: of the deliveries that a direction could make, the least key."""
    columns, nodes = range(len(before)), range(len(before[0]))
    boxes = box_of.T.tolist()
    there = [{0: 0} for _ in rank]  # of each chunk, when it arrives at which node
    free = [0] * len(before)
    now = last = 0
    hops: list[tuple[int, int, int]] = []

    def useful(chunk, node, column):
        """Return whether a direction could bring a chunk to a node now."""
        source, arrival = before[column][node], there[chunk]
        inside = {box for other in arrival for box in boxes[other]}
        new = [box for box in boxes[node] if box not in boxes[source]]
        return node not in arrival and arrival.get(source, now + 1) <= now and not (once and inside & set(new))

    def key(chunk, node):
        """Return what is least of the delivery to make: few others could make it, and it leads on to many."""
        arrival = there[chunk]
        others = sum(arrival.get(before[column][node], now + 1) <= now for column in columns)
        return others - sum(after[column][node] not in arrival for column in columns), rank[chunk][node]

    while True:
        for column in columns:
            if free[column] > now:
                continue
            pairs = [(chunk, node) for chunk in range(len(rank)) for node in nodes if useful(chunk, node, column)]
            if not pairs:
                continue
            chunk, node = min(pairs, key=lambda pair: key(*pair))
            free[column] = there[chunk][node] = now + int(duration[column])
            last = max(last, free[column])
            hops.append((chunk, int(before[column][node]), column))
        busy = [end for end in free if end > now]
        if last > cutoff or len(hops) == len(hop_chunk) or not busy:
            break
        now = min(busy)
    for place, hop in enumerate(hops):
        hop_chunk[place], hop_node[place], hop_column[place] = hop
    return len(hops), last


def search(
    num_npus, out_start, out_links, src, dst, width, delay, far, straight, gate_of, box_of, _, order, have_start, have,
    want_start, want,
):  # fmt: skip
    """Twin of `synthesizers.tacos.relays.search`: Dijkstra from where the chunk has been, over sets of taken slots."""
    out = _split(out_start, out_links)
    owners, wishes = _split(have_start, have), _split(want_start, want)
    taken: list[set[int]] = [set() for _ in src]
    hops: list[tuple[int, int, int]] = []
    boxes = box_of.T.tolist()
    for chunk in order.tolist():
        there = dict.fromkeys(owners[chunk], 0)
        gated = True
        wanted = set(wishes[chunk]) - set(there)
        while wanted:
            goal = min(wanted) if len(wanted) == 1 else None
            ahead = [0.0] * len(out) if goal is None else far[goal].tolist()
            seen, came = dict(there), {}
            queue = [(time + ahead[npu], time, npu) for npu, time in there.items()]
            queue.sort()
            while queue:
                _, now, node = heappop(queue)
                if now > seen[node]:
                    continue
                if node in wanted:
                    break
                for link in out[node]:
                    head, span = int(dst[link]), int(width[link])
                    nearer = ahead[head] + int(delay[link]) <= ahead[node] + 4 * len(out)
                    entered = {box for npu in there for box in boxes[npu]}
                    if head in there or (straight and goal is not None and not nearer):
                        continue
                    if gated and gate_of[link] in entered:
                        continue
                    slot = -(-now // span)
                    while slot in taken[link]:
                        slot += 1
                    arrival = slot * span + int(delay[link])
                    if arrival < seen.get(head, arrival + 1):
                        seen[head], came[head] = arrival, (link, slot)
                        heappush(queue, (arrival + ahead[head], arrival, head))
            else:
                if gated:
                    gated = False
                    continue
                return [], [], []
            way = []
            while node not in there:
                way.append(node)
                node = int(src[came[node][0]])
            for node in reversed(way):
                link, slot = came[node]
                taken[link].add(slot)
                hops.append((chunk, link, slot * int(width[link])))
                if node < num_npus:
                    there[node] = seen[node]
                    wanted.discard(node)
    return tuple(list(column) for column in zip(*hops, strict=True)) or ([], [], [])


def _split(start, values):
    """Return the list of each NPU from its grouped columns."""
    return [values[low:high].tolist() for low, high in pairwise(start.tolist())]


def _rotated(links, seed, npu, event):
    """Return the links of an NPU from a hashed one on."""
    first = mixed(seed, npu, event) * len(links) >> 32
    return links[first:] + links[:first]


def _faster_suffice(faster, deadline, now, missing, log, source, span, free_at):
    """Return whether the faster links can bring all that is missing by the deadline, from what their sources hold."""
    room = sum((deadline - max(now, free_at[link])) // max(span[link], 1) for link in faster)
    return room >= len(missing) and missing <= {c for link in faster for c in log[source[link]]}


def _chosen(choice, rule, spread, seed, event, npu):
    """Return the chunk that a rule takes of those in `choice`, which are in order of arrival at the source."""
    if rule == OLDEST:
        return choice[0]
    if rule == NEWEST:
        return choice[-1]
    if rule == RAREST:
        return min(choice, key=lambda c: (spread[c], mixed(seed, c, npu)))
    chunk = choice[0]
    for count, other in enumerate(choice[1:], 2):
        if mixed(seed + event, other, npu) % count == 0:
            chunk = other
    return chunk


def _fill(hop_chunk, hop_link, hops):
    """Write the hops into the caller's columns."""
    for place, (chunk, link) in enumerate(hops):
        hop_chunk[place], hop_link[place] = chunk, link
