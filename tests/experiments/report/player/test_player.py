"""The player in a browser: what it shows is what was simulated, and everything works by mouse and by keyboard."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from matplotlib.image import imread

from schedules import Schedule, collective
from simulator import LinkModel, timeline
from topologies import Topology, parse_topology

SIZE = 1_000_003
SLIDER = "input[type=range]"
CHUNK = "label:has-text('Chunk') select"
SPEED = "label:has-text('Speed') select"

REASONS = {
    "start": "from the start",
    "data": "once its data had come",
    "link": "once its link was free",
    "route": "behind the hop before it on its route",
}


class Words:
    """Times and transfers as the player tells them, worked out from a timeline."""

    def __init__(self, times):
        self.times, self.topology = times, times.schedule.topology
        total = times.total_ps
        units = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"), (1, "ps"))
        self.ps, self.unit = next((unit for unit in units if total >= unit[0]), units[2])
        path = [segment.until_ps - segment.start_ps for segment in times.critical_path()]
        spans = [*(times.end_ps - times.start_ps).tolist(), *path]
        least = min((span for span in spans if span), default=total)
        digits = [extra - math.floor(math.log10(max(span, 1) / self.ps)) for extra, span in ((4, total), (1, least))]
        self.decimals = min(max(0, *digits), round(math.log10(self.ps)))

    def number(self, ps):
        """Return a time without its unit."""
        text = f"{ps / self.ps:.{self.decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def time(self, ps):
        """Return a time."""
        return f"{self.number(ps)} {self.unit}"

    def link(self, link):
        """Return the ends of a link."""
        return self.topology.link_name(link).replace("NPU ", "").replace(" -> ", "→")

    def span(self, start, end):
        """Return a stretch of time."""
        return f"{self.number(start)}–{self.time(end)}"

    def path(self, chunk):
        """Return what is listed for a chunk."""
        schedule, times = self.times.schedule, self.times
        hops = sorted(np.flatnonzero(schedule.chunk == chunk).tolist(), key=lambda hop: (times.start_ps[hop], hop))
        return [
            f"{self.link(schedule.link[hop])} at {self.span(times.start_ps[hop], times.end_ps[hop])}"
            + (", added up" if schedule.reduce is not None and schedule.reduce[hop] else "")
            for hop in hops
        ]

    def critical(self):
        """Return what is listed for the critical path."""
        return [
            f"chunk {each.chunk}, {self.link(each.link)} at {self.span(each.start_ps, each.until_ps)}, "
            + REASONS[each.reason]
            + (f" (waited {self.time(each.waited_ps)})" if each.waited_ps else "")
            for each in self.times.critical_path()
        ]


def shown(page, term):
    """Return the value of a counter."""
    return page.text_content(f"dt:has-text('{term}') + dd")


def clock(page):
    """Return the time shown."""
    return page.text_content(".player-time").split(" of ")[0]


def listed(page, heading):
    """Return the entries of the list under a heading that starts with some words; nothing while it is hidden."""
    section = page.locator(f"section:has(h3:text('{heading}'))")
    return section.locator("li button").all_text_contents() if section.is_visible() else None


def pixels(page, what):
    """Return what a part of the page looks like, (height, width, channels)."""
    return imread(io.BytesIO(page.locator(what).screenshot()))


def count_of(page, what, colour):
    """Return how many pixels of a part of the page have one of the player's colours."""
    text = page.locator(".player").evaluate(
        "(each, colour) => getComputedStyle(each).getPropertyValue(`--player-${colour}`).trim()", colour
    )
    wanted = np.array([int(text[at : at + 2], 16) for at in (1, 3, 5)])
    return int((np.abs(pixels(page, what)[..., :3] * 255 - wanted).max(axis=2) < 2).sum())


def scrub(page, part):
    """Move the slider to a part of its length."""
    page.locator(SLIDER).evaluate(
        "(slider, part) => { slider.value = slider.max * part; slider.dispatchEvent(new Event('input')); }", part
    )


@pytest.fixture(scope="module")
def reduction(solved):
    """An AllReduce, which adds up and then copies."""
    return solved("mesh:3x3", "all_reduce", "tacos")


