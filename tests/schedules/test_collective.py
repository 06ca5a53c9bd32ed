"""Collectives: who holds what before and after, and how many bytes each chunk has."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedules import KINDS, Collective, collective, custom
from topologies import CollbenchError, CollectiveError

REGULAR = [kind for kind in KINDS if kind not in ("send_recv", "custom")]
REDUCING = ("reduce_scatter", "all_reduce", "reduce")
REVERSIBLE = [kind for kind in REGULAR if kind != "all_reduce"]


def sets(problem: Collective) -> tuple[list[list[int]], list[list[int]]]:
    """Return the NPUs that hold each chunk before, and that must hold it after."""
    return (
        [problem.set_of(index).tolist() for index in problem.initial],
        [problem.set_of(index).tolist() for index in problem.final],
    )


ALL, EACH = [[0, 1, 2]], [[0], [1], [2]]


class TestSets:
    """Initial and final sets of each kind."""

    @pytest.mark.parametrize(
        ("kind", "initial", "final"),
        [
            ("all_gather", EACH, ALL * 3),
            ("reduce_scatter", ALL * 3, EACH),
            ("all_reduce", ALL * 3, ALL * 3),
            ("all_to_all", [[0]] * 3 + [[1]] * 3 + [[2]] * 3, EACH * 3),
            ("broadcast", [[1]], ALL),
            ("reduce", ALL, [[1]]),
            ("gather", EACH, [[1]] * 3),
            ("scatter", [[1]] * 3, EACH),
        ],
    )
    def test_kind(self, kind, initial, final):
        """Three ranks, root 1, one chunk per shard (nccl-tests' definitions)."""
        problem = collective(kind, 3, root=1)
        assert sets(problem) == (initial, final)
        assert problem.reduces == (kind in REDUCING)
        assert problem.members == (0, 1, 2)
        assert problem.num_chunks == problem.num_chunks_expected == len(initial)

    @pytest.mark.parametrize("kind", REGULAR)
    def test_chunks(self, kind):
        """Chunks of one shard are neighbours and alike."""
        one, three = sets(collective(kind, 4)), sets(collective(kind, 4, chunks=3))
        for few, many in zip(one, three, strict=True):
            assert many == [npus for npus in few for _ in range(3)]

    def test_groups(self):
        """Each group has chunks of its own, in rank order; NPUs outside own nothing."""
        problem = collective("all_gather", 7, groups=[[5, 0], [3, 1, 2]])
        assert sets(problem) == ([[5], [0], [3], [1], [2]], [[0, 5]] * 2 + [[1, 2, 3]] * 3)
        assert problem.members == (5, 0, 3, 1, 2)
        assert problem.describe() == "all_gather over 2 groups of 2/3, 5 chunks"

    def test_root_is_a_rank(self):
        """The root is counted in rank order within each group."""
        problem = collective("broadcast", 7, groups=[[5, 0], [3, 1, 2]], root=1)
        assert sets(problem) == ([[0], [1]], [[0, 5], [1, 2, 3]])

    def test_all_to_all_numbers(self):
        """Chunk (source · ranks + target) · chunks + k leads from source to target."""
        problem = collective("all_to_all", 4, groups=[[3, 1]], chunks=2)
        assert sets(problem) == ([[3]] * 4 + [[1]] * 4, [[3]] * 2 + [[1]] * 2 + [[3]] * 2 + [[1]] * 2)

    def test_shards(self):
        """An AllReduce, Broadcast or Reduce may be cut into any number of shards."""
        for kind in ("all_reduce", "broadcast", "reduce"):
            problem = collective(kind, 3, shards=5, chunks=2)
            assert problem.num_chunks == 10
            assert len({int(index) for index in problem.initial}) == 1
        assert collective("all_gather", 3, shards=5).num_chunks == 3

    def test_send_recv(self):
        """Each pair is a buffer of its own; a pair may come twice."""
        problem = collective("send_recv", 5, pairs=[(0, 4), (4, 0), (0, 4)], chunks=2)
        assert sets(problem) == ([[0]] * 2 + [[4]] * 2 + [[0]] * 2, [[4]] * 2 + [[0]] * 2 + [[4]] * 2)
        assert problem.members == (0, 4)
        assert not problem.reduces
        assert problem.describe() == "send_recv with 6 chunks on 5 NPUs"
        assert collective("send_recv", 5).num_chunks == 0

    @pytest.mark.parametrize("reduces", [False, True])
    def test_custom(self, reduces):
        """Conditions are sets: order and repetition mean nothing."""
        problem = custom(4, [[2, 0, 0], {1}, []], [[3], (1, 2), []], reduces=reduces)
        assert sets(problem) == ([[0, 2], [1], []], [[3], [1, 2], []])
        assert problem.reduces is reduces
        assert problem == custom(4, [[0, 2], [1], []], [[3], [2, 1], []], reduces=reduces)
        assert problem.members == (0, 1, 2, 3)

    def test_large_all_gather_is_small(self):
        """40,000 NPUs: singletons and one group, a few megabytes and not 40,000² entries."""
        tracemalloc.start()
        problem = collective("all_gather", 40_000)
        assert problem.num_chunks == 40_000
        assert problem.chunk_bytes(40_000 * 7 + 1).sum() == 40_000 * 7 + 1
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(problem.set_member) == 80_000
        assert peak < 40e6


def whole(kind: str, size: int, problem: Collective) -> int:
    """Return the bytes of all chunks together by the rule of nccl-tests."""
    ranks = [len(group) for group in problem.groups]
    return size * (sum(ranks) if kind == "all_to_all" else len(ranks))


class TestBytes:
    """Bytes of shards and chunks."""

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("all_gather", [4, 3, 3]),  # the output, S bytes, is shared out
            ("reduce_scatter", [4, 3, 3]),  # the input
            ("all_reduce", [4, 3, 3]),
            ("all_to_all", [4, 3, 3] * 3),  # each rank's buffer
            ("broadcast", [10]),
            ("reduce", [10]),
            ("gather", [4, 3, 3]),  # the root's buffer
            ("scatter", [4, 3, 3]),
        ],
    )
    def test_size_rule(self, kind, expected):
        """Size 10 over three ranks by nccl-tests' PERFORMANCE.md and buffer sizes; remainders go to the first."""
        assert collective(kind, 3).chunk_bytes(10).tolist() == expected

    def test_groups_have_a_buffer_each(self):
        """The size is that of each group, whatever the number of ranks."""
        problem = collective("all_gather", 5, groups=[[0, 1], [2, 3, 4]])
        assert problem.chunk_bytes(10).tolist() == [5, 5, 4, 3, 3]

    def test_send_recv(self):
        """Each pair sends the whole size."""
        assert collective("send_recv", 3, pairs=[(0, 1), (1, 2)], chunks=2).chunk_bytes(5).tolist() == [3, 2, 3, 2]

    def test_custom(self):
        """The size is split over all chunks, by weight."""
        conditions = ([[0]] * 3, [[1]] * 3)
        assert custom(2, *conditions).chunk_bytes(11).tolist() == [4, 4, 3]
        assert custom(2, *conditions, weights=[1, 2, 3]).chunk_bytes(12).tolist() == [2, 4, 6]
        assert custom(2, [], []).chunk_bytes(12).tolist() == []

    @given(st.sampled_from(REGULAR), st.integers(0, 10**7), st.integers(1, 9), st.integers(1, 7), st.integers(0, 2**32))
    def test_invariants(self, kind, size, ranks, chunks, seed):
        """Nothing is lost, chunks of a shard differ by a byte at most, what a rank owns never depends on the chunks."""
        order = np.random.default_rng(seed).permutation(ranks + 2)
        groups = [order[:ranks], order[ranks:]]
        one = collective(kind, ranks + 2, groups=groups)
        many = collective(kind, ranks + 2, groups=groups, chunks=chunks)
        sizes = many.chunk_bytes(size)
        assert (sizes >= 0).all()
        assert sizes.sum() == whole(kind, size, many)
        assert sizes.reshape(-1, chunks).sum(axis=1).tolist() == one.chunk_bytes(size).tolist()
        assert (np.ptp(sizes.reshape(-1, chunks), axis=1) <= 1).all()
        assert one.shard_bytes(size).tolist() == one.chunk_bytes(size).tolist()

    @pytest.mark.parametrize("size", [0, 1, 3])
    @pytest.mark.parametrize("kind", REGULAR)
    def test_tiny(self, kind, size):
        """Nothing, one byte and fewer bytes than ranks."""
        problem = collective(kind, 4, chunks=3)
        sizes = problem.chunk_bytes(size)
        assert sizes.sum() == whole(kind, size, problem)
        assert set(sizes.tolist()) <= {0, 1}

    @given(st.integers(0, 2**60), st.lists(st.integers(1, 2**50), min_size=2, max_size=5))
    def test_weights(self, size, weights):
        """Chunks are proportional to their weights within a byte, also where products pass 64 bits."""
        problem = collective("broadcast", 2).refined(len(weights), np.array(weights))
        sizes = problem.chunk_bytes(size).tolist()
        assert sum(sizes) == size
        for found, weight in zip(sizes, weights, strict=True):
            assert 0 <= found - size * weight // sum(weights) <= 1

    def test_negative(self):
        """A negative size is refused."""
        with pytest.raises(CollectiveError, match="all_gather: size -1 is negative; expected 0 bytes or more"):
            collective("all_gather", 2).chunk_bytes(-1)


