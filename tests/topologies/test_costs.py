"""What networks cost."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topologies
from topologies import (
    Costs,
    FormatError,
    Topology,
    TopologyError,
    circulant,
    fabric,
    fat_tree,
    kautz,
    random_regular,
    ring,
    switch,
    torus,
)

# Gb/s → (transceiver, NIC, switch port) in USD, after TopoOpt (arXiv 2202.00433).
PAPER = {10: (20, 185, 94), 25: (39, 185, 144), 40: (39, 354, 144), 100: (99, 678, 187), 200: (198, 815, 374)}

GOOD = """# mine
part,gbit_per_s,usd
transceiver,100,10
nic,100,100
switch_port,100,20.5
patch_panel_port,,1
optical_switch_port,,2
switch_1x2,,0
"""


@pytest.fixture(scope="module")
def costs():
    """The prices that come with collbench."""
    return Costs.read()


class TestRead:
    def test_prices_of_the_paper(self, costs):
        """The shipped list is the paper's."""
        for gbit_per_s, (transceiver, nic, port) in PAPER.items():
            assert costs.part_usd("transceiver", gbit_per_s) == transceiver
            assert costs.part_usd("nic", gbit_per_s) == nic
            assert costs.part_usd("switch_port", gbit_per_s) == port
        assert costs.fixed == {"patch_panel_port": 100, "optical_switch_port": 520, "switch_1x2": 25}

    def test_is_package_data(self):
        """The list lies in the package, and is installed with it."""
        project = tomllib.loads((Path(topologies.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
        assert "costs.csv" in project["tool"]["setuptools"]["package-data"]["*"]

    @pytest.mark.parametrize("before", ["", "\ufeff", "\n,,\n"])
    def test_own_prices(self, tmp_path, before):
        """A user's list is read, with comments, a byte-order mark or empty lines."""
        (tmp_path / "mine.csv").write_text(before + GOOD, encoding="utf-8")
        mine = Costs.read(tmp_path / "mine.csv")
        assert mine.fat_tree_usd(2, 100) == 2 * (100 + 6 * 10 + 5 * 20.5)
        assert mine.fabric_usd(fabric(1, 1, 12.5)) == 100 + 10 + 1

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("part,gbit_per_s,usd", "part;gbit_per_s;usd", "line 2: columns 'part;gbit_per_s;usd'; expected part,gbit"),
            ("nic,100,100", "nicc,100,100", "line 4: unknown part 'nicc'; did you mean nic?"),
            ("nic,100,100", "quux,100,100", "line 4: unknown part 'quux'; expected one of transceiver, nic"),
            ("nic,100,100", "nic,100", "line 4: found 2 fields, expected 3"),
            ("nic,100,100", "nic,100,1,000", "line 4: found 4 fields, expected 3"),
            ("nic,100,100", "nic,,100", "line 4: gbit_per_s ''; expected a number"),
            ("nic,100,100", "nic,0,100", "line 4: gbit_per_s '0'; expected more than 0"),
            ("nic,100,100", "nic,100,-5", "line 4: usd '-5'; expected a number of 0 or more"),
            ("nic,100,100", "nic,100,nan", "line 4: usd 'nan'; expected a number"),
            ("nic,100,100", "nic,100,$100", "line 4: usd"),
            ("nic,100,100", "nic,100,", "line 4: usd ''"),
            ("nic,100,100", 'nic,"100,100', "line 4: .*; expected part,gbit_per_s,usd"),
            ("nic,100,100", "nic,100,100\nnic,100.0,7", "line 5: nic of 100 Gb/s has a price above already"),
            ("switch_1x2,,0", "switch_1x2,,0\nswitch_1x2,,0", "line 9: switch_1x2 has a price above already"),
            ("switch_1x2,,0", "switch_1x2,100,0", "line 8: switch_1x2 has one price; expected no gbit_per_s"),
            ("switch_1x2,,0\n", "", "mine.csv: no price of switch_1x2; expected a line such as switch_1x2,,50"),
            ("nic,100,100\n", "", "mine.csv: no price of nic; expected a line such as nic,100,50"),
        ],
    )
    def test_faults(self, tmp_path, old, new, message):
        """A list that is wrong is refused in one line that says where and why."""
        assert old in GOOD
        (tmp_path / "mine.csv").write_text(GOOD.replace(old, new), encoding="utf-8")
        with pytest.raises(FormatError, match=message) as caught:
            Costs.read(tmp_path / "mine.csv")
        assert "\n" not in str(caught.value)

    def test_no_list(self, tmp_path):
        """No file, an empty one, and one that is not text."""
        with pytest.raises(FormatError, match="cannot read .*nothing.csv: No such file"):
            Costs.read(tmp_path / "nothing.csv")
        (tmp_path / "empty.csv").write_bytes(b"")
        with pytest.raises(FormatError, match="no price of transceiver"):
            Costs.read(tmp_path / "empty.csv")
        (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(FormatError, match="is not text; expected a CSV file"):
            Costs.read(tmp_path / "bytes.csv")


class TestPartUsd:
    @pytest.mark.parametrize(
        ("part", "gbit_per_s", "usd"),
        [("nic", 150, (678 + 815) / 2), ("transceiver", 55, 39 + 60 / 4), ("nic", 12.5, 185), ("switch_port", 5, 47),
         ("nic", 400, 2 * 815), ("switch_port", 250, 374 * 1.25)],
    )  # fmt: skip
    def test_between_and_beyond(self, costs, part, gbit_per_s, usd):
        """Between two prices it is linear, below the first a share of it, above the last a multiple."""
        assert costs.part_usd(part, gbit_per_s) == pytest.approx(usd)

    def test_refusals(self, costs):
        """Parts that have no bandwidth, and bandwidths that are none."""
        with pytest.raises(TopologyError, match="part 'switch_1x2'; expected one of transceiver, nic, switch_port"):
            costs.part_usd("switch_1x2", 100)
        for wrong in (0, -1, float("inf"), float("nan")):
            with pytest.raises(TopologyError, match="expected a finite value of more than 0"):
                costs.part_usd("nic", wrong)


class TestNetworks:
    def test_fat_tree(self, costs):
        """A host of a fat-tree takes a NIC, 6 transceivers and 5 ports: 2,207 USD at 100 Gb/s."""
        assert costs.fat_tree_usd(128, 100) == 128 * 2207 == 128 * (678 + 6 * 99 + 5 * 187)

    def test_oversubscribed(self, costs):
        """At 2:1 it takes 4 transceivers and 3 ports; at 4:1 3 and 2."""
        assert costs.fat_tree_usd(1, 100, 2) == 678 + 4 * 99 + 3 * 187
        assert costs.fat_tree_usd(1, 100, 4) == 678 + 3 * 99 + 2 * 187

    @pytest.mark.parametrize("ratio", [1, 2])
    def test_counts_of_the_tree(self, costs, ratio):
        """Transceivers and ports are those of the tree of 128 hosts, its links taken apart into links of a host's."""
        network = fat_tree(128, 12.5, oversubscription=ratio)
        cables = network.bandwidth_gbps.sum() / 2 / 12.5
        at_switches = (network.bandwidth_gbps[network.src >= 128]).sum() / 12.5
        expected = 128 * 678 + 2 * cables * 99 + at_switches * 187
        assert costs.fat_tree_usd(128, 100, ratio) == pytest.approx(expected)

    def test_ideal_switch(self, costs):
        """An ideal switch of 4 × 100 Gb/s costs as much as a fat-tree of 400 Gb/s, twice one of 200."""
        assert costs.ideal_switch_usd(16, 400) == costs.fat_tree_usd(16, 400) == 16 * 2 * (815 + 6 * 198 + 5 * 374)

    @pytest.mark.parametrize(
        ("gbit_per_s", "ports", "usd"), [(100, 4, 3608), (25, 8, 8 * (185 + 39 + 125)), (10, 4, 4 * (185 + 20 + 125))]
    )
    def test_fabric(self, costs, gbit_per_s, ports, usd):
        """A port of TopoOpt takes a NIC, a transceiver, a panel port and a 1x2 switch: 3,608 USD for 4 of 100 Gb/s."""
        assert costs.fabric_usd(fabric(128, ports, gbit_per_s / 8)) == 128 * usd

    def test_optical_switch(self, costs):
        """An optical switch takes a port of its own for each, and no 1x2 switch."""
        assert costs.fabric_usd(fabric(128, 4, 12.5, switching="optical_switch")) == 128 * 4 * (678 + 99 + 520)

    @pytest.mark.parametrize(
        ("network", "ports"),
        [(torus((4, 4), 12.5), 64), (ring(8, 12.5), 16), (ring(8, 12.5, one_way=True), 8),
         (random_regular(16, 5, 12.5), 80), (kautz(12, 2, 12.5), 24), (kautz(128, 4, 12.5), 512 - 4),
         (circulant(16, [1, 3, 7], 12.5), 48), (circulant(16, [1, 3], 12.5, one_way=False), 64)],
        ids=lambda value: getattr(value, "name", None),
    )  # fmt: skip
    def test_direct(self, costs, network, ports):
        """A port of a network without a panel takes a NIC and a transceiver, one way or both."""
        assert costs.direct_usd(network) == ports * (678 + 99)

    def test_ports_of_different_links(self, costs):
        """A port has the speed of the faster of its two links; dimensions of a torus are priced each at its own."""
        uneven = Topology(3, np.array([0, 0, 1]), np.array([1, 2, 0]), np.ones(3), np.array([12.5, 25.0, 12.5]))
        # NPU 0 sends at 200 and 100 and receives at 100; NPU 1 has one port of 100, NPU 2 one of 200.
        assert costs.direct_usd(uneven) == 2 * (678 + 99) + 2 * (815 + 198)
        assert costs.direct_usd(torus((4, 4), (12.5, 25.0))) == 32 * (678 + 99) + 32 * (815 + 198)

    def test_refusals(self, costs):
        """Networks that are not of that sort, and sizes that are none."""
        with pytest.raises(TopologyError, match="found 1 switches, expected links between NPUs only"):
            costs.direct_usd(switch(4))
        with pytest.raises(TopologyError, match="fabric:4x2 is not wired: its cost is fabric_usd's"):
            costs.direct_usd(fabric(4, 2))
        with pytest.raises(TopologyError, match="expected 1 or more"):
            costs.fat_tree_usd(0, 100)
        with pytest.raises(TopologyError, match="expected 1 or more"):
            costs.fat_tree_usd(4, 100, 0)
        with pytest.raises(TopologyError, match="bandwidth 0 Gb/s"):
            costs.fat_tree_usd(4, 0)


class TestCostEqual:
    @settings(max_examples=200, deadline=None)
    @given(st.floats(0.01, 10_000), st.integers(1, 4))
    def test_round_trip(self, gbit_per_s, ratio):
        """The bandwidth that a tree's cost pays for is the tree's."""
        costs = Costs.read()
        found = costs.cost_equal_gbit_per_s(costs.fat_tree_usd(1, gbit_per_s, ratio), ratio)
        assert found == pytest.approx(gbit_per_s, rel=1e-9)

    @pytest.mark.parametrize(
        ("budget", "gbit_per_s"),
        [(2207, 100), (3873, 200), (3608, 100 + 100 * (3608 - 2207) / (3873 - 2207)), (775 / 2, 5), (7746, 400)],
    )
    def test_known(self, costs, budget, gbit_per_s):
        """TopoOpt's 4 ports of 100 Gb/s pay for a fat-tree of 184 Gb/s; half of the slowest pays for half its speed."""
        assert costs.cost_equal_gbit_per_s(budget) == pytest.approx(gbit_per_s)

    def test_oversubscribed_pays_for_more(self, costs):
        """The same budget pays for a faster host below a tree that is 2:1."""
        assert costs.cost_equal_gbit_per_s(3608, 2) > costs.cost_equal_gbit_per_s(3608)

    def test_falling_prices(self):
        """Where a faster part costs less, the greatest bandwidth that the budget pays for is meant."""
        nothing = ((10.0, 0.0),)
        odd = Costs({"nic": ((10.0, 100.0), (20.0, 50.0)), "transceiver": nothing, "switch_port": nothing}, {})
        assert odd.cost_equal_gbit_per_s(50) == 20
        assert odd.cost_equal_gbit_per_s(75) == 30
        assert odd.cost_equal_gbit_per_s(40) == pytest.approx(4)

    def test_refusals(self, costs):
        """Budgets that pay for nothing, and prices at which everything is free."""
        for wrong in (0, -1, float("inf"), float("nan")):
            with pytest.raises(TopologyError, match="expected more than 0, and finite"):
                costs.cost_equal_gbit_per_s(wrong)
        free = dict.fromkeys(("nic", "transceiver", "switch_port"), ((10.0, 0.0),))
        with pytest.raises(TopologyError, match="costs nothing; expected a price above 0"):
            Costs(free, {}).cost_equal_gbit_per_s(5)
