"""The page of ``collbench report`` in a real browser: opened from disk, without a network, by mouse and keyboard."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from experiments.cli.output import number, share
from experiments.plots.style import short_time
from experiments.report.reading import joined, read_sources
from experiments.tables import load_results, write_results
from experiments.tables.ranking import ranking
from experiments.tables.repeats import aggregated
from tests.experiments.report.results import HOSTILE, reported, small_rows, write_small
from topologies import format_bytes

#: Rows on a page of a table.
PAGE = 25


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of results."""
    return write_small(tmp_path_factory.mktemp("page") / "small")


@pytest.fixture(scope="module")
def file(folder):
    """The report of the folder, with some schedules."""
    return reported(folder / "report.html", folder, "--players", 36)


@pytest.fixture
def shown(opened, file):
    """Return a function that opens the report at an address, with settings of the browser, and waits for it."""

    def show(address="", path=file, **options):
        page = opened(path, **({"viewport": {"width": 1280, "height": 844}} | options))
        if address:
            page.goto(f"{path.resolve().as_uri()}#{address}")
            page.reload()
        page.wait_for_selector("html[data-ready]")
        return page

    return show


def column(page, name, table="#rows"):
    """Return the texts of a column of a table, in the page of it that is in view."""
    place = page.locator(f"{table} thead th").evaluate_all(
        "(heads, name) => heads.findIndex((head) => head.dataset.column === name)", name
    )
    assert place >= 0, name
    return page.locator(f"{table} tbody tr > :nth-child({place + 1})").all_inner_texts()


def count(page):
    """Return how many rows are said to be shown."""
    return page.locator("#rows .count").inner_text()


def head(page, name):
    """Return the button in the head of a column."""
    return page.locator(f'#rows thead [data-column="{name}"] button')


def order(page, name):
    """Return how a column is said to be sorted."""
    return page.locator(f'#rows thead [data-column="{name}"]').get_attribute("aria-sort")


def tick(page, facet, value):
    """Choose a value of a facet."""
    menu = page.locator(f'[data-facet="{facet}"]')
    if menu.get_attribute("open") is None:
        menu.locator("summary").click()
    menu.locator(f'[data-value="{value}"]').check()