class TestRefined:
    """Chunks cut into pieces."""

    @pytest.mark.parametrize("kind", REGULAR)
    def test_numbers(self, kind):
        """Piece k of chunk c is chunk c · pieces + k."""
        problem = collective(kind, 3, chunks=2)
        for few, many in zip(sets(problem), sets(problem.refined(4)), strict=True):
            assert many == [npus for npus in few for _ in range(4)]
        assert problem.refined(1) == problem

    def test_weights_are_kept(self):
        """A chunk's pieces are equal shares of it, also where chunks have weights."""
        problem = collective("broadcast", 2).refined(2, np.array([1, 3]))
        assert problem.refined(2).weights.tolist() == [1, 1, 3, 3]
        assert problem.refined(2).chunk_bytes(80).tolist() == [10, 10, 30, 30]
        assert problem.refined(2, np.ones(4, int)).weights is None

    def test_equal_weights_say_nothing(self):
        """Weights that are all the same are dropped."""
        assert collective("all_gather", 2).refined(2, np.full(4, 7)) == collective("all_gather", 2, chunks=2)

    def test_the_callers_array_is_not_frozen(self):
        """Weights are copied, and read-only in the collective."""
        weights = np.array([1, 2])
        problem = collective("broadcast", 2).refined(2, weights)
        weights[0] = 5
        assert problem.weights.tolist() == [1, 2]
        assert not problem.weights.flags.writeable

    @pytest.mark.parametrize("weights", [[1], [1, 0], [1.0, 2.0], [1, -2], [[1, 2]]])
    def test_bad_weights(self, weights):
        """One positive integer per chunk."""
        with pytest.raises(CollectiveError, match="broadcast: expected 2 positive integer chunk weights"):
            collective("broadcast", 2).refined(2, np.array(weights))

    def test_huge_weights(self):
        """Weights whose sum passes 63 bits are refused."""
        with pytest.raises(CollectiveError, match=r"add up to 2\^62 or more"):
            collective("broadcast", 2).refined(2, np.array([1, 2**62]))

    def test_refusals(self):
        """No pieces, and pieces of a custom collective that change what was given."""
        with pytest.raises(CollectiveError, match="change the sizes of the chunks"):
            custom(3, [[0], [1]], [[1], [2]], weights=[1, 2]).refined(2, np.array([1, 1, 1, 1]))
        with pytest.raises(CollectiveError, match="expected at least one piece per chunk, found 0"):
            collective("broadcast", 2).refined(0)