@pytest.fixture(scope="module")
def nothing():
    """A schedule without hops."""
    return Schedule(parse_topology("ring:1"), collective("all_gather", 1), np.zeros(0, int), np.zeros(0, int))


class TestTime:
    @pytest.mark.parametrize("latency", ["blocking", "pipelined"])
    @pytest.mark.parametrize(
        ("network", "kind", "name"),
        [("mesh:3x3", "all_reduce", "tacos"), ("ndv2:2", "all_reduce", "halving_doubling"),
         ("dgx2:1", "all_to_all", "direct"), ("ring_one_way:4", "reduce_scatter", "ring")],
    )  # fmt: skip
    def test_counters(self, solved, played, network, kind, name, latency):
        """At any time the counters show the transfers that have ended, the bytes under way and the links held."""
        schedule, model = solved(network, kind, name), LinkModel(latency)
        page, times = played(schedule, model=model), timeline(schedule, SIZE, model)
        for part in (0, 0.2, 0.5, 0.77, 1):
            scrub(page, part)
            now = part * times.total_ps
            done = int((times.end_ps <= now).sum())
            under = (times.start_ps <= now) & (now < times.end_ps)
            held = under & (now < times.release_ps)
            links = schedule.topology.num_links
            assert shown(page, "Transfers done") == f"{done:,} of {schedule.num_hops:,}"
            assert shown(page, "Links busy") == f"{len(set(schedule.link[held].tolist()))} of {links}"
            number, unit = shown(page, "Under way").split()
            nbytes = float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
            assert nbytes == pytest.approx(times.durations.chunk_bytes[schedule.chunk[under]].sum(), rel=0.005)
            assert clock(page) == Words(times).time(now)

    def test_play_and_pause(self, reduction, played):
        """Playing moves time, slider and pictures on; a pause stops them."""
        page = played(reduction)
        before = pixels(page, ".player-topology"), pixels(page, ".player-gantt")
        page.click("button[aria-label=Play]")
        page.wait_for_function("document.querySelector('input[type=range]').value > 0")
        page.click("button[aria-label=Pause]")
        assert page.locator("button[aria-label=Play]").is_visible()
        at = page.input_value(SLIDER), clock(page)
        assert float(at[0]) > 0
        after = pixels(page, ".player-topology"), pixels(page, ".player-gantt")
        assert all((one != other).any() for one, other in zip(before, after, strict=True))
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert (page.input_value(SLIDER), clock(page)) == at

    def test_to_the_end_and_again(self, reduction, played):
        """At its fastest it reaches the end, where it stops by itself, and from where it starts anew."""
        page, total = played(reduction), Words(timeline(reduction, SIZE)).time(timeline(reduction, SIZE).total_ps)
        page.locator(SPEED).select_option("5×")
        page.click("button[aria-label=Play]")
        page.wait_for_selector("button[aria-label=Play]")
        assert clock(page) == total
        assert shown(page, "Transfers done") == f"{reduction.num_hops} of {reduction.num_hops}"
        page.locator(SPEED).select_option("0.02×")
        page.click("button[aria-label=Play]")
        page.wait_for_function(
            "total => !document.querySelector('.player-time').textContent.startsWith(total)", arg=total
        )
        page.click("button[aria-label=Pause]")
        assert float(page.input_value(SLIDER)) < timeline(reduction, SIZE).total_ps

    def test_steps(self, reduction, played):
        """The arrows go through the times at which transfers start or end, one by one, and back."""
        page, times = played(reduction), timeline(reduction, SIZE)
        events = sorted({0, *times.start_ps.tolist(), *times.end_ps.tolist()})
        for event in [*events[1:], events[-1]]:
            page.keyboard.press("ArrowRight")
            assert float(page.input_value(SLIDER)) == event
        for event in [*events[-2::-1], 0]:
            page.click("button[aria-label='Previous event']")
            assert float(page.input_value(SLIDER)) == event

    def test_interface(self, reduction, played):
        """A page can play, pause and seek by the object that it gets, and remove the player; it gets no other name."""
        page = played(reduction)
        own = page.evaluate("""() => {
            const empty = document.createElement("iframe");
            document.body.append(empty);
            const own = Object.getOwnPropertyNames(window).filter((name) => !(name in empty.contentWindow));
            empty.remove();
            return own.filter((name) => !/^\\d+$|^__playwright/.test(name));
        }""")
        assert own == ["collbenchPlayer"]
        found = page.evaluate("""() => {
            const place = document.createElement("div");
            document.body.append(place);
            const second = collbenchPlayer(place, JSON.parse(document.getElementById("schedule").textContent));
            second.seek(7);
            const at = place.querySelector("input").value;
            second.play();
            const playing = place.querySelector("[aria-label=Pause]") !== null;
            second.pause();
            const paused = place.querySelector("[aria-label=Play]") !== null;
            second.destroy();
            document.documentElement.dataset.theme = "dark";
            return [at, playing, paused, place.childElementCount];
        }""")
        assert found == ["7000000", True, True, 0]
        assert float(page.input_value(SLIDER)) == 0

    def test_reduced_motion(self, reduction, played):
        """Where the system asks for less motion, time still goes on, in steps that can be paused."""
        page = played(reduction, reduced_motion="reduce")
        page.click("button[aria-label=Play]")
        page.wait_for_function("document.querySelector('input[type=range]').value > 0")
        page.click("button[aria-label=Pause]")


