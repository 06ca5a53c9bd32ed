"""The portfolio: which trials a network gets, and the best of them, whatever the number of threads.

No rule wins everywhere. Oldest-first is best where all links are alike, and one NPU's trees carried to all where NPUs
are; random choice that leaves a slow link idle when faster ones finish sooner is best on most uneven networks; where
links between boxes are much slower than those inside, chunks that enter each box once are. So several are tried and the
best is kept; a trial that reaches the ingress bound ends the search, for nothing can beat it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from simulator.link_model import MAX_PS
from synthesizers.tacos.network import TRANSLATED, Matching, Network, Trial
from topologies.exceptions import SynthesisError

#: (rule, leave slow links idle, let each chunk enter each box once) of the trials, in turn.
_EVEN = (("oldest", False, False), (TRANSLATED, False, False), ("rarest", False, False), ("random", False, False))
_UNEVEN = (
    ("random", True, False), ("newest", True, True), (TRANSLATED, True, True), ("oldest", True, True),
    ("rarest", True, True), ("rarest", True, False), ("newest", True, False), ("oldest", True, False),
    ("random", False, False), (TRANSLATED, True, False), ("random", True, True),
)  # fmt: skip
_ONCE = (("newest", True, True), ("oldest", True, True), ("rarest", True, True), ("random", True, True))

#: Looks at log entries that the trials of one network may cost in all; the first trial always runs.
_MAX_LOOKS = 2**29


def trials_for(network: Network, count: int, seed: int, rule: str = "auto", paper: bool = False) -> Iterator[Trial]:
    """Give the trials to run, most promising first.

    Parameters
    ----------
    network : Network
    count : int
        How many are asked for; fewer on a network so large that they would take long.
    seed : int
        Of the problem; trial i uses a seed of its own made from it.
    rule : str
        ``auto``, one rule for all, or ``once``: several with each chunk entering each box once.
    paper : bool
        The plain greedy of the paper: random choice, no link left idle.

    Raises
    ------
    SynthesisError
        ``translated`` on a network that has no translations.
    """
    skip = not network.even
    if paper:
        recipe: Sequence[tuple[str, bool, bool]] = (("random", False, False),)
    elif rule == "once":
        recipe = _ONCE
    elif rule != "auto":
        recipe = ((rule, skip, False),)
    elif network.transfers * len(network.holders) // 2 > _MAX_LOOKS:
        recipe = (("oldest", skip, False), ("oldest", skip, True))  # what costs no more per transfer for more chunks
    else:
        recipe = _UNEVEN if skip else _EVEN
    if rule == TRANSLATED and network.translations is None:
        raise SynthesisError(
            "TACOS: rule=translated is for an all_gather on networks that look the same from every NPU, such as rings "
            "and tori; use rule=auto"
        )
    looks = 0.0
    for index in range(count):
        if index == 1 and rule == "auto" and not paper:
            # Boxes and translations are looked for where the first trial was not the last.
            recipe = [entry for entry in recipe if _applies(network, *entry)]
        name, skip, once = recipe[index % len(recipe)]
        looks += network.transfers * (4 if name == "oldest" else max(4, len(network.holders) / 2))
        if index and looks > _MAX_LOOKS:
            return
        # Kernels take 64 bits, and add event numbers.
        yield Trial(name, skip, (seed * 1000 + index) % 2**62, once)


def _applies(network: Network, rule: str, _: bool, once: bool) -> bool:
    """Return whether a trial would be another than without what sets it apart."""
    return (not once or len(network.boxes) > 0) and (rule != TRANSLATED or network.translations is not None)


def best(network: Network, trials: Iterator[Trial], threads: int) -> tuple[Matching | None, Trial | None]:
    """Return the fastest matching (the earliest trial of equals) and its trial; None where no trial completes.

    Trials start in order and stop starting once one has reached the ingress bound; those before it are awaited. So the
    outcome is that of running them one by one.
    """
    bound = network.ingress_bound_ps
    # The first trial goes alone: it is the most promising, and where it reaches the bound the others would be wasted.
    found: tuple[Matching | None, Trial | None] = (network.run(first := next(trials), threads=threads), first)
    best_time = MAX_PS if found[0] is None else found[0].time_ps
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        running: deque[tuple[Trial, Future[Matching | None]]] = deque()
        while True:
            while len(running) < max(threads, 1) and best_time > bound and (trial := next(trials, None)) is not None:
                # Equal times lose to an earlier trial, so anything slower than the best may give up.
                running.append((trial, pool.submit(network.run, trial, best_time)))
            if not running:
                break
            trial, future = running.popleft()
            matching = future.result()
            if matching is not None and matching.time_ps < best_time:
                found, best_time = (matching, trial), matching.time_ps
    return found if found[0] is not None else (None, None)