class TestRefinedCustom:
    @settings(max_examples=50, deadline=None)
    @given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 4), st.integers(0, 100))
    def test_pieces_keep_the_bytes(self, weights, pieces, size):
        """Whatever the weights, pieces and size, a chunk's pieces have its bytes between them."""
        sets = [[0]] * len(weights)
        whole = custom(2, sets, [[1]] * len(weights), weights=weights)
        cut = whole.refined(pieces)
        assert cut.chunk_bytes(size).reshape(-1, pieces).sum(axis=1).tolist() == whole.chunk_bytes(size).tolist()
        assert cut.part_bytes(size).tolist() == whole.part_bytes(size).tolist() == whole.chunk_bytes(size).tolist()
        assert cut.initial.tolist() == np.repeat(whole.initial, pieces).tolist()

    def test_unequal_pieces(self):
        """Pieces may be unequal as long as the chunks that were given keep their shares."""
        cut = custom(3, [[0], [1]], [[1], [2]], weights=[1, 2]).refined(2, np.array([1, 3, 4, 4]))
        assert cut.chunk_bytes(12).tolist() == [1, 3, 4, 4]


class TestResharded:
    """Buffers cut into another number of shards."""

    @pytest.mark.parametrize("kind", ["all_reduce", "broadcast", "reduce"])
    def test_free_kinds(self, kind):
        """The buffer is shared out anew, weights forgotten."""
        problem = collective(kind, 4, groups=[[0, 1, 2]], root=0).refined(2, None).resharded(4, 2)
        assert problem.num_chunks == 8
        assert problem.chunk_bytes(10).tolist() == [2, 1, 2, 1, 1, 1, 1, 1]

    @pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"])
    def test_bound_kinds(self, kind):
        """Where shards belong to ranks there is nothing to choose."""
        with pytest.raises(CollectiveError, match=f"{kind}: its shards belong to the ranks and cannot be changed"):
            collective(kind, 4).resharded(4, 2)