class TestHighlights:
    @pytest.mark.parametrize(
        ("network", "kind", "name"),
        [("mesh:3x3", "all_reduce", "tacos"), ("torus:3x4", "all_gather", "tacos"), ("dgx2:1", "all_to_all", "direct")],
    )
    def test_path_of_a_chunk(self, solved, played, network, kind, name):
        """A chosen chunk has its transfers listed, by time; each entry goes to its time, and Esc clears the choice."""
        schedule = solved(network, kind, name)
        page, words = played(schedule), Words(timeline(schedule, SIZE))
        for chunk in np.unique(schedule.chunk)[[0, -1]].tolist():
            plain = pixels(page, ".player-gantt")
            page.locator(CHUNK).select_option(str(chunk))
            path = listed(page, f"Chunk {chunk}:")
            assert path == words.path(chunk)
            assert (pixels(page, ".player-gantt") != plain).any()
            page.locator("section li button").nth(len(path) - 1).click()
            last = np.flatnonzero(schedule.chunk == chunk)
            assert float(page.input_value(SLIDER)) == words.times.start_ps[last].max()
            page.keyboard.press("Escape")
            assert listed(page, "Chunk") is None
            assert page.input_value(CHUNK) == "-1"

    def test_click_on_the_chart(self, reduction, played):
        """A press on a bar goes to that time and chooses the chunk that the link carried then."""
        page, times = played(reduction), timeline(reduction, SIZE)
        topology, canvas = reduction.topology, page.locator(".player-gantt")
        rows = sorted(range(topology.num_links), key=lambda link: (topology.src[link], topology.dst[link]))
        box = canvas.bounding_box()
        row_height = (box["height"] - 34) / len(rows)
        chosen = 0
        for row, link in enumerate(rows):
            canvas.click(position={"x": box["width"] * (0.15 + 0.03 * row), "y": (row + 0.5) * row_height})
            now = float(page.input_value(SLIDER))
            hops = np.flatnonzero((reduction.link == link) & (times.start_ps <= now) & (now < times.end_ps))
            if len(hops):
                chosen += 1
                chunk = reduction.chunk[hops[0]]
                assert page.input_value(CHUNK) == str(chunk)
                assert listed(page, f"Chunk {chunk}:") == Words(times).path(chunk)
                words = Words(times).path(chunk)[Words(times).path(chunk).index(self.entry(times, hops[0]))]
                assert page.text_content(".player-tip").endswith(words)
        assert chosen > len(rows) // 2

    @staticmethod
    def entry(times, hop):
        """Return what is listed for a hop."""
        words, schedule = Words(times), times.schedule
        added = ", added up" if schedule.reduce is not None and schedule.reduce[hop] else ""
        return f"{words.link(schedule.link[hop])} at {words.span(times.start_ps[hop], times.end_ps[hop])}{added}"

    def test_click_on_a_transfer(self, played):
        """A press on a dot that travels chooses its chunk."""
        topology = Topology(2, [0], [1], [1.0], [1.0])
        schedule = Schedule(topology, collective("broadcast", 2, chunks=3), np.array([2, 0, 1]), np.zeros(3, int))
        page, times = played(schedule), timeline(schedule, SIZE)
        canvas = page.locator(".player-topology")
        for hop in range(3):
            scrub(page, (times.start_ps[hop] + times.end_ps[hop]) / 2 / times.total_ps)
            canvas.click()  # in the middle, half way between the two
            assert page.input_value(CHUNK) == str(schedule.chunk[hop])
            assert listed(page, f"Chunk {schedule.chunk[hop]}:") == Words(times).path(schedule.chunk[hop])

    def test_hovering(self, reduction, played):
        """Beside the pointer stands what is under it: an NPU with what it holds, a link with its use."""
        page, topology = played(reduction), reduction.topology
        canvas = page.locator(".player-topology")
        box = canvas.bounding_box()
        canvas.hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
        assert page.text_content(".player-tip") == "NPU 4 holds 0 of its 9 final chunks"
        page.keyboard.press("End")
        canvas.hover(position={"x": box["width"] / 2 + 1, "y": box["height"] / 2})
        assert page.text_content(".player-tip") == "NPU 4 holds 9 of its 9 final chunks"
        chart = page.locator(".player-gantt")
        chart.hover(position={"x": 2, "y": 10})
        busy = timeline(reduction, SIZE).utilisation()[0]
        assert topology.link_name(0) == "NPU 0 -> NPU 1"
        carried = int((reduction.link == 0).sum())
        assert page.text_content(".player-tip") == f"0→1: {carried} transfers, busy {100 * busy:.0f} % of the time"
        page.hover("h2")
        assert page.locator(".player-tip").is_hidden()

    @pytest.mark.parametrize("model", [LinkModel(), LinkModel("pipelined", "store_and_forward")], ids=str)
    @pytest.mark.parametrize(
        ("network", "kind", "name"),
        [("mesh:3x3", "all_reduce", "tacos"), ("ndv2:2", "all_reduce", "halving_doubling"),
         ("dgx2:1", "all_to_all", "direct")],
    )  # fmt: skip
    def test_critical_path(self, solved, played, network, kind, name, model):
        """Button and key show the critical path, which is the simulator's, in the pictures and as text."""
        schedule = solved(network, kind, name)
        page = played(schedule, model=model)
        canvases = (".player-topology", ".player-gantt")
        assert listed(page, "Critical path") is None
        assert [count_of(page, canvas, "critical") for canvas in canvases] == [0, 0]
        page.click("button:text('Critical path')")
        assert listed(page, "Critical path") == Words(timeline(schedule, SIZE, model)).critical()
        assert page.get_attribute("button:text('Critical path')", "aria-pressed") == "true"
        assert all(count_of(page, canvas, "critical") > 50 for canvas in canvases)
        page.keyboard.press("c")
        assert listed(page, "Critical path") is None

    def test_links_of_a_chunk_come_first(self, played):
        """Of a large network the chart shows the busiest links, and those of what was chosen before them."""
        topology = parse_topology("ring:40")
        busy = np.flatnonzero((topology.src < 30) & (topology.dst < 30))
        lonely = int(np.flatnonzero((topology.src == 35) & (topology.dst == 36))[0])
        links = np.concatenate([np.repeat(busy, 2), [lonely]])
        chunks = np.concatenate([np.zeros(2 * len(busy), int), [35]])
        page = played(Schedule(topology, collective("all_gather", 40), chunks, links), size=4000)
        assert page.text_content(".player-right .player-muted") == "48 of 80 links: the busiest"
        find = "() => document.querySelector('.player-tip').textContent"
        seen = set()
        for chosen in ("none", "35"):
            page.locator(CHUNK).select_option(chosen)
            found = set()
            for row in range(48):
                page.locator(".player-gantt").hover(position={"x": 2, "y": 12 * row + 6})
                found.add(page.evaluate(find).split(":")[0])
            assert len(found) == 48
            assert ("35→36" in found) == (chosen == "35")
            seen |= found
        assert len(seen) == 49


