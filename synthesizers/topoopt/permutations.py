"""Which rings: the jumps p of i → i + p over a group of k servers, so that several make a low-diameter circulant.

i → i + p (mod k) has gcd(k, p) cycles, so p must be coprime with k to be one ring (TopoOpt, arXiv 2202.00433, section
4.3: TotientPerms, SelectPermutations). AllReduce takes the same time on any such rings; the hops of all other traffic
depend on the choice.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import combinations
from math import comb, gcd
from typing import Literal

from topologies import SynthesisError

Variant = Literal["paper", "released", "exhaustive"]

#: Groups above this size take 1 and primes only. The paper does so "at large scale" without a number; its own sizes, up
#: to 128, are below: 25 is no prime, and the ladder 1, 5, 25 of 128 servers is the paper's.
ALL_COPRIME_UP_TO = 1024

#: Sets that the exhaustive choice compares at most; 39,711 are those of four jumps on 128 servers, about 1 s.
MAX_SETS = 50_000


def totient_perms(k: int, limit: int | None = None) -> tuple[int, ...]:
    """Return the jumps that make one ring of k servers, ascending: all p < k coprime with k.

    Parameters
    ----------
    k : int
        Servers of the group, 2 or more.
    limit : int, optional
        Above so many servers only 1 and the primes among them are returned; `ALL_COPRIME_UP_TO` by default.

    Raises
    ------
    SynthesisError
        Fewer than two servers.
    """
    if k < 2:
        raise SynthesisError(f"rings: a group of {k} servers has none; expected two or more")
    jumps = tuple(p for p in range(1, k) if gcd(k, p) == 1)
    if k <= (ALL_COPRIME_UP_TO if limit is None else limit):
        return jumps
    composite = bytearray(k)
    for p in range(2, int(k**0.5) + 1):
        if not composite[p]:
            composite[p * p :: p] = b"\1" * len(range(p * p, k, p))
    return tuple(p for p in jumps if not composite[p])


def require_single_ring(k: int, p: int) -> None:
    """Refuse a jump that does not make one ring of k servers.

    Raises
    ------
    SynthesisError
        Says into how many rings the servers fall.
    """
    rings = gcd(k, p)
    if rings != 1:
        size = k // rings
        what = f"rings of {size}" if size > 1 else "loops of one server"
        raise SynthesisError(
            f"jump {p} on {k} servers makes {rings} {what}, not one; choose a jump that is coprime with {k}"
        )


def select_permutations(
    k: int, count: int, candidates: Sequence[int] | None = None, variant: Variant = "paper"
) -> tuple[int, ...]:
    """Return `count` jumps for the rings of a group, in the order in which they were chosen.

    ``paper``: a geometric ladder of x = k^(1/count). It starts at the smallest candidate; the next is the unused
    candidate nearest to last · x, of two equally near ones the smaller.

    ``released``: what the authors' code chooses, where each jump p stands for two rings, p and k − p, so `count` is
    half the degree. With P the candidates and r = count: for i = 0 … r − 1 the least unused candidate that is at least
    P_first · (P_last / P_first)^(i/r), or the largest unused one where there is none. (Worked out from the sets that
    the code is known to choose; whether it takes a candidate that is exactly as large is not known.)

    ``exhaustive``: of all sets the one with the least Σ of hops from one server to all, then the least diameter, then
    the first in lexicographic order; ascending.

    All comparisons are exact. Where a group has fewer candidates than rings, all of them are taken as often as they fit
    (parallel links), and the rest is chosen as if it were all.

    Parameters
    ----------
    k : int
        Servers of the group.
    count : int
        Jumps.
    candidates : sequence of int, optional
        Ascending jumps to choose from; `totient_perms` by default.
    variant : {"paper", "released", "exhaustive"}
        How to choose.

    Raises
    ------
    SynthesisError
        No candidates, a candidate that is not coprime with k, or more sets than the exhaustive choice can compare.
    """
    pool = tuple(totient_perms(k) if candidates is None else sorted(set(candidates)))
    for p in pool:
        require_single_ring(k, p)
    if not pool or pool[0] < 1:
        raise SynthesisError(f"rings of {k} servers: candidates {list(pool)}; expected jumps of 1 or more")
    rounds, rest = divmod(count, len(pool))
    choose = {"paper": _ladder, "released": _released, "exhaustive": _exhaustive}[variant]
    return choose(k, len(pool), pool) * rounds + (choose(k, rest, pool) if rest else ())


def _ladder(k: int, count: int, pool: tuple[int, ...]) -> tuple[int, ...]:
    """Return the paper's choice."""
    unused, chosen = list(pool[1:]), [pool[0]]
    while len(chosen) < count:
        above = bisect_right(unused, chosen[-1] ** count * k, key=lambda p: p**count)  # the first above last · x
        # Of a below and b above, b is nearer if last · x is past their middle: if (2 · last)^count · k > (a + b)^count.
        if above and (
            above == len(unused) or (2 * chosen[-1]) ** count * k <= (unused[above - 1] + unused[above]) ** count
        ):
            above -= 1
        chosen.append(unused.pop(above))
    return tuple(chosen)


def _released(k: int, count: int, pool: tuple[int, ...]) -> tuple[int, ...]:  # noqa: ARG001
    """Return the released code's choice."""
    unused, chosen = list(pool), []
    for step in range(count):
        floor = pool[-1] ** step * pool[0] ** (count - step)
        best = next((p for p in unused if p**count >= floor), unused[-1])
        unused.remove(best)
        chosen.append(best)
    return tuple(chosen)


def _exhaustive(k: int, count: int, pool: tuple[int, ...]) -> tuple[int, ...]:
    """Return the best set of jumps."""
    # Multiplying all jumps by a unit renumbers the servers. So where every unit is a candidate some best set has a 1,
    # and the first best set in lexicographic order is one of those.
    fixed = (1,) if len(pool) == len(totient_perms(k, limit=k)) else ()
    free = pool[len(fixed) :]
    sets = comb(len(free), count - len(fixed))
    if sets > MAX_SETS:
        raise SynthesisError(
            f"exhaustive choice of {count} jumps on {k} servers: {sets:,} sets to compare, at most {MAX_SETS:,}; "
            "use variant paper, fewer ports or fewer candidates"
        )
    best: tuple[int, ...] = ()
    least = (2**62, 0)
    for others in combinations(free, count - len(fixed)):
        found = _hops(k, fixed + others, least[0])
        if found is not None and found < least:
            best, least = fixed + others, found
    return best


def _hops(k: int, jumps: tuple[int, ...], most: int) -> tuple[int, int] | None:
    """Return (Σ of hops from 0, diameter) of a circulant; None once the sum is certain to exceed `most`."""
    everywhere = (1 << k) - 1
    reached = front = 1
    total = hops = 0
    while reached != everywhere:
        hops += 1
        moved = 0
        for p in jumps:
            moved |= front << p | front >> (k - p)
        front = moved & everywhere & ~reached
        reached |= front
        total += hops * front.bit_count()
        if total + (hops + 1) * (k - reached.bit_count()) > most:
            return None
    return total, hops