class TestReversed:
    """The collective of the reversed schedule."""

    @pytest.mark.parametrize("kind", REVERSIBLE)
    def test_swaps_the_conditions(self, kind):
        """What a chunk needed at the end it has at the start, chunk numbers mapped; twice is the same again."""
        problem = collective(kind, 5, groups=[[4, 0, 2], [1, 3]], chunks=2, root=1)
        back = problem.reversed()
        (initial, final), (start, end) = sets(problem), sets(back)
        for chunk, twin in enumerate(problem.reversed_chunks):
            assert (start[twin], end[twin]) == (final[chunk], initial[chunk])
        assert back.reversed() == problem
        assert back.chunk_bytes(101).sum() == problem.chunk_bytes(101).sum()

    def test_weights_follow_their_chunks(self):
        """A weight goes where its chunk goes."""
        problem = collective("all_to_all", 2).refined(1, np.array([1, 2, 3, 4]))
        assert problem.reversed().weights.tolist() == [1, 3, 2, 4]
        assert collective("scatter", 2).refined(1, np.array([1, 2])).reversed().weights.tolist() == [1, 2]

    def test_send_recv(self):
        """Pairs are turned round."""
        assert collective("send_recv", 3, pairs=[(0, 2), (1, 0)]).reversed().pairs == ((2, 0), (0, 1))

    def test_custom(self):
        """Copies from one holder turn into sums at it; a chunk that nobody wants stays at rest."""
        back = custom(4, [[0], [1], [2]], [[1, 2], [3], []]).reversed()
        assert sets(back) == ([[1, 2], [3], []], [[0], [1], []])
        assert back.reduces
        assert not custom(4, [[0]], [[3]]).reversed().reduces

    def test_refusals(self):
        """AllReduce, sums and several holders have no reverse."""
        with pytest.raises(CollectiveError, match="all_reduce has no reverse; reverse its ReduceScatter and AllGather"):
            collective("all_reduce", 2).reversed()
        for problem in (custom(2, [[0]], [[1]], reduces=True), custom(2, [[0, 1]], [[1]])):
            with pytest.raises(CollectiveError, match="only custom collectives that copy from one holder"):
                problem.reversed()


class TestEquality:
    """Equal collectives are equal, whatever they were built from."""

    def test_number_types(self):
        """Lists, arrays and numpy numbers make the same collective as tuples of int."""
        plain = Collective("all_gather", 3, ((0, 2),))
        assert Collective("all_gather", 3, [np.array([0, 2])]) == plain
        assert collective("all_gather", 3, groups=np.array([[0, 2]])) == plain
        assert hash(collective("all_gather", 3, groups=[[0, 2]])) == hash(plain)
        assert custom(2, [[0]], [[1]], reduces=np.True_) == custom(2, [[0]], [[1]], reduces=True)

    def test_what_says_nothing(self):
        """A root where there is none, shards where they belong to ranks, and the usual number of them."""
        assert collective("all_gather", 3, root=2, shards=7) == collective("all_gather", 3)
        assert collective("all_reduce", 3, shards=3) == collective("all_reduce", 3)
        assert collective("broadcast", 3, shards=1) == collective("broadcast", 3)
        assert collective("all_reduce", 3, groups=[[0, 1], [2]], shards=2).shards == 2

    @pytest.mark.parametrize("other", [
        collective("scatter", 3, chunks=2), collective("scatter", 3, root=1), collective("scatter", 4),
        collective("scatter", 3, groups=[[0, 2, 1]]), collective("gather", 3),
        collective("scatter", 3).refined(1, np.array([1, 2, 1])), "scatter",
    ])  # fmt: skip
    def test_differences(self, other):
        """Every field that means something tells collectives apart."""
        assert collective("scatter", 3) != other

    def test_pickle(self):
        """A collective comes back from a pickle, read-only weights included."""
        problem = collective("broadcast", 3).refined(2, np.array([1, 2]))
        again = pickle.loads(pickle.dumps(problem))
        assert again == problem
        assert not again.weights.flags.writeable

    def test_repr(self):
        """The representation says kind, ranks and chunks."""
        assert repr(collective("all_gather", 3, chunks=2)) == "Collective(all_gather over 3 ranks, 6 chunks)"


