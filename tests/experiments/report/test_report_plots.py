"""The interactive plots of a report: drawn when they are seen, from the figures that ``collbench plot`` draws from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from experiments.plots.busbw import bound_gbps
from experiments.plots.pareto import front
from experiments.plots.rows import medians, places_of, series_of
from experiments.plots.scaling import family_of, power_law
from experiments.plots.style import looks
from experiments.report.reading import joined, read_sources
from experiments.tables import write_results
from tests.experiments.report.results import reported, small_rows, write_small


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of results."""
    return write_small(tmp_path_factory.mktemp("plots") / "small")


@pytest.fixture(scope="module")
def file(folder):
    """The report of the folder, without schedules."""
    return reported(folder / "report.html", folder, "--players", 0)


@pytest.fixture(scope="module")
def rows(folder):
    """The rows as the plots of `collbench plot` take them."""
    found = joined(read_sources([str(folder)]))
    return found.assign(series=found["label"], place=places_of(found))


@pytest.fixture
def drawn(opened, file):
    """Return a function that opens the report and has everything drawn."""

    def draw(address="", **options):
        page = opened(file, **({"viewport": {"width": 1280, "height": 844}} | options))
        if address:
            page.goto(f"{file.resolve().as_uri()}#{address}")
            page.reload()
        page.wait_for_selector("html[data-ready]")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        return page

    return draw


def panels(page, kind):
    """Return the title and traces of each panel of a kind."""
    return page.locator(f'[data-kind="{kind}"] .panel').evaluate_all("""(panels) => panels.map((panel) => ({
        title: panel.querySelector("figcaption").textContent,
        traces: panel.querySelector(".canvas").data.map((trace) => JSON.parse(JSON.stringify(trace))),
        marks: (panel.querySelector(".canvas").layout.annotations ?? []).map((each) => each.text),
    }))""")


def named(panel, name):
    """Return the traces of a panel that have a name."""
    return [trace for trace in panel["traces"] if trace.get("name") == name]


class TestDrawing:
    def test_only_what_is_seen(self, opened, file):
        """Plotly is not read before a plot comes into view, and plots further down are not drawn before they do."""
        page = opened(file, viewport={"width": 1280, "height": 844})
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate("typeof Plotly") == "undefined"
        assert page.locator(".js-plotly-plot").count() == 0
        page.locator("#plots h2").scroll_into_view_if_needed()
        page.locator('[data-kind="pareto"] .canvas').first.scroll_into_view_if_needed()
        page.wait_for_selector('[data-kind="pareto"] .js-plotly-plot')
        assert page.evaluate("typeof Plotly") == "object"
        assert page.locator('[data-kind="efficiency"] .js-plotly-plot').count() == 0

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_they_are_not_blank(self, drawn, scheme):
        """Every panel of every kind has marks in the colours of those who take part."""
        page = drawn(color_scheme=scheme)
        for kind in ("pareto", "scaling", "busbw", "bars", "efficiency"):
            assert page.locator(f'[data-kind="{kind}"] .panel').count() >= 1
            for canvas in page.locator(f'[data-kind="{kind}"] .canvas').all():
                colours = canvas.locator("path").evaluate_all(
                    "(paths) => paths.flatMap((path) => [getComputedStyle(path).fill, getComputedStyle(path).stroke])"
                )
                assert {"rgb(0, 114, 178)", "rgb(213, 94, 0)"} <= set(colours), kind  # Ring and TACOS
                box = canvas.locator(".main-svg").first.bounding_box()
                assert box["width"] > 200
                assert box["height"] > 200

    def test_a_turn_of_the_theme(self, drawn):
        """What has been drawn takes the colours of the other theme."""
        page = drawn()
        bound = "document.querySelector('[data-kind=busbw] .canvas').data[0].line.color"
        light = page.evaluate(bound)
        page.locator("#theme").click()
        assert page.evaluate(bound) != light

    def test_narrow(self, drawn):
        """At 390 px every panel fits."""
        page = drawn(viewport={"width": 390, "height": 844})
        for canvas in page.locator(".canvas").all():
            assert canvas.bounding_box()["width"] <= 390
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


