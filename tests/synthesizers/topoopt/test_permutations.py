"""Tests of `synthesizers.topoopt.permutations`: jumps that make one ring each, and the three ways to choose them."""

from __future__ import annotations

from itertools import combinations
from math import gcd

import numpy as np
import pytest

from synthesizers.topoopt import distances
from synthesizers.topoopt.permutations import require_single_ring, select_permutations, totient_perms
from topologies import SynthesisError


def cycles(n, p):
    """Return the number of cycles of i → i + p on n servers, by walking them."""
    seen, count = set(), 0
    for first in range(n):
        count += first not in seen
        at = first
        while at not in seen:
            seen.add(at)
            at = (at + p) % n
    return count


class TestTotientPerms:
    """The function `totient_perms`."""

    def test_known(self):
        """12 servers have the four jumps 1, 5, 7 and 11; φ(n) is the number of jumps (OEIS A000010)."""
        assert totient_perms(12) == (1, 5, 7, 11)
        phi = [1, 2, 2, 4, 2, 6, 4, 6, 4, 10, 4, 12, 6, 8, 8]
        assert [len(totient_perms(n)) for n in range(2, 17)] == phi

    @pytest.mark.parametrize("n", range(2, 41))
    def test_one_ring_each(self, n):
        """i → i + p has gcd(n, p) cycles, so exactly the coprime jumps make one ring."""
        for p in range(1, n):
            assert cycles(n, p) == gcd(n, p)
        assert [p for p in range(1, n) if cycles(n, p) == 1] == list(totient_perms(n))

    def test_even_groups_have_odd_jumps(self):
        """A jump that is coprime with an even number is odd."""
        assert all(p % 2 for n in range(2, 200, 2) for p in totient_perms(n))

    def test_primes_above_the_limit(self):
        """Above the limit only 1 and primes are left; at it all coprime jumps are."""
        assert totient_perms(16, limit=15) == (1, 3, 5, 7, 11, 13)
        assert totient_perms(16, limit=16) == (1, 3, 5, 7, 9, 11, 13, 15)
        large = totient_perms(2048)
        assert large[:5] == (1, 3, 5, 7, 11)
        assert len(large) == 309 - 1 + 1  # 309 primes below 2048 (OEIS A000720), without 2 and with 1

    def test_refused(self):
        """One server has no ring."""
        with pytest.raises(SynthesisError, match="a group of 1 servers has none"):
            totient_perms(1)


class TestRequireSingleRing:
    """The function `require_single_ring`."""

    def test_refused_by_name(self):
        """A jump that is not coprime is refused with the number of rings that it makes."""
        with pytest.raises(SynthesisError, match="jump 2 on 12 servers makes 2 rings of 6, not one"):
            require_single_ring(12, 2)
        with pytest.raises(SynthesisError, match="jump 9 on 12 servers makes 3 rings of 4, not one"):
            require_single_ring(12, 9)
        with pytest.raises(SynthesisError, match="jump 12 on 12 servers makes 12 loops of one server"):
            require_single_ring(12, 12)

    def test_accepted(self):
        """Coprime jumps are let through."""
        for p in (1, 5, 7, 11):
            require_single_ring(12, p)


