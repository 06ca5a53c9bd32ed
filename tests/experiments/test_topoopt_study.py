"""Tables and figures of the TopoOpt study on rows made by hand: figures at their places, gaps and failures shown."""

from __future__ import annotations

import matplotlib
import pytest

from experiments.plots.style import styled
from experiments.topoopt_study import write_study
from experiments.topoopt_study.figures.bandwidth import bandwidth_figure
from experiments.topoopt_study.figures.convergence import convergence_figure
from experiments.topoopt_study.figures.cost import cost_figure
from experiments.topoopt_study.figures.dollars import dollars_figure
from experiments.topoopt_study.figures.link_load import link_load_figure
from experiments.topoopt_study.figures.prototype import prototype_figure
from experiments.topoopt_study.figures.relative import relative_figure
from experiments.topoopt_study.figures.tax import tax_figure
from experiments.topoopt_study.looks import LOOKS, ticks
from experiments.topoopt_study.networks import NETWORKS
from experiments.topoopt_study.prices import cost_tables, ported_usd
from experiments.topoopt_study.rows import Case, at_reference, frame_of, rows_of, spread
from experiments.topoopt_study.speedup import speedups, summary
from experiments.topoopt_study.tables import comparison
from tests.experiments.topoopt_rows import ROWS, broken, measured, studied
from topologies.costs import Costs

CASE = Case(16, 4)


