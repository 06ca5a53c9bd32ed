"""The portfolio: which trials a network gets, and the best of them, whatever the number of threads.

No rule wins everywhere. Oldest-first is best where all links are alike, random choice that leaves a slow link idle
when faster ones finish sooner is best on most uneven networks, rarest- and newest-first on some. So several are tried
and the best is kept; a trial that reaches the ingress bound ends the search, for nothing can beat it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from simulator.link_model import MAX_PS
from synthesizers.tacos.network import Matching, Network, Trial

_EVEN = (("oldest", False), ("rarest", False), ("random", False), ("oldest", False))
_UNEVEN = (("random", True), ("rarest", True), ("newest", True), ("oldest", True), ("random", False))

#: Looks at log entries that the trials of one network may cost in all; the first trial always runs.
_MAX_LOOKS = 2**29


def trials_for(network: Network, count: int, seed: int, rule: str = "auto", paper: bool = False) -> list[Trial]:
    """Return the trials to run, most promising first.

    Parameters
    ----------
    network : Network
    count : int
        How many are asked for; fewer on a network so large that they would take long.
    seed : int
        Of the problem; trial i uses a seed of its own made from it.
    rule : str
        ``auto`` or one rule for all.
    paper : bool
        The plain greedy of the paper: random choice, no link left idle.
    """
    if paper:
        recipe: Sequence[tuple[str, bool]] = (("random", False),)
    elif rule == "auto":
        recipe = _EVEN if network.even else _UNEVEN
    else:
        recipe = ((rule, not network.even),)
    if rule == "auto" and not paper and network.transfers * len(network.holders) // 2 > _MAX_LOOKS:
        recipe = (("oldest", not network.even),)  # the only rule whose cost does not grow with the chunks
    trials: list[Trial] = []
    looks = 0.0
    for index in range(count):
        name, skip = recipe[index % len(recipe)]
        looks += network.transfers * (4 if name == "oldest" else max(4, len(network.holders) / 2))
        if trials and looks > _MAX_LOOKS:
            break
        trials.append(Trial(name, skip, (seed * 1000 + index) % 2**62))  # kernels take 64 bits, and add event numbers
    return trials


def best(network: Network, trials: Sequence[Trial], threads: int) -> tuple[Matching | None, Trial | None]:
    """Return the fastest matching (the earliest trial of equals) and its trial; None where no trial completes.

    Trials start in order and stop starting once one has reached the ingress bound; those before it are awaited. So the
    outcome is that of running them one by one.
    """
    bound = network.ingress_bound_ps
    # The first trial goes alone: it is the most promising, and where it reaches the bound the others would be wasted.
    found: tuple[Matching | None, Trial | None] = (network.run(trials[0], threads=threads), trials[0])
    best_time = MAX_PS if found[0] is None else found[0].time_ps
    queue = iter(trials[1:])
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        running: deque[tuple[Trial, Future[Matching | None]]] = deque()
        while True:
            while len(running) < max(threads, 1) and best_time > bound and (trial := next(queue, None)) is not None:
                # Equal times lose to an earlier trial, so anything slower than the best may give up.
                running.append((trial, pool.submit(network.run, trial, best_time)))
            if not running:
                break
            trial, future = running.popleft()
            matching = future.result()
            if matching is not None and matching.time_ps < best_time:
                found, best_time = (matching, trial), matching.time_ps
    return found if found[0] is not None else (None, None)