class TestErrors:
    """What is refused, and what the message says."""

    @pytest.mark.parametrize(("arguments", "fields", "message"), [
        (("allgather", 2), {}, "unknown collective 'allgather'; expected one of all_gather, reduce_scatter, "),
        (("custom", 2), {}, r"give its conditions to custom\(\)"),
        (("all_gather", 2), {"chunks": 0}, r"expected 1 to 2\^24 chunks per shard, found 0"),
        (("all_gather", 2), {"chunks": 2**24 + 1}, r"expected 1 to 2\^24 chunks per shard"),
        (("all_gather", 2**8), {"chunks": 2**23}, r"2147483648 chunks; at most 2\^31-1 can be scheduled"),
        (("all_reduce", 2), {"shards": -1}, "expected 0 .* or more shards, found -1"),
        (("all_gather", 2), {"groups": [[0, 2]]}, "group member 2 is out of range; the network has NPUs 0…1"),
        (("all_gather", 2), {"groups": [[0, -1]]}, "group member -1 is out of range"),
        (("all_gather", 3), {"groups": [[0, 1], [1, 2]]}, "NPU 1 is in the groups twice; groups must be disjoint"),
        (("all_gather", 3), {"groups": [[0, 0]]}, "NPU 0 is in the groups twice"),
        (("all_gather", 3), {"groups": [[0], []]}, "a group is empty; name at least one NPU"),
        (("all_gather", 3), {"groups": []}, "no group is given; name at least one, or leave groups out for all NPUs"),
        (("broadcast", 3), {"root": 3}, "root 3 is out of range for a group of 3"),
        (("broadcast", 3), {"root": -1}, "root -1 is out of range for a group of 3"),
        (("broadcast", 3), {"root": 1, "groups": [[0, 1], [2]]}, "root 1 is out of range for a group of 1"),
        (("send_recv", 3), {"pairs": [(0, 3)]}, r"pair \(0, 3\) is not two NPUs of 0…2"),
        (("send_recv", 3), {"pairs": [(0, 1, 2)]}, r"pair \(0, 1, 2\) is not two NPUs of 0…2"),
        (("send_recv", 3), {"groups": [[0, 1]]}, "send_recv: takes no groups; its pairs say who takes part"),
        (("all_gather", 3), {"pairs": [(0, 1)]}, "all_gather: takes no pairs; those are for send_recv"),
    ])  # fmt: skip
    def test_collective(self, arguments, fields, message):
        """Each fault is named with what was expected."""
        with pytest.raises(CollectiveError, match=message):
            collective(*arguments, **fields)

    @pytest.mark.parametrize(("initial", "final", "message"), [
        ([[0]], [], "1 initial and 0 final sets; expected one of each a chunk"),
        ([[0], []], [[1], [1]], "nobody holds chunk 1 at the start"),
        ([[0], [2]], [[1], [1]], "chunk 1 names NPU 2; the network has 0…1"),
        ([[0]], [[-1]], "chunk 0 names NPU -1"),
    ])  # fmt: skip
    def test_custom(self, initial, final, message):
        """Each fault of the conditions is named."""
        with pytest.raises(CollectiveError, match=message):
            custom(2, initial, final)

    def test_tree(self):
        """The error is a ValueError and one of collbench's own."""
        assert issubclass(CollectiveError, ValueError)
        assert issubclass(CollectiveError, CollbenchError)