class TestPaper:
    """The paper's geometric ladder."""

    @pytest.mark.parametrize(
        ("n", "jumps"),
        [
            (16, (1, 3, 7)),
            (12, (1, 5, 11)),
            (8, (1, 3)),
            (12, (1, 5)),
            (16, (1, 3)),
            (128, (1, 11)),
            (128, (1, 5, 25)),
            (128, (1, 3, 11, 37)),
        ],
    )
    def test_known(self, n, jumps):
        """Selections worked out from arXiv 2202.00433, SelectPermutations."""
        assert select_permutations(n, len(jumps)) == jumps

    def test_in_order_of_choice(self):
        """With all four jumps of 12 servers the ladder passes 7 first, which is farther from 5 · 1.86 than 11."""
        assert select_permutations(12, 4) == (1, 5, 11, 7)

    def test_ties_go_to_the_smaller(self):
        """On 4 servers x = 4^(1/2) = 2 is as near to 1 as to 3, and 1 is the smaller; with 1 used up it is 3."""
        assert select_permutations(4, 2) == (1, 3)
        # x = 9^(1/2) = 3 lies between the candidates 2 and 4.
        assert select_permutations(9, 2) == (1, 2)

    def test_diameter(self):
        """The diameter is at most d · n^(1/d) for every n up to 256, d up to 6 with φ(n) ≥ d (paper, theorem 1)."""
        checked = 0
        for n in range(3, 257):
            for d in range(1, 7):
                if len(totient_perms(n)) >= d:
                    diameter = int(distances(n, select_permutations(n, d)).max())
                    assert diameter**d <= d**d * n, (n, d)
                    checked += 1
        assert checked == 254 * 6 - 20  # 3, 4 and 6 have φ = 2; 5, 8, 10 and 12 have φ = 4

    def test_more_rings_than_jumps(self):
        """Where all jumps are taken, rings lie beside each other."""
        assert select_permutations(4, 5) == (1, 3, 1, 3, 1)
        assert select_permutations(2, 3) == (1, 1, 1)
        assert select_permutations(12, 0) == ()

    def test_candidates(self):
        """Only the candidates are chosen from, and they are checked."""
        assert select_permutations(12, 2, [7, 11]) == (7, 11)
        with pytest.raises(SynthesisError, match="jump 3 on 12 servers makes 3 rings of 4"):
            select_permutations(12, 2, [1, 3])
        with pytest.raises(SynthesisError, match=r"candidates \[\]; expected jumps of 1 or more"):
            select_permutations(12, 2, [])


class TestReleased:
    """What the authors' released code chooses."""

    @pytest.mark.parametrize(
        ("n", "sets"),
        [
            (12, [(1, 5), (1, 5, 7), (1, 5, 7, 11)]),
            (16, [(1, 5), (1, 3, 7), (1, 3, 5, 9)]),
            (32, [(1, 7), (1, 5, 11), (1, 3, 7, 15)]),
            (128, [(1, 13), (1, 7, 27), (1, 5, 13, 39)]),
        ],
    )
    def test_known(self, n, sets):
        """The sets that the released code takes for 4, 6 and 8 ports, two for each jump."""
        assert [select_permutations(n, count, variant="released") for count in (2, 3, 4)] == sets

    def test_past_the_largest(self):
        """The rule runs out of larger candidates on 3 servers, and takes the largest that is unused."""
        assert select_permutations(3, 2, variant="released") == (1, 2)
        assert select_permutations(8, 4, variant="released") == (1, 3, 5, 7)


class TestExhaustive:
    """The best set of all."""

    @pytest.mark.parametrize(
        ("n", "jumps", "hops"),
        [(16, (1, 7), 46), (16, (1, 3, 7), 34), (16, (1, 3, 5, 7), 30), (12, (1, 5, 7), 24), (12, (1, 5), 30)],
    )
    def test_known(self, n, jumps, hops):
        """The best sets of 12 and 16 servers, from the table of circulants."""
        assert select_permutations(n, len(jumps), variant="exhaustive") == jumps
        assert distances(n, jumps).sum() == hops

    @pytest.mark.parametrize(
        ("n", "count"), [(n, count) for n in range(5, 22) for count in (1, 2, 3) if count <= len(totient_perms(n))]
    )
    def test_against_all_sets(self, n, count):
        """It is the first of the sets with the least Σ of hops and diameter, found without any short cut."""
        pool = totient_perms(n)
        found = select_permutations(n, count, variant="exhaustive")

        def key(jumps):
            hops = distances(n, jumps)
            return hops.sum(), hops.max(), jumps

        assert found == min(combinations(pool, count), key=key)

    def test_of_candidates(self):
        """With candidates that do not hold every unit, all sets of them are compared."""
        assert select_permutations(16, 2, [3, 5, 9, 11], "exhaustive") == (3, 5)
        assert distances(16, (3, 5)).sum() == min(distances(16, each).sum() for each in combinations((3, 5, 9, 11), 2))

    def test_never_worse_than_the_paper(self):
        """On 128 servers it needs fewer hops than the paper's 1308, 768 and 574."""
        best = [int(distances(128, select_permutations(128, d, variant="exhaustive")).sum()) for d in (2, 3, 4)]
        assert np.all(np.array(best) <= [1308, 768, 574])

    def test_too_many_sets(self):
        """Six of 128 servers' 64 jumps are too many sets; the message says what to do."""
        with pytest.raises(SynthesisError, match=r"7,028,847 sets to compare, at most 50,000; use variant paper"):
            select_permutations(128, 6, variant="exhaustive")