class TestKeyboard:
    def test_everything_can_be_reached(self, reduction, played):
        """Tab leads to every control; each has a name, and shows that it has the focus."""
        page = played(reduction)
        page.keyboard.press("c")
        names = []
        for _ in range(30):
            names.append(
                page.evaluate("""() => {
                const here = document.activeElement;
                const style = getComputedStyle(here);
                if (here.matches("button, select, input") && style.outlineStyle === "none") return "no outline";
                return here.ariaLabel || here.labels?.[0]?.firstChild.textContent.trim() || here.textContent;
            }""")
            )
            page.keyboard.press("Tab")
        wanted = ["Play", "Next event", "To the end", "Speed", "Chunk", "Critical path", "Zoom out", "Zoom in"]
        assert names[: len(wanted)] == wanted
        assert names[len(wanted)].startswith("chunk ")  # the critical path
        page.locator("button[aria-label=Play]").focus()
        back = []
        for _ in range(3):
            page.keyboard.press("Shift+Tab")
            back.append(page.evaluate("document.activeElement.ariaLabel"))
        assert back == ["Previous event", "To the start", "Time"]

    def test_keys(self, reduction, played):
        """Space, arrows, Home, End, c and Esc do what they are said to do, from wherever the focus is."""
        page, times = played(reduction), timeline(reduction, SIZE)
        for focus in ("button[aria-label=Play]", SLIDER, "button[aria-label='Zoom in']"):
            page.locator(focus).focus()
            page.keyboard.press("Home")
            if "Zoom" not in focus:
                page.keyboard.press(" ")
                assert page.locator("button[aria-label=Pause]").is_visible()
                page.keyboard.press(" ")
            assert page.locator("button[aria-label=Play]").is_visible()
            page.keyboard.press("Home")
            assert float(page.input_value(SLIDER)) == 0
            page.keyboard.press("ArrowRight")
            assert float(page.input_value(SLIDER)) == min({*times.start_ps, *times.end_ps} - {0})
            page.keyboard.press("ArrowLeft")
            assert float(page.input_value(SLIDER)) == 0
            page.keyboard.press("End")
            assert float(page.input_value(SLIDER)) == times.total_ps
            page.keyboard.press("c")
            assert listed(page, "Critical path") is not None
            page.keyboard.press("Escape")
            assert listed(page, "Critical path") is None

    def test_slider(self, reduction, played):
        """The slider moves by its own keys too, and tells its value in words."""
        page, times = played(reduction), timeline(reduction, SIZE)
        page.locator(SLIDER).focus()
        page.keyboard.press("PageUp")
        assert 0 < float(page.input_value(SLIDER)) < times.total_ps
        assert page.get_attribute(SLIDER, "aria-valuetext") == page.text_content(".player-time")

    def test_choosing_by_keys(self, reduction, played):
        """A chunk can be chosen without a mouse; what was done is said for those who do not see it."""
        page, words = played(reduction), Words(timeline(reduction, SIZE))
        page.locator(CHUNK).focus()
        page.keyboard.press("3")
        assert listed(page, "Chunk 3:") == words.path(3)
        assert "Chunk 3:" in page.text_content("[role=status]")
        page.keyboard.press("Escape")
        assert listed(page, "Chunk 3:") is None
        page.keyboard.press("Tab")
        page.keyboard.press(" ")  # on the button that has the focus: it is pressed, and nothing plays
        assert listed(page, "Critical path") == words.critical()
        assert page.locator("button[aria-label=Play]").is_visible()
        page.keyboard.press("End")
        count = reduction.num_hops
        assert f"{count} of {count} transfers done" in page.text_content("[role=status]")

    def test_zoom(self, solved, played):
        """Plus and minus widen and narrow the chart, which then follows the time."""
        page = played(solved("mesh:3x3", "all_gather", "tacos"))
        whole = pixels(page, ".player-gantt")
        page.keyboard.press("+")
        page.keyboard.press("+")
        assert page.text_content(".player-right .player-muted") == "4× as wide"
        start = pixels(page, ".player-gantt")
        assert (start != whole).any()
        page.keyboard.press("End")
        end = float(page.input_value(SLIDER))
        page.locator(".player-gantt").click()
        assert 0.75 * end < float(page.input_value(SLIDER)) < end
        page.keyboard.press("Escape")
        page.keyboard.press("Home")
        for _ in range(3):
            page.click("button[aria-label='Zoom out']")
        assert (pixels(page, ".player-gantt") == whole).all()


