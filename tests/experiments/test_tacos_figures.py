"""The figures of the study, and how figures become files: present, not blank, the same every time."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from experiments.plots.style import LABELS, colour_of, label_of, looks, save, styled
from experiments.tacos_study.bandwidth import bandwidth_figure
from experiments.tacos_study.scaling import PUBLISHED, scaling_figure
from topologies.exceptions import CollbenchError


def _row(topology: str, synthesizer: str, share: float | None, status: str = "ok") -> dict:
    """Return as much of a comparison row as the bars need."""
    return {"topology": topology, "synthesizer": synthesizer, "collective": "all_reduce", "size": 10**6,
            "status": status, "share_of_ideal": share, "ideal_us": 10.0, "bound_us": 8.0}  # fmt: skip


def _bars():
    """Return a figure of bars: two networks, three algorithms, one failed."""
    rows = [_row("mesh:2x2", "ring", 0.5), _row("mesh:2x2", "direct", None, "unsupported"),
            _row("mesh:2x2", "tacos", 0.9), _row("hypercube:6", "ring", None, "failed"),
            _row("hypercube:6", "tacos", 1.1)]  # fmt: skip
    return bandwidth_figure(rows, "all_reduce", (10**6,))


def _times():
    """Return the figure of synthesis times: a series with a trend, one without, one that failed."""
    rows = [{"series": "2-D mesh", "num_npus": npus, "synthesis_s": 1e-8 * npus**2, "machine": "test",
             "repeats": 5}
            for npus in (16, 256, 576, 1024)]  # fmt: skip
    rows += [{"series": "3-D mesh", "num_npus": 64, "synthesis_s": 1e-3, "machine": "test", "repeats": 5},
             {"series": "uneven", "num_npus": 64, "synthesis_s": None, "machine": "test", "repeats": 0}]  # fmt: skip
    return scaling_figure(rows)


def _texts(figure) -> str:
    """Return all text of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("draw", [_bars, _times])
class TestFigures:
    """What holds for every figure."""

    def test_not_blank(self, draw, tmp_path):
        """The PNG has the size asked for and many colours."""
        with styled():
            png, svg = save(draw(), tmp_path, "figure")
        pixels = matplotlib.image.imread(png)
        assert min(pixels.shape[:2]) > 400
        assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20
        assert svg.read_text(encoding="utf-8").lstrip().startswith("<?xml")

    def test_same_files_every_time(self, draw, tmp_path):
        """Drawn twice, both files are equal byte by byte, and the SVG has no date."""
        first, second = tmp_path / "first", tmp_path / "second"
        for folder in (first, second):
            folder.mkdir()
            with styled():
                save(draw(), folder, "figure")
        for name in ("figure.png", "figure.svg"):
            assert (first / name).read_bytes() == (second / name).read_bytes()
        assert b"<dc:date>" not in (first / "figure.svg").read_bytes()

    def test_says_after_the_paper(self, draw):
        """It says that it is after the paper's figure."""
        with styled():
            assert "fter the" in _texts(draw())
            assert "TACOS (MICRO'24)" in _texts(draw())

    def test_nothing_is_cut_off(self, draw):
        """Titles, notes, labels and legends lie inside the figure."""
        with styled():
            figure = draw()
            figure.draw_without_rendering()  # lays it out
            box = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


class TestBandwidth:
    """`bandwidth_figure`."""

    def test_failures_are_marked(self):
        """A failed run and one that is not supported are written where their bars would be."""
        with styled():
            text = _texts(_bars())
        assert "failed" in text
        assert "n/a" in text
        assert "2⁶" in text

    def test_yardsticks(self):
        """The legend names the ideal and the bound, each once."""
        with styled():
            (legend,) = _bars().legends
        names = [text.get_text() for text in legend.get_texts()]
        assert names == ["Ideal (of the paper)", "Bound (provable)", "Ring", "Direct", "TACOS"]


class TestScaling:
    """`scaling_figure`."""

    def test_published_points_are_marked(self):
        """The legend tells published from measured, and the points are at the published figures."""
        with styled():
            (axes,) = _times().axes
        names = [text.get_text() for text in axes.get_legend().get_texts()]
        assert sum("published" in name for name in names) == 1
        assert sum("measured here" in name for name in names) == 2
        drawn = {(float(x), float(y)) for line in axes.lines for x, y in zip(*line.get_data(), strict=True)}
        assert {(128.0, 1.08), (40_000.0, 9072.0)} <= drawn
        assert len(PUBLISHED) == 2

    def test_exponent_is_shown(self):
        """The fitted exponent is in the legend."""
        with styled():
            assert "∝ NPUs$^{2.00}$" in _texts(_times())


class TestPlotting:
    """The shared look."""

    def test_colours_differ(self):
        """Those that are drawn most have colours of their own, always the same; marker and colour tell all apart."""
        often = ("ring", "direct", "halving_doubling", "double_binary_tree", "tacos", "taccl", "topoopt")
        look = looks(list(LABELS))
        assert len({colour_of(name) for name in often}) == len(often)
        assert {name: look[name].colour for name in often} == {name: colour_of(name) for name in often}
        assert len({(each.colour, each.marker) for each in look.values()}) == len(LABELS)
        assert colour_of("mine") == colour_of("mine") != ""
        assert (label_of("tacos"), label_of("mine")) == ("TACOS", "mine")

    def test_style_is_given_back(self):
        """Settings of the user come back after the `with` block."""
        before = matplotlib.rcParams["svg.hashsalt"]
        with styled():
            assert matplotlib.rcParams["svg.hashsalt"] == "collbench"
        assert matplotlib.rcParams["svg.hashsalt"] == before

    def test_unwritable(self, tmp_path):
        """A folder that is not there is an error of one line, and nothing is left behind."""
        with styled(), pytest.raises(CollbenchError, match="does not exist"):
            save(_times(), tmp_path / "none", "figure")