class TestOpening:
    def test_from_its_file(self, shown):
        """It opens from disk with its title, all sections and the first rows."""
        page = shown()
        assert page.url.startswith("file://")
        assert page.title() == "small – collbench report"
        assert page.locator("main section h2").all_inner_texts() == [
            "Ranking",
            "Tables",
            "All rows",
            "Problems",
            "Plots",
        ]
        assert count(page) == "259 rows"
        assert len(column(page, "label")) == PAGE

    def test_the_ranking(self, shown, folder):
        """The ranking is that of collbench rank, of rows that are proven."""
        page = shown()
        lines = page.locator("#ranking tbody tr").all()
        found = [line.locator("td, th").all_inner_texts() for line in lines]
        rows = joined(read_sources([str(folder)]))
        assert found == [[cell.text for cell in line] for line in ranking(rows).lines]

    def test_the_tables_of_the_file(self, shown):
        """The table that the experiment file asks for is there, and sorts its figures as numbers."""
        page = shown()
        assert page.locator("#tables h3").all_inner_texts() == ["Time, relative to a ring"]
        page.locator("#tables thead button", has_text="tacos").click()
        figures = [float(text) for text in column(page, "5", "#tables") if text[0].isdigit()]
        assert len(figures) > 10
        assert figures == sorted(figures)

    def test_a_screenshot_is_not_blank(self, shown):
        """In light and dark, wide and narrow, there is something to see."""
        from matplotlib.image import imread

        for scheme, width in (("light", 1280), ("dark", 390)):
            page = shown(color_scheme=scheme, viewport={"width": width, "height": 844})
            pixels = imread(io.BytesIO(page.screenshot()), format="png")[..., :3]
            assert (pixels.mean() < 0.3) == (scheme == "dark")
            assert len(np.unique((pixels * 255).astype(int).reshape(-1, 3), axis=0)) > 50

    def test_nothing_is_wider_than_the_screen(self, shown):
        """At 390 px only tables scroll sideways, not the page."""
        page = shown(viewport={"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page = shown("problem=5", viewport={"width": 390, "height": 844})
        page.wait_for_selector(".player")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390

    @pytest.mark.parametrize("kept", [[], small_rows()[-3:-1], small_rows()[:1]], ids=["none", "failures", "one"])
    def test_few_rows(self, shown, tmp_path, kept):
        """No rows, failures alone, or one row make a page without a fault."""
        write_results(tmp_path, kept)
        page = shown(path=reported(tmp_path / "page.html", tmp_path))
        if kept:
            page.locator("#plots").scroll_into_view_if_needed()
            assert count(page) == f"{len(kept)} row{'' if len(kept) == 1 else 's'}"
            assert set(column(page, "status")) == {row["status"] for row in kept}
        else:
            assert "There are no rows." in page.locator("#ranking").inner_text()
            assert page.locator("#rows, #plots").evaluate_all("(parts) => parts.every((part) => part.hidden)")


class TestFormats:
    def test_as_the_command_line(self, shown, tmp_path):
        """Sizes, times, shares and bandwidths read as on the command line."""
        sizes = [0, 1, 1000, 1024, 10**6, 2**20, 3 * 2**29, 10**12, 2**40 + 1, 123456789]
        times = [0.000001, 0.5, 1.0, 2.0005, 999.9994, 1000.04, 123456.78, 1e9, 0.12345678]
        row = small_rows()[0] | {"reason": ""}
        rows = [
            row | {"size": size, "time_us": time, "efficiency": 1 / (1 + time), "busbw_gbps": time}
            for size, time in zip(sizes, [*times, 7.0], strict=True)
        ]
        write_results(tmp_path, rows)
        page = shown(path=reported(tmp_path / "page.html", tmp_path, "--players", 0))
        assert column(page, "size") == [format_bytes(size) for size in sizes]
        assert column(page, "time_us") == [number(time) for time in [*times, 7.0]]
        assert column(page, "efficiency") == [share(1 / (1 + time)) for time in [*times, 7.0]]
        assert column(page, "busbw_gbps") == [number(time, 2) for time in [*times, 7.0]]

    def test_titles(self, shown):
        """A schedule to choose is told with its time in three digits."""
        page = shown("problem=5")
        best = min(row["time_us"] for row in small_rows()[40:48] if row["time_us"])
        assert page.locator("#schedule option").first.inner_text().endswith(short_time(best))


class TestSorting:
    def test_by_click(self, shown):
        """A head sorts up, then down, then leaves the order of the file; what has no value comes last."""
        page = shown("status=ok&status=unsupported")
        whole = column(page, "time_us")
        head(page, "time_us").click()
        times = [float(text.replace(",", "")) for text in column(page, "time_us")]
        assert (order(page, "time_us"), times) == ("ascending", sorted(times))
        assert times[0] == round(min(row["time_us"] for row in small_rows() if row["verified"]), 3)
        head(page, "time_us").click()
        times = [float(text.replace(",", "")) for text in column(page, "time_us")]
        assert (order(page, "time_us"), times) == ("descending", sorted(times, reverse=True))
        page.locator("#rows").get_by_role("button", name="Last page").click()
        assert column(page, "time_us")[-1] == "–"
        head(page, "time_us").click()
        assert (order(page, "time_us"), column(page, "time_us")) == ("none", whole)

    def test_by_keyboard(self, shown):
        """The tab key reaches a head, Enter and space sort, and the focus stays where it was."""
        page = shown()
        head(page, "label").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert (order(page, "topology"), order(page, "label")) == ("ascending", "none")
        page.keyboard.press("Space")
        assert order(page, "topology") == "descending"
        assert set(column(page, "topology")) == {"mesh:4x4"}
        assert page.evaluate("document.activeElement.closest('th').dataset.column") == "topology"

    def test_as_people_count(self, shown, tmp_path):
        """Text with numbers is sorted by them."""
        names = ["mesh:16x16", "mesh:4x4", "mesh:10x4"]
        write_results(tmp_path, [small_rows()[0] | {"topology": name} for name in names])
        page = shown("sort=topology+up", reported(tmp_path / "page.html", tmp_path, "--players", 0))
        assert column(page, "topology") == ["mesh:4x4", "mesh:10x4", "mesh:16x16"]


class TestChoosing:
    def test_by_facet(self, shown):
        """Values of one facet add up, facets narrow down, and counts say what other values would bring."""
        page = shown()
        tick(page, "label", "ring")
        assert count(page) == "64 of 259 rows"
        tick(page, "label", "mine")
        assert count(page) == "67 of 259 rows"
        tick(page, "topology", "dgx1")
        assert count(page) == "16 of 259 rows"
        assert set(column(page, "label")) == {"ring"}
        assert page.locator('[data-facet="topology"] li', has_text="mesh:2x2").locator("small").inner_text() == "19"
        page.get_by_role("button", name="Clear all choices").click()
        assert count(page) == "259 rows"

    def test_by_text(self, shown):
        """Every word must be somewhere in a row."""
        page = shown()
        page.get_by_label("Search").first.fill("took LONG")
        page.wait_for_function("document.querySelector('#rows .count').textContent.startsWith('1 of')")
        assert column(page, "status") == ["timeout"]
        assert column(page, "reason") == ["it took too long"]
        page.get_by_label("Search").first.fill("nowhere")
        page.get_by_text("No row fits the choices.").wait_for()
        assert count(page) == "0 of 259 rows"

    def test_by_keyboard(self, shown):
        """A facet opens, is ticked and closes by keys alone."""
        page = shown()
        page.locator("#search").focus()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator('[data-facet="topology"] li').first.wait_for()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert count(page) == "64 of 259 rows"
        assert set(column(page, "topology")) == {"dgx1"}
        page.keyboard.press("Escape")
        assert page.locator("details[open]").count() == 0
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"

    def test_the_address_keeps_them(self, shown):
        """Choices, order and columns are in the address, and opening that shows the same."""
        page = shown()
        tick(page, "collective", "all_reduce")
        tick(page, "size", str(2**20))
        page.keyboard.press("Escape")
        head(page, "efficiency").click()
        page.locator("#rows .tools summary").click()
        page.locator('#rows .tools [data-column="transfers"]').check()
        address = page.url.partition("#")[2]
        again = shown(address)
        assert count(again) == "32 of 259 rows"
        for name in ("topology", "efficiency", "transfers", "time_us"):
            assert column(again, name) == column(page, name)
        assert order(again, "efficiency") == "ascending"

    def test_columns(self, shown):
        """Any column of the results can be shown, and taken away."""
        page = shown()
        page.locator("#rows .tools summary").click()
        page.locator('#rows .tools [data-column="versions"]').check()
        page.locator('#rows .tools [data-column="reason"]').uncheck()
        heads = page.locator("#rows thead th").evaluate_all("(heads) => heads.map((head) => head.dataset.column)")
        assert "versions" in heads
        assert "reason" not in heads

    def test_what_is_unproven_has_no_time(self, shown):
        """A row that claims a time without proof shows none, and why."""
        page = shown("status=invalid")
        assert column(page, "label") == ["mine"]
        assert (column(page, "time_us"), column(page, "efficiency")) == (["–"], ["–"])
        assert column(page, "reason") == ["it was never verified"]

    def test_medians(self, shown, folder):
        """Repeats can be seen as their medians and spreads, as tables show them."""
        page = shown("view=medians")
        found = aggregated(joined(read_sources([str(folder)])), "time_us")
        assert count(page) == f"{len(found)} rows"
        times, spreads, runs = [], [], []
        while True:
            times += column(page, "time_us")
            spreads += column(page, "spread")
            runs += column(page, "runs")
            following = page.locator("#rows .pager").get_by_role("button", name="Next page")
            if following.is_disabled():
                break
            following.click()
        assert times == [number(value) for value in found["value"]]
        assert spreads == [number(value) for value in found["spread"]]
        assert runs[0] == "2"
        assert float(spreads[0]) > 0

    def test_export(self, shown, tmp_path):
        """The rows in view are saved with all columns, and are a results file again."""
        page = shown("label=tacos&label=mine&sort=time_us+down")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        download.value.save_as(tmp_path / "rows.csv")
        text = (tmp_path / "rows.csv").read_text()
        assert HOSTILE in [row["reason"] for row in csv.DictReader(io.StringIO(text))]
        rows = load_results(str(tmp_path / "rows.csv"))
        assert len(rows) == 67
        expected = pd.DataFrame([row for row in small_rows() if row["label"] == "tacos"])["time_us"]
        assert rows["time_us"].dropna().tolist() == sorted(expected, reverse=True)


class TestProblem:
    def test_by_link(self, shown):
        """A topology in a row leads to its problem, "back" to the rows as they were."""
        page = shown("label=ring&size=268435456")
        page.locator("#rows tbody a").first.click()
        assert page.locator("#problem-title").inner_text() == "AllGather of 256MiB on mesh:2x2"
        assert page.locator("#overview").is_hidden()
        assert page.evaluate("document.activeElement.id") == "problem-title"
        page.go_back()
        assert page.locator("#problem").is_hidden()
        assert count(page) == "16 of 259 rows"

    def test_what_it_says(self, shown):
        """Bound, what binds, each time beside the bound, and everybody's reasons."""
        page = shown("problem=0")
        rows = [row for row in small_rows() if (row["topology"], row["collective"], row["size"]) ==
                ("mesh:2x2", "all_gather", 2**16)]  # fmt: skip
        text = page.locator("#problem .facts").inner_text()
        assert f"{number(rows[0]['bound_us'])} µs, set by {rows[0]['bound_by']}" in text
        bars = page.locator("#problem .bars tbody tr")
        lines = bars.all_inner_texts()
        names = ["Direct", "TACOS", "Ring", "Double binary tree", "mine"]
        assert [line.split("\t")[0].strip() for line in lines] == names
        direct, tacos = ([row["time_us"] for row in rows if row["label"] == name] for name in ("direct", "tacos"))
        bound = rows[0]["bound_us"]
        assert direct == tacos
        for line in lines[:2]:
            assert f"{number(tacos[0])} µs" in line
            assert f"{tacos[0] / bound:.3f} × bound" in line
        assert "unsupported:" in lines[3]
        assert f"failed: {HOSTILE}" in lines[4]
        widths = bars.locator(".bar").evaluate_all("(bars) => bars.map((bar) => bar.getBoundingClientRect().width)")
        mark = bars.locator(".bound").first.evaluate(
            "(mark) => mark.getBoundingClientRect().left - mark.parentElement.getBoundingClientRect().left"
        )
        assert widths[0] / mark == pytest.approx(tacos[0] / bound, rel=0.02)
        assert page.locator("#problem .grid tbody tr").count() == len(rows)

    def test_the_next_one(self, shown):
        """Problems follow each other in the order of the results."""
        page = shown("problem=0")
        assert page.get_by_text("Previous problem").count() == 0
        page.get_by_text("Next problem").click()
        assert page.locator("#problem-title").inner_text() == "AllGather of 1MiB on mesh:2x2"
        page.get_by_text("All results").click()
        assert page.locator("#overview").is_visible()

    @pytest.mark.parametrize("asked", ["99", "-1", "x", "1e0"])
    def test_one_that_is_not_there(self, shown, asked):
        """An address of no problem shows the results."""
        page = shown(f"problem={asked}")
        assert page.locator("#overview").is_visible()

    def test_the_player(self, shown):
        """A schedule is played and scrubbed; another one can be chosen; those left out are told."""
        page = shown("problem=0")
        page.wait_for_selector("#problem .player canvas")
        slider = page.locator("#problem .player input[type=range]")
        assert slider.input_value() == "0"
        slider.focus()
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_function("document.querySelector('#problem .player input[type=range]').value > 0")
        page.get_by_role("button", name="Pause", exact=True).click()
        slider.fill(slider.get_attribute("max"))
        done, total = page.locator("#problem .player-counts dd").first.inner_text().split(" of ")
        assert done == total
        title = page.locator("#problem .player-title")
        assert title.inner_text().startswith("direct · ")
        page.locator("#schedule").select_option(index=1)
        page.wait_for_function("document.querySelector('#problem .player-title')?.textContent.startsWith('tacos')")
        assert page.locator("#problem .player").count() == 1
        assert "1 schedule of this problem was left out" in page.locator("#problem .schedules").inner_text()


class TestTheme:
    def test_the_system_is_followed_until_the_reader_chooses(self, shown):
        """Colours follow the system; a choice comes first, and is kept."""
        page = shown(color_scheme="dark")
        background = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(background)
        page.get_by_role("button", name="Change to light colours").click()
        light = page.evaluate(background)
        assert light == "rgb(255, 255, 255)"
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert page.evaluate(background) == light
        page.get_by_role("button", name="Change to dark colours").click()
        assert page.evaluate(background) == dark


class TestAccess:
    def test_the_keyboard_finds_its_way(self, shown):
        """The first stop skips to the results; what has the focus can be seen."""
        page = shown("label=ring")
        page.keyboard.press("Tab")
        link = page.get_by_text("Skip to the results")
        assert link.evaluate("(link) => link === document.activeElement && link.getBoundingClientRect().top >= 0")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"
        assert page.url.endswith("#label=ring")
        page.keyboard.press("Tab")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert page.evaluate(outline) == "solid"

    def test_places_keep_the_choices(self, shown):
        """Going to a section by its link changes no choice, and leaves a problem."""
        page = shown("label=ring&problem=3")
        page.locator("header").get_by_text("Rows").click()
        assert page.locator("#rows").is_visible()
        assert page.url.endswith("#label=ring")

    def test_names_and_roles(self, shown):
        """Controls have names, tables heads with scopes, headings no gaps, ids no doubles."""
        for address in ("", "problem=0"):
            page = shown(address)
            page.wait_for_selector(".player" if address else "#rows tbody tr")
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            nameless = page.evaluate("""[...document.querySelectorAll('button, select, input, summary')]
                .filter((each) => !(each.textContent.trim() && each.tagName !== 'SELECT'))
                .filter((each) => !each.ariaLabel && !each.labels?.length).map((each) => each.outerHTML)""")
            assert nameless == []
            assert page.locator("th:not([scope])").count() == 0
            levels = page.evaluate("""[...document.querySelectorAll('h1, h2, h3')].filter((each) =>
                each.checkVisibility()).map((each) => Number(each.tagName[1]))""")
            assert all(after - before <= 1 for before, after in pairwise(levels)), levels
            assert page.evaluate("""(() => { const ids = [...document.querySelectorAll('[id]')].map((each) => each.id);
                return ids.filter((id, at) => ids.indexOf(id) !== at); })()""") == []  # fmt: skip


class TestHarm:
    def test_text_stays_text(self, shown, tmp_path):
        """Markup in labels, reasons, networks, columns and names of experiments is shown, not followed."""
        rows = [row | {"label": row["label"] + HOSTILE, "topology": row["topology"] + HOSTILE, "reason": HOSTILE,
                       "experiment": HOSTILE, "options": HOSTILE} for row in small_rows()[:64]]  # fmt: skip
        pd.DataFrame(rows).assign(**{HOSTILE: HOSTILE}).to_parquet(tmp_path / "results.parquet")
        path = reported(tmp_path / "page.html", tmp_path)
        for address in ("", "problem=2", "view=medians&q=img"):
            page = shown(address, path)
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            for menu in page.locator("details summary").all():
                if menu.is_visible():
                    menu.click()
            assert page.locator("img, main b").count() == 0
            assert HOSTILE in page.locator("main").inner_text()

    def test_scripts_from_outside_do_not_run(self, shown):
        """Whatever came into the page by a defect would not be run: its policy knows the page's own scripts only."""
        page = shown()
        page.evaluate("""() => {
            const script = document.createElement('script');
            script.textContent = 'window.harmed = true';
            document.body.append(script);
            document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.harmed = true">');
        }""")
        page.wait_for_timeout(100)
        assert page.evaluate("window.harmed") is None
        assert len(page.faults) >= 2
        page.faults.clear()