class TestLook:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("viewport", [(1280, 800), (390, 844)], ids=["wide", "narrow"])
    def test_not_blank(self, reduction, played, scheme, viewport):
        """Both pictures show many colours on a ground that is light or dark, and nothing is wider than the screen."""
        page = played(reduction, color_scheme=scheme, viewport=dict(zip(("width", "height"), viewport, strict=True)))
        page.keyboard.press("ArrowRight")
        for canvas in (".player-topology", ".player-gantt"):
            picture = pixels(page, canvas)[..., :3]
            colours, count = np.unique((picture.reshape(-1, 3) * 255).astype(np.uint8), axis=0, return_counts=True)
            assert len(colours) > 20
            assert picture.std() > 0.05
            ground = colours[count.argmax()].mean()
            assert ground > 200 if scheme == "light" else ground < 60
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport[0]

    def test_theme_of_the_page(self, reduction, played):
        """``data-theme`` of the page comes before the wish of the system, and can change at any time."""
        page = played(reduction, color_scheme="dark")
        means = []
        for theme in ("light", "dark", None):
            page.evaluate(
                """(theme) => {
                if (theme) document.documentElement.dataset.theme = theme;
                else delete document.documentElement.dataset.theme;
            }""",
                theme,
            )
            means.append(pixels(page, ".player-gantt")[..., :3].mean())
        assert means[0] > 0.6 > 0.4 > means[1] == means[2]
        page.emulate_media(color_scheme="light")
        assert pixels(page, ".player-gantt")[..., :3].mean() == means[0]

    def test_sharp(self, reduction, played):
        """On a screen of two pixels to one the pictures have twice the pixels, also after the window has changed."""
        page = played(reduction, device_scale_factor=2)
        for width in (1280, 900, 600):
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            for canvas in (".player-topology", ".player-gantt"):
                size = page.locator(canvas).evaluate(
                    "each => [each.width / each.clientWidth, each.height / each.clientHeight]"
                )
                assert size == pytest.approx([2, 2], abs=0.01)

    @pytest.mark.parametrize(
        ("network", "kind", "name"),
        [("mesh:3x3", "all_reduce", "tacos"), ("torus:3x4", "all_gather", "tacos"),
         ("switch:4", "all_gather", "direct"), ("mesh:20x20", "broadcast", "tacos")],
    )  # fmt: skip
    def test_transfers_move(self, solved, played, network, kind, name):
        """While nothing starts or ends the dots still move, and only they: the topology changes in few places."""
        schedule = solved(network, kind, name)
        page, times = played(schedule), timeline(schedule, SIZE)
        events = np.unique([*times.start_ps, *times.end_ps])
        gap = int(np.argmax(np.diff(events)))
        pictures = []
        for part in (0.3, 0.6):
            scrub(page, (events[gap] + part * (events[gap + 1] - events[gap])) / times.total_ps)
            pictures.append(pixels(page, ".player-topology")[..., :3])
        changed = (pictures[0] != pictures[1]).any(axis=2).mean()
        assert 0 < changed < 0.2

    @pytest.mark.parametrize("network", ["mesh:3x3", "mesh:20x20"])
    def test_what_npus_hold(self, solved, played, network):
        """NPUs fill up as their chunks come in: of a broadcast none but the root at first, all at the end."""
        page = played(solved(network, "broadcast", "tacos"))
        seen = []
        for part in (0, 0.5, 1):
            scrub(page, part)
            seen.append(count_of(page, ".player-topology", "held"))
        npus = parse_topology(network).num_npus
        assert seen[0] * npus == pytest.approx(seen[2], rel=0.15)
        assert seen[0] < seen[1] < seen[2]


