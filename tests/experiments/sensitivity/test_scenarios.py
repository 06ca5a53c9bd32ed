"""Scenarios: what they are called, and what they make of a network, a link model and a size."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.sensitivity import AS_RUN, Scenario, scenarios
from simulator import LinkModel
from topologies import OptionError, ring, torus


def named(name, **settings):
    """Return the scenario of a name."""
    (found,) = [scenario for scenario in scenarios(**settings) if scenario.name == name]
    return found


class TestScenarios:
    def test_names(self):
        """All changes, each by a name of its own, the unchanged one first."""
        assert [scenario.name for scenario in scenarios(0.2, 0.1, draws=1)] == [
            AS_RUN, "latency ×0.8", "latency ×1.2", "bandwidth ×0.9", "bandwidth ×1.1",
            "latency ×0.8 and bandwidth ×0.9", "latency ×0.8 and bandwidth ×1.1", "latency ×1.2 and bandwidth ×0.9",
            "latency ×1.2 and bandwidth ×1.1", "uneven links 1", "other latency model", "other switching", "size ÷16",
            "size ×16",
        ]  # fmt: skip

    def test_sizes(self):
        """Sizes given stand for those that follow from the problem's."""
        found = [(each.name, each.nbytes(7)) for each in scenarios(sizes=[10**6, 5], draws=0)[-2:]]
        assert found == [("size 1MB", 10**6), ("size 5B", 5)]

    @pytest.mark.parametrize(("size", "less", "more"), [(0, 0, 0), (1, 1, 16), (32, 2, 512), (33, 3, 528)])
    def test_other_sizes(self, size, less, more):
        """A sixteenth is rounded up to a byte: something stays something."""
        assert (named("size ÷16").nbytes(size), named("size ×16").nbytes(size)) == (less, more)

    @pytest.mark.parametrize("change", [0.0, -0.2, 1.0, 1.5, float("nan")])
    @pytest.mark.parametrize("what", ["latency", "bandwidth"])
    def test_changes_refused(self, what, change):
        """A change of nothing, or of all, is refused."""
        with pytest.raises(OptionError, match=f"{what} change .*: expected more than 0 % and less than 100 %"):
            scenarios(**{f"{what}_change": change})


class TestNetwork:
    def test_alike(self):
        """All links alike: the factors are exact, the name stays."""
        found = named("latency ×1.2 and bandwidth ×0.8").network(ring(4, 50.0, 0.5))
        assert found == ring(4, 40.0, 0.6)
        assert found.name == ring(4, 50.0, 0.5).name

    def test_unchanged(self):
        """Where only the model or the size differs, it is the network itself."""
        topology = ring(4)
        for name in (AS_RUN, "other latency model", "other switching", "size ×16"):
            assert named(name).network(topology) is topology

    def test_uneven(self):
        """Each link is on its own within the change, and every draw is another network, the same every time."""
        topology = torus([16, 16])
        found = [named(f"uneven links {draw}").network(topology) for draw in (1, 2)]
        for network in found:
            for values, before in (
                (network.latency_ps, topology.latency_ps),
                (network.bytes_per_s, topology.bytes_per_s),
            ):
                factors = values / before
                assert factors.min() == pytest.approx(0.8, abs=0.01)
                assert factors.max() == pytest.approx(1.2, abs=0.01)
                assert factors.mean() == pytest.approx(1, abs=0.02)
        assert abs(np.corrcoef(found[0].latency_ps, found[0].bytes_per_s)[0, 1]) < 0.1
        assert found[0] != found[1]
        assert found[0] == named("uneven links 1").network(torus([16, 16]))
        assert found[0] != named("uneven links 1", seed=1).network(topology)

    def test_uneven_by_its_own_change(self):
        """Latencies differ by their change, bandwidths by theirs."""
        topology = torus([16, 16])
        found = named("uneven links 1", latency_change=0.5, bandwidth_change=0.001).network(topology)
        assert np.ptp(found.latency_ps / topology.latency_ps) > 0.9
        assert 0.0015 < np.ptp(found.bytes_per_s / topology.bytes_per_s) <= 0.002


class TestLinkModel:
    def test_others(self):
        """The other latency and the other switching, one at a time, and back again."""
        model = LinkModel("blocking", "store_and_forward")
        assert named("other latency model").link_model(model) == LinkModel("pipelined", "store_and_forward")
        assert named("other switching").link_model(model) == LinkModel("blocking", "cut_through")
        assert Scenario("x").link_model(model) == model
        both = Scenario("x", other_latency=True, other_switching=True)
        assert both.link_model(both.link_model(model)) == model