class TestContent:
    def test_looks(self, drawn, rows):
        """Colours and legends are those of the plots of collbench plot."""
        page = drawn()
        (panel,) = [panel for panel in panels(page, "busbw") if panel["title"] == "mesh:3x3"]
        for look in looks(series_of(rows)).values():
            for trace in named(panel, look.label):
                assert trace["line"]["color"] == look.colour

    def test_busbw(self, drawn, rows):
        """Bus bandwidth by size, median of repeats, and the bound."""
        page = drawn("draw=all_reduce")
        of_it = rows[rows["collective"] == "all_reduce"]
        values, look = medians(of_it, "busbw_gbps"), looks(series_of(rows))
        found = panels(page, "busbw")
        assert [panel["title"] for panel in found] == ["mesh:2x2", "mesh:3x3", "mesh:4x4", "dgx1"]
        compared = 0
        for panel in found:
            for name, each in look.items():
                points = {(place, size): value for (place, size, who), value in values.items()
                          if (who, place) == (name, panel["title"])}  # fmt: skip
                traces = named(panel, each.label)
                assert bool(traces) == bool(points)
                for trace in traces:
                    assert dict(zip([(panel["title"], x) for x in trace["x"]], trace["y"], strict=True)) == points
                    compared += len(points)
            bound = of_it[(of_it["place"] == panel["title"])].iloc[0]
            (trace,) = named(panel, "Bound (provable)")
            assert trace["y"][trace["x"].index(bound["size"])] == pytest.approx(
                bound_gbps("all_reduce", bound["ranks"], bound["size"], bound["bound_us"])
            )
        assert compared == 4 * 4 * 4

    def test_bars(self, drawn, rows):
        """Speeds relative to Ring at the first, a middle and the last size, the bound, and what is not supported."""
        page = drawn("draw=all_gather")
        times = medians(rows[rows["collective"] == "all_gather"], "time_us")
        found = panels(page, "bars")
        assert [panel["title"] for panel in found] == [f"AllGather, {size}" for size in ("64KiB", "16MiB", "256MiB")]
        for panel, size in zip(found, (2**16, 2**24, 2**28), strict=True):
            (trace,) = named(panel, "TACOS")
            assert trace["y"] == [
                times[place, size, "ring"] / times[place, size, "tacos"]
                for place in ("mesh:2x2", "mesh:3x3", "mesh:4x4", "dgx1")
            ]
            (mark,) = named(panel, "Bound (provable)")
            assert min(height for height in mark["y"] if height) >= max(trace["y"][:1])
            assert panel["marks"] == []
        assert "No schedule: Double binary tree (n/a), mine (failed)." in page.locator("#plots").inner_text()

    def test_what_is_absent(self, opened, rows, tmp_path):
        """Where a synthesizer that takes part has no schedule, its status stands in place of bar and point."""
        some = small_rows()[:64]
        failed = {"status": "failed", "reason": "no luck", "time_us": None, "efficiency": None, "busbw_gbps": None}
        write_results(
            tmp_path, [row | failed if row["label"] == "direct" and row["size"] == 2**16 else row for row in some]
        )
        path = reported(tmp_path / "page.html", tmp_path, "--players", 0)
        page = opened(path)
        page.wait_for_selector("html[data-ready]")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert [panel["marks"] for panel in panels(page, "bars")] == [["failed"], [], []]
        texts = [panel["traces"][-1]["text"] for panel in panels(page, "efficiency")]
        assert texts == [["Direct: failed"], [], []]

    def test_efficiency(self, drawn, rows):
        """Efficiency of each synthesizer on each topology."""
        page = drawn("draw=all_reduce")
        values = medians(rows[rows["collective"] == "all_reduce"], "efficiency")
        panel = panels(page, "efficiency")[-1]
        for name, label in (("ring", "Ring"), ("tacos", "TACOS"), ("double_binary_tree", "Double binary tree")):
            (trace,) = named(panel, label)
            expected = [values[place, 2**28, name] for place in ("mesh:2x2", "mesh:3x3", "mesh:4x4", "dgx1")]
            assert [x / 100 for x in trace["x"]] == pytest.approx(expected)

    def test_scaling(self, drawn, rows):
        """Synthesis times by NPUs, and the laws that collbench plot fits."""
        page = drawn()
        (panel, _) = panels(page, "scaling")
        of_it = rows[(rows["collective"] == "all_gather") & (rows["status"] == "ok") & (rows["label"] == "tacos")]
        points = of_it.groupby(["place", "size", "num_npus"], sort=False)["synthesis_s"].median().reset_index()
        (trace,) = named(panel, "TACOS")
        assert (trace["x"], trace["y"]) == (points["num_npus"].tolist(), points["synthesis_s"].tolist())
        meshes = points[points["place"].map(family_of) == "mesh:X×Y"]
        slope, _ = power_law(meshes["num_npus"].to_numpy(float), meshes["synthesis_s"].to_numpy(float))
        laws = page.locator('[data-kind="scaling"] .panel').first.locator(".laws li").all_inner_texts()
        assert len(laws) == 3
        assert laws[2].strip() == f"TACOS, mesh:X×Y: ∝ NPUs{slope:.2f}"

    def test_pareto(self, drawn, rows):
        """Means over the problems that all solved, and the front."""
        page = drawn()
        (panel, _) = panels(page, "pareto")
        assert panel["title"] == "AllGather (16 common problems)"
        of_it = rows[(rows["collective"] == "all_gather") & (rows["status"] == "ok")]
        points = of_it.groupby(["place", "size", "label"])[["efficiency", "synthesis_s"]].median().reset_index()
        expected = {}
        for label, of_one in points.groupby("label"):
            expected[label] = (math.exp(np.log(of_one["synthesis_s"]).mean()), of_one["efficiency"].mean())
        for label, name in (("ring", "Ring"), ("direct", "Direct"), ("tacos", "TACOS")):
            *_, mean = named(panel, name)
            assert (mean["x"][0], mean["y"][0] / 100) == pytest.approx(expected[label])
        (line,) = named(panel, "Pareto front")
        kept = front(list(expected.values()))
        assert line["x"] == pytest.approx([cost for cost, _ in kept])
        assert [y / 100 for y in line["y"]] == pytest.approx([quality for _, quality in kept])


