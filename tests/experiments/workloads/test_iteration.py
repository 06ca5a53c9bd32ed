"""Time of an iteration from its parts, with and without overlap."""

from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.workloads import IterationTime, WorkloadError

seconds = st.floats(0, 1e6)


class TestIterationTime:
    @pytest.mark.parametrize(
        ("times", "no_overlap_s", "exposed_s"),
        [
            ((3, 1, 2), 5, 1),  # AllReduce adds 1, which hides behind the 2 of the backward pass
            ((3, 1, 6), 9, 4),  # 5 of AllReduce, 2 hidden: 1 + 3
            ((3, 0, 2), 5, 0),
            ((0, 1, 4), 4, 4),  # nothing to hide behind
            ((3, 5, 4), 7, 4),  # the schedule of both is the faster one
        ],
    )
    def test_by_hand(self, times, no_overlap_s, exposed_s):
        """Each figure is what its definition gives."""
        time = IterationTime(*times)
        assert time.no_overlap_s == no_overlap_s
        assert time.exposed_s == pytest.approx(exposed_s)
        assert time.overlap_s == pytest.approx(times[0] + exposed_s)
        assert time.hidden_s == pytest.approx(times[0] * 2 / 3)

    @given(seconds, seconds, seconds)
    def test_overlap_helps(self, compute_s, mp_s, joint_s):
        """Overlap saves at most the backward pass, never costs, and never beats computing and MP traffic."""
        time = IterationTime(compute_s, mp_s, joint_s)
        slack = 1e-9 * (1 + time.no_overlap_s)
        assert time.no_overlap_s - time.hidden_s - slack <= time.overlap_s <= time.no_overlap_s + slack
        assert time.overlap_s >= compute_s + min(mp_s, joint_s) - slack

    @pytest.mark.parametrize("times", [(-1, 0, 0), (0, nan, 0), (0, 0, inf)])
    def test_no_times(self, times):
        """What is no time is refused by its name."""
        with pytest.raises(WorkloadError, match="iteration: (compute|mp|joint)_s is .*; expected seconds, 0 or more"):
            IterationTime(*times)