class TestUnusual:
    def test_nothing_to_do(self, nothing, played):
        """A schedule without hops is shown, and nothing that can be done with it fails."""
        page = played(nothing)
        for key in (" ", "ArrowRight", "ArrowLeft", "End", "c", "+", "-", "Escape", "Home"):
            page.keyboard.press(key)
        page.locator(".player-topology").click()
        page.locator(".player-gantt").click()
        assert page.locator("button[aria-label=Play]").is_visible()
        assert page.text_content(".player-time") == "0 µs of 0 µs"
        assert shown(page, "Transfers done") == "0 of 0"
        assert pixels(page, ".player-topology")[..., :3].std() > 0.01

    @pytest.mark.parametrize(("size", "alpha"), [(0, 0.0), (0, 1.0), (7, 1.0)])
    def test_one_hop(self, played, size, alpha):
        """A single hop is played, even one that takes no time."""
        topology = Topology(2, [0], [1], [alpha], [1.0])
        schedule = Schedule(topology, collective("broadcast", 2), np.zeros(1, int), np.zeros(1, int))
        page, words = played(schedule, size=size), Words(timeline(schedule, size))
        assert shown(page, "Transfers done") == ("0 of 1" if alpha else "1 of 1")
        page.keyboard.press(" ")
        page.keyboard.press("End")
        assert shown(page, "Transfers done") == "1 of 1"
        page.locator(CHUNK).select_option("0")
        assert listed(page, "Chunk 0:") == words.path(0)
        page.keyboard.press("c")
        assert listed(page, "Critical path") == words.critical()

    def test_messages(self, played):
        """Chunks that cross a link as one message are under way together, and each can be chosen."""
        topology = Topology(2, [0, 1], [1, 0], [1.0, 1.0], [1.0, 1.0])
        work = collective("all_gather", 2, chunks=2)
        schedule = Schedule(topology, work, np.array([0, 2, 1, 3]), np.array([0, 1, 0, 1]), message=[0, 1, 0, 1])
        page, times = played(schedule), timeline(schedule, SIZE)
        scrub(page, 0.5)
        assert shown(page, "Links busy") == "2 of 2"
        chart = page.locator(".player-gantt")
        box = chart.bounding_box()
        row = (box["height"] - 34) / 2
        chart.hover(position={"x": 2, "y": 3})
        assert page.text_content(".player-tip") == "0→1: 2 transfers, busy 100 % of the time"
        for part, chunk in ((0.25, 0), (0.75, 1)):
            chart.click(position={"x": box["width"] / 2, "y": part * row})
            assert page.input_value(CHUNK) == str(chunk)
            assert listed(page, f"Chunk {chunk}:") == Words(times).path(chunk)

    def test_names_are_text(self, played):
        """Names of files and nodes are shown as they are, whatever they hold."""
        name = "</script><img src=x onerror=alert(1)>&amp;"
        topology = Topology(2, [0, 1], [1, 0], [1.0] * 2, [1.0] * 2, node_names=("<b>a</b>", "</script>"), name="<i>n")
        schedule = Schedule(topology, collective("all_gather", 2), np.array([0, 1]), np.array([0, 1]))
        page = played(schedule, name=name)
        assert page.text_content("h2").startswith(f"{name} · AllGather")
        assert page.title().startswith(name)
        page.locator(CHUNK).select_option("0")
        assert listed(page, "Chunk 0:")[0].startswith("<b>a</b>→</script> at 0–")
        assert page.locator(".player img, .player b, .player i:not([class])").count() == 0

    def test_long_lists(self, played):
        """Of a long path the beginning is listed, and how much more there is."""
        topology = Topology(2, [0], [1], [1.0], [1.0])
        work = collective("broadcast", 2, chunks=450)
        page = played(Schedule(topology, work, np.arange(450), np.zeros(450, int)))
        page.keyboard.press("c")
        assert len(listed(page, "Critical path: 450 transfers")) == 400
        assert page.text_content("section li:last-child") == "… and 50 more"