class TestChoosing:
    def test_they_follow_the_choices(self, drawn):
        """Plots are of the rows in view."""
        page = drawn("topology=dgx1&label=ring&label=tacos")
        assert [panel["title"] for panel in panels(page, "busbw")] == ["dgx1"]
        assert [trace["name"] for trace in panels(page, "busbw")[0]["traces"]] == ["Bound (provable)", "Ring", "TACOS"]

    def test_nothing_to_draw(self, drawn):
        """Where nothing that worked is chosen, the plots say so."""
        page = drawn("status=failed")
        assert page.locator(".canvas").count() == 0
        assert page.get_by_text("Nothing that worked is chosen").count() == 5

    def test_by_collective(self, drawn):
        """Another collective is drawn when it is chosen, and the address keeps it."""
        page = drawn()
        page.locator("#collective").select_option("all_reduce")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert panels(page, "bars")[0]["title"] == "AllReduce, 64KiB"
        assert page.url.endswith("draw=all_reduce")

    def test_the_legend_hides(self, drawn):
        """An entry of the legend, pressed by key, takes a synthesizer out of all plots, and brings it back."""
        page = drawn()
        entry = page.locator(".legend").get_by_role("button", name="Direct")
        entry.focus()
        page.keyboard.press("Enter")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert entry.get_attribute("aria-pressed") == "false"
        assert not any(named(panel, "Direct") for kind in ("busbw", "bars", "pareto") for panel in panels(page, kind))
        page.keyboard.press("Enter")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert all(named(panel, "Direct") for panel in panels(page, "busbw"))

    def test_a_point_leads_to_its_problem(self, drawn):
        """A press on a point opens the page of its problem."""
        page = drawn()
        canvas = page.locator('[data-kind="busbw"] .canvas').first
        canvas.scroll_into_view_if_needed()
        point = canvas.locator(".scatterlayer .points path").last
        box = point.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(200)
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_selector("#problem-title")
        assert page.locator("#problem-title").inner_text() == "AllGather of 256MiB on mesh:2x2"