def cells(text, first):
    """Return the cells of the first line of a table that starts with a cell."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {first} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def part(text, title):
    """Return the table with a title."""
    return text[text.index(title) :].split("\n\n")[1]


def texts(figure):
    """Return all that is written in a figure."""
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text)]


def points(axes, label):
    """Return the points of the line with a label."""
    (handle,) = [each for each, name in zip(*axes.get_legend_handles_labels(), strict=True) if name == label]
    line = handle[0] if isinstance(handle, tuple) else handle
    return [(round(float(x), 6), round(float(y), 6)) for x, y in zip(*line.get_data(), strict=True)]


@pytest.fixture(autouse=True)
def style():
    """Draw as the study does."""
    with styled():
        yield


class TestTables:
    def test_times(self):
        """A cell is the median with least and most where seeds differ; the best is bold, and never the ideal switch."""
        text = part(comparison(studied(*ROWS)), "DLRM, ms for an iteration, no overlap")
        assert cells(text, "network") == ["network", "25 Gb/s", "100 Gb/s"]
        assert cells(text, "TopoOpt") == ["TopoOpt", "42.00 (40.00–50.00)", "**20.00**"]
        assert cells(text, "Ideal switch") == ["Ideal switch", "20.00", "10.00"]
        assert cells(text, "Single ring") == ["Single ring", "**41.00**", "failed"]

    def test_overlap_is_another_table(self):
        """The times with overlap stand in a table of their own."""
        text = part(comparison(studied(*ROWS)), "DLRM, ms for an iteration, with overlap")
        assert cells(text, "Fat-tree, equal cost")[1:] == ["83.00", "29.00"]

    def test_gaps_are_blank(self):
        """What was not run is a blank cell, not a failure."""
        rows = studied(measured("topoopt", 20), measured("fat_tree", 30, gbit=25))
        text = part(comparison(rows), "DLRM, ms for an iteration, no overlap")
        assert cells(text, "TopoOpt")[1:] == ["", "**20.00**"]

    def test_what_it_consists_of(self):
        """Parts are in ms, the cost is of a server, and time × cost is seconds times USD."""
        text = part(comparison(studied(*ROWS)), "What an iteration consists of at 100 Gb/s: 16 servers, d = 4")
        line = next(line for line in text.splitlines() if "Fat-tree" in line)
        # 30 ms × 3608 USD
        assert [cell.strip() for cell in line.strip("|").split("|")] == [
            "DLRM", "Fat-tree, equal cost", "5.000", "2.000", "1.000", "1.500", "3,608", "108.2",
        ]  # fmt: skip

    def test_reasons(self):
        """Each reason is said once, with where it came up."""
        rows = studied(
            *(broken("ring", "no ring\ntoday", gbit=gbit, seed=seed) for gbit in (25, 100) for seed in (0, 1))
        )
        text = comparison(rows)
        assert "- Single ring, 16 servers, d = 4: failed: no ring today (DLRM at 25, 100 Gb/s)" in text
        assert text.count("no ring today") == 1

    def test_speedups(self):
        """A speedup is the fat-tree's median over TopoOpt's; the published figure is said to be one."""
        rows = studied(*ROWS)
        assert speedups(rows, CASE) == pytest.approx({("dlrm", 25.0): 2.0, ("dlrm", 100.0): 1.5, ("vgg16", 100.0): 2.0})
        text = summary(rows)
        # √(2 · 1.5), √(1.5 · 2) and ∛(2 · 1.5 · 2)
        assert cells(text, "DLRM") == ["DLRM", "2.00×", "1.50×", "1.73×"]
        assert cells(text, "geometric mean") == ["geometric mean", "2.00×", "1.73×", "1.82×"]
        assert "Published (arXiv 2202.00433): up to 3.4×" in text

    def test_speedup_needs_both(self):
        """Without a fat-tree there is no speedup, and the summary says so."""
        assert "No case has both." in summary(studied(measured("topoopt", 20)))

    def test_costs(self):
        """At 100 Gb/s and four ports, parts cost 4 · (678 + 99) USD, a panel 4 · 125, an optical switch 4 · 520."""
        costs = Costs.read()
        assert [ported_usd(costs, kind, 4, 100.0) for kind in ("direct", "patch_panel", "optical_switch")] == [
            3108, 3608, 5188,
        ]  # fmt: skip
        text = cost_tables(costs, [4])
        assert cells(text, "TopoOpt, patch panel")[4] == "3,608"
        # NIC, 6 transceivers and 5 ports of 200 Gb/s, twice
        assert cells(text, "fat-tree of 4 × that bandwidth")[4] == f"{2 * (815 + 6 * 198 + 5 * 374):,}"


class TestRows:
    def test_reference(self):
        """Where nothing was measured at 100 Gb/s, the fastest ports are shown."""
        rows = studied(measured("topoopt", 20, gbit=25), measured("topoopt", 30, gbit=10))
        assert [row["gbit_per_s"] for row in at_reference(rows)] == [25.0]

    def test_nothing(self):
        """No rows at all make an empty table with all columns."""
        assert rows_of(frame_of([])) == []
        assert spread([], "usd") is None


class TestFigures:
    def test_networks_differ(self):
        """Every network has a look, and no two have the same colour or mark."""
        assert set(LOOKS) == set(NETWORKS)
        for looks in ({look.colour for look in LOOKS.values()}, {look.marker for look in LOOKS.values()}):
            assert len(looks) == len(LOOKS)

    def test_bandwidth(self):
        """Medians stand at their bandwidths; what was measured at one only is no line."""
        figure = bandwidth_figure(studied(*ROWS), CASE)
        (axes,) = [each for each in figure.axes if each.axison]
        assert axes.get_title("left") == "DLRM"
        assert points(axes, "TopoOpt") == [(25.0, 42.0), (100.0, 20.0)]
        assert "Single ring" not in axes.get_legend_handles_labels()[1]
        assert [each.get_text() for each in axes.get_xticklabels()] == ["25", "100"]
        assert bandwidth_figure(studied(measured("topoopt", 20)), CASE) is None

    def test_relative(self):
        """Bars go from 1, the ideal switch, to the ratio of medians."""
        figure = relative_figure(studied(*ROWS), 16)
        (axes,) = figure.axes
        tops = [bar.get_y() + bar.get_height() for bar in axes.patches]
        assert tops == pytest.approx([2.0, 3.0])
        assert {"2.00", "16 servers, d = 4, 100 Gb/s"} <= set(texts(figure))
        assert relative_figure(studied(measured("topoopt", 20)), 16) is None

    def test_tax(self):
        """Only workloads with model-parallel traffic are shown; hops stand at their percentiles."""
        figure = tax_figure(studied(*ROWS), CASE)
        bars, hops = figure.axes
        assert [each.get_text() for each in bars.get_xticklabels()] == ["DLRM"]
        assert [bar.get_height() for bar in bars.patches] == [1.5] * 3
        assert points(hops, "TopoOpt")[3:5] == [(1, 50), (2, 75)]
        assert tax_figure(studied(measured("topoopt", 20, bandwidth_tax=None, hops=[])), CASE) is None

    def test_link_load(self):
        """Loads are in ms, percentiles in percent; an idle link is drawn, too."""
        idle = measured("ring", 20, link_busy_us=[0, 0, 50, 60, 70, 80, 90, 1000.0])
        figure = link_load_figure(studied(*ROWS, idle), CASE)
        figure.draw_without_rendering()
        assert points(figure.axes[0], "TopoOpt")[-1] == (10.1, 100)
        assert points(figure.axes[0], "Single ring")[0] == (0, 0)

    def test_convergence(self):
        """A search that ended early keeps its best; without the random one there is nothing to compare."""
        rows = [measured("topoopt", 20), measured("topoopt_random", 60, trace=[0.1, 0.06])]
        axes = convergence_figure(studied(*rows), CASE).axes[0]
        assert points(axes, "Random search") == [(1, 100), (2, 60), (3, 60)]
        assert points(axes, "TopoOpt")[-1] == (3, 20)
        assert convergence_figure(studied(*ROWS), CASE) is None

    def test_cost(self):
        """Ports are at d times their bandwidth, fat-trees at their own."""
        (axes,) = cost_figure(Costs.read(), [4, 8]).axes
        assert (400.0, 3608.0) in points(axes, "TopoOpt, patch panel, d = 4")
        assert (100.0, 678 + 6 * 99 + 5 * 187) in points(axes, "Fat-tree")
        assert len(axes.get_legend_handles_labels()[1]) == 9

    def test_dollars(self):
        """The front has what nothing else beats in both, and never the ideal switch."""
        axes = dollars_figure(studied(*ROWS), 16).axes[0]
        assert points(axes, "Ideal switch") == [(7746.0, 20.0), (7746.0, 10.0)]
        # The ring's only time is at 25 Gb/s.
        assert points(axes, "Pareto front") == [(3108, 41), (3608, 20)]

    def test_prototype(self):
        """A bar ends at the time of an iteration, which is written there."""
        rows = studied(measured("topoopt", 25, servers=12, gbit=25), broken("ring", "no", servers=12, gbit=25))
        figure = prototype_figure(rows, Case(12, 4))
        ends = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
        assert ends == pytest.approx([5, 25])
        assert {" 25.00", " not measured", "Single ring"} <= set(texts(figure))

    @pytest.mark.parametrize(("least", "most"), [(1, 5e4), (12, 700), (90, 350), (137, 190), (0.002, 0.0021)])
    def test_ticks(self, least, most):
        """However wide or narrow a logarithmic axis is, two ticks at least say where one is on it."""
        axes = matplotlib.figure.Figure().subplots()
        axes.set_yscale("log")
        axes.set_ylim(least, most)
        ticks(axes.yaxis)
        at = axes.get_yticks()
        assert 2 <= len(at) <= 10
        assert least <= min(at) < max(at) <= most
        assert axes.get_ylim() == pytest.approx((least, most))


class TestWriteStudy:
    def test_files(self, tmp_path):
        """Everything that rows have figures of is written and named last; speedups are printed first."""
        rows = [*ROWS, measured("topoopt_random", 22), measured("topoopt", 25, servers=12, gbit=25)]
        said = write_study(frame_of(rows), tmp_path)
        names = ["iteration_16x4", "tax_16x4", "link_load_16x4", "convergence_16x4", "prototype_12x4", "relative_16",
                 "dollars_16", "cost"]  # fmt: skip
        files = ["comparison.md", *(f"{name}.{suffix}" for name in names for suffix in ("png", "svg"))]
        assert said[0].startswith("## TopoOpt against the fat-tree of equal cost")
        assert said[-len(files) :] == [str(tmp_path / name) for name in files]
        assert {path.name for path in tmp_path.iterdir()} == set(files)

    def test_nothing_worked(self, tmp_path):
        """If every row failed, there are reasons instead of figures."""
        said = write_study(frame_of([broken("ring", "no luck")]), tmp_path)
        assert any("no luck" in each for each in said)
        assert {path.name for path in tmp_path.iterdir()} == {"comparison.md", "cost.png", "cost.svg"}
