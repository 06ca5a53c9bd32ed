"""Plots of schedules: every kind drawn from small schedules, and the drawings of networks."""

from __future__ import annotations

from importlib import import_module

import matplotlib.image
import numpy as np
import pytest
from matplotlib.text import Text

from experiments.plots import SCHEDULE_KINDS
from experiments.plots.gantt import _spans
from experiments.plots.layout import layout
from experiments.plots.style import save, styled
from topologies import Topology, parse_topology

SAID = {
    "heat_map": (
        "share of the completion time\nfor which a link is busy (%)",
        "AllReduce of 1MB on mesh:3x3",
        "Ring: ",
    ),
    "link_load": ("links, most loaded first (% of all)", "load of the link (MB)", "Ring: ", "mean "),
    "over_time": ("time (µs)", "links in use (% of all)", "Ring: "),
    "gantt": ("time (µs)", "link", "added up by the receiver", "copied by the receiver", "0 → 1"),
}


def texts(figure) -> str:
    """Return all text of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def draw(kind, schedules):
    """Return (name, figure) pairs of a kind."""
    return list(import_module(f"experiments.plots.{kind}").figures(schedules))


@pytest.mark.parametrize("kind", SCHEDULE_KINDS)
class TestEveryKind:
    def test_files_and_labels(self, kind, schedules, tmp_path):
        """The PNG is not blank, the SVG is one, and labels and units are there."""
        with styled():
            ((name, figure),) = draw(kind, schedules[:1])
            png, svg = save(figure, tmp_path, name)
        assert name == f"ring_{kind}"
        pixels = matplotlib.image.imread(png)
        assert min(pixels.shape[:2]) > 400
        assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20
        assert "<svg" in svg.read_text(encoding="utf-8")
        text = texts(figure)
        for said in SAID[kind]:
            assert said in text, said

    def test_same_svg_every_time(self, kind, switched, tmp_path):
        """Drawn twice, the SVGs are equal byte by byte."""
        found = []
        for _ in range(2):
            with styled():
                ((name, figure),) = draw(kind, [switched])
                found.append(save(figure, tmp_path, name)[1].read_bytes())
        assert found[0] == found[1]

    def test_beside_each_other(self, kind, schedules, switched, tmp_path):
        """Several schedules, of several problems and of one maker too, are all named and nothing is cut off."""
        several = [*schedules, switched]
        with styled():
            pairs = draw(kind, several)
            text = "\n".join(texts(figure) for _, figure in pairs)
            for _, figure in pairs:
                figure.draw_without_rendering()
                box = figure.get_tightbbox()
                width, height = figure.get_size_inches()
                assert min(box.x0, box.y0) >= 0
                assert box.x1 <= width
                assert box.y1 <= height
        assert len({name for name, _ in pairs}) == len(pairs) == (3 if kind == "gantt" else 1)
        for said in ("TACOS: ", "Ring (ring): ", "Ring (switched): ", "AllGather of 1MB on switch:4"):
            assert said in text

    def test_many(self, kind, switched, tmp_path):
        """Twenty files of one name are drawn, none over another."""
        with styled():
            pairs = draw(kind, [switched] * 20)
        assert len({name for name, _ in pairs}) == len(pairs) > 1


class TestHeatMap:
    """What is special about heat maps."""

    def test_switches_are_squares(self, switched):
        """NPUs are circles, switches squares."""
        with styled():
            ((_, figure),) = draw("heat_map", [switched])
        shapes = {line.get_marker(): len(line.get_xdata()) for line in figure.axes[0].lines}
        assert shapes == {"o": 4, "s": 1}
        assert "squares: switches" in texts(figure)

    def test_directions_apart(self, schedules):
        """The two links of a cable are drawn at different places."""
        with styled():
            ((_, figure),) = draw("heat_map", schedules[:1])
        (lines,) = figure.axes[0].collections
        ends = {tuple(sorted(map(tuple, np.round(path.vertices, 6).tolist()))) for path in lines.get_paths()}
        assert len(ends) == 24


class TestGantt:
    """What is special about Gantt charts."""

    def test_bars(self, schedules):
        """There is a bar for every hop of a small schedule."""
        with styled():
            ((_, figure),) = draw("gantt", schedules[1:])
        bars = sum(len(found.get_paths()) for found in figure.axes[0].collections)
        assert bars == schedules[1].times.schedule.num_hops

    def test_short_bars_are_joined(self):
        """Bars too short to be seen are joined to their neighbours, long ones are not."""
        start, stop = np.array([0, 10, 20, 50]), np.array([10, 20, 21, 60])
        assert _spans(start, stop, 1.0).tolist() == [[0, 10], [10, 21], [50, 60]]
        assert len(_spans(start[:0], stop[:0], 1.0)) == 0


class TestLayout:
    """`layout`."""

    def test_mesh_on_coordinates(self):
        """NPU x + 3y lies at (x, y)."""
        places = layout(parse_topology("mesh:3x2"))
        assert places.xy.tolist() == [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]
        assert len(places.lines) == 14

    def test_torus_leaves_the_grid(self):
        """A link that closes a dimension is two stubs that lead out of the grid."""
        topology = parse_topology("torus:3x3")
        places = layout(topology)
        assert len(places.lines) == topology.num_links + 12
        last_to_first = np.flatnonzero((topology.src == 2) & (topology.dst == 0))
        stubs = places.lines[places.link == last_to_first[0]]
        assert stubs.tolist() == [[[2, 0], [2.5, 0]], [[-0.5, 0], [0, 0]]]

    @pytest.mark.parametrize(
        "name",
        ["mesh:4x3x2", "torus:3x3x3", "mesh:2x2x2x2", "hypercube:6", "hypercube:8", "dgx1", "ring:5",
         "switch:4", "torus:5", "line:4", "mesh:1x4", "mesh:1", "fully_connected:6", "dgx2:2", "switch2d:4x4"],
    )  # fmt: skip
    def test_nodes_apart(self, name):
        """No two nodes lie on each other, and the drawing is the same every time."""
        topology = parse_topology(name)
        places = layout(topology)
        assert places.xy.shape == (topology.num_nodes, 2)
        assert len(np.unique(np.round(places.xy, 3), axis=0)) == topology.num_nodes
        assert np.array_equal(places.xy, layout(topology).xy)
        assert set(places.link.tolist()) == set(range(topology.num_links))

    def test_named_as_a_grid(self):
        """A network that is only named after a grid is not drawn as one."""
        topology = Topology(4, [0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [1.0] * 5, [1.0] * 5, name="mesh:2x2")
        assert not np.array_equal(layout(topology).xy, layout(parse_topology("mesh:2x2")).xy)

    def test_parallel_links(self):
        """Parallel links have lanes of their own."""
        topology = Topology(2, [0, 0, 1], [1, 1, 0], [1.0] * 3, [1.0] * 3)
        assert layout(topology).lane.tolist() == [0, 1, 0]
