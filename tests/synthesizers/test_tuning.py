"""Tests of `synthesizers.tuning`: the ladder of pieces."""

from __future__ import annotations

import pytest

from schedules import Schedule, collective
from simulator import simulate_ps
from synthesizers import Problem, parse_options, tuning
from synthesizers.double_binary_tree import DoubleBinaryTree
from synthesizers.tuning import LADDER, fastest, tuned
from topologies import OptionError, line

_NETWORK = line(5)


def _chain(pieces: int) -> Schedule:
    """Return a broadcast along a line, piece by piece."""
    hops = [(piece, 2 * hop) for piece in range(pieces) for hop in range(4)]
    chunk, link = zip(*hops, strict=True)
    return Schedule(_NETWORK, collective("broadcast", 5, chunks=pieces), chunk=chunk, link=link)


def _problem(size: int) -> Problem:
    """Return a broadcast along a line."""
    return Problem(_NETWORK, collective("broadcast", 5), size)


class TestTuned:
    """The function `tuned`."""

    @pytest.mark.parametrize("size", [0, 1, 10**5, 10**6, 10**7, 10**9])
    def test_best_rung_wins(self, size):
        """A chain of k pieces takes (3 + k)(α + β·size/k), which falls, then rises: auto finds the least."""
        times = [simulate_ps(_chain(rung), size) for rung in LADDER]
        chosen = tuned(_problem(size), _chain)
        assert simulate_ps(chosen, size) == min(times)
        assert chosen.collective.chunks == LADDER[times.index(min(times))]

    def test_given_pieces_are_taken(self):
        """A number is built as it is, on the ladder or not."""
        assert tuned(_problem(0), _chain, 5).collective.chunks == 5

    def test_large_schedules_are_not_simulated(self, monkeypatch):
        """Where two pieces would need too many hops, one is taken at once."""
        monkeypatch.setattr(tuning, "MAX_HOPS", 7)
        monkeypatch.setattr(tuning, "simulate_ps", None)
        assert tuned(_problem(10**9), _chain).collective.chunks == 1

    def test_hops_bound_the_ladder(self, monkeypatch):
        """No rung of too many hops is built."""
        monkeypatch.setattr(tuning, "MAX_HOPS", 4 * 8)
        assert tuned(_problem(10**12), _chain).collective.chunks == 8

    def test_patience_ends_the_climb(self):
        """After two rungs without gain no more are built."""
        built = []
        tuned(_problem(0), lambda pieces: built.append(pieces) or _chain(pieces))
        assert built == [1, 2, 4]


class TestFastest:
    """The function `fastest`."""

    def test_clock_ends_the_climb(self):
        """When time is up, the whole chunks are the result, though more pieces would be faster."""
        assert tuned(_problem(10**9), _chain, until=0.0).collective.chunks == LADDER[0]

    def test_first_of_equals(self):
        """Equal times: the first candidate."""
        first, second = _chain(1), _chain(1)
        assert fastest(_problem(10), [first, second]) is first

    def test_least_time(self):
        """The least time wins wherever it stands."""
        slow, fast = _chain(1), _chain(16)
        assert fastest(_problem(10**7), [slow, fast]) is fast


class TestPieces:
    """The option type `Pieces`."""

    @pytest.mark.parametrize(("text", "value"), [("8", 8), (8, 8), ("auto", "auto")])
    def test_text_is_converted(self, text, value):
        """Numbers may come as text; auto stays a word."""
        assert parse_options(DoubleBinaryTree(), {"pieces": text}).pieces == value

    @pytest.mark.parametrize("text", ["0", -1, "many", 1.5])
    def test_others_are_refused(self, text):
        """Anything else is refused with the name of the synthesizer."""
        with pytest.raises(OptionError, match="double_binary_tree: bad option"):
            parse_options(DoubleBinaryTree(), {"pieces": text})
