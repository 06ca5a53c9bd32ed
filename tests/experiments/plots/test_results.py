"""Plots of results files: every kind drawn from a small table, and tables that cannot be drawn."""

from __future__ import annotations

from importlib import import_module

import matplotlib.image
import msgspec
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from experiments.plots import RESULT_KINDS
from experiments.plots.bars import Bars, grouped_bars
from experiments.plots.pareto import front
from experiments.plots.rows import read, series_of
from experiments.plots.scaling import power_law
from experiments.plots.style import looks, save, styled
from topologies.exceptions import FormatError

SAID = {
    "busbw": ("AllReduce busbw (GB/s)", "size (bytes)", "Bound (provable)", "Ring", "TACOS", "mine", "mesh:3x3"),
    "bars": ("speed ÷ Ring\n(ratio of times)", "topology", "Ring = 1", "Bound (provable)", "failed", "1.60"),
    "efficiency": ("efficiency (bound ÷ time, %)", "topology", "AllReduce, 1GB", "mine: failed", "Bound (provable)"),
    "scaling": ("synthesis time (s)", "NPUs", "Ring, mesh:X×Y: ∝ NPUs$^{2.00}$", "TACOS, mesh:X×Y: ∝ NPUs$^{0.00}$"),
    "pareto": ("synthesis time (s)", "efficiency (bound ÷ time, %)", "Pareto front", "AllReduce (6 common problems)"),
}


def written(records, path):
    """Write records as CSV, or as Parquet if the name says so, and return the path."""
    rows = [msgspec.to_builtins(record) for record in records]
    for row in rows:
        row["options"] = msgspec.json.encode(row["options"]).decode()
    frame = pd.DataFrame(rows)
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


def texts(figure) -> str:
    """Return all text of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def draw(kind, records, folder, name="results.csv"):
    """Return the figures of a kind by name."""
    module = import_module(f"experiments.plots.{kind}")
    return dict(module.figures(read([written(records, folder / name)], module.COLUMNS)))


@pytest.mark.parametrize("kind", RESULT_KINDS)
class TestEveryKind:
    def test_files_and_labels(self, kind, records, tmp_path):
        """The PNG is not blank, the SVG is one, and the labels, units and everybody's name are there."""
        with styled():
            ((name, figure),) = draw(kind, records, tmp_path).items()
            png, svg = save(figure, tmp_path, name)
        assert name.startswith(kind)
        pixels = matplotlib.image.imread(png)
        assert min(pixels.shape[:2]) > 400
        assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 20
        assert "<svg" in svg.read_text(encoding="utf-8")
        text = texts(figure)
        for said in SAID[kind]:
            assert said in text, said

    def test_same_svg_every_time(self, kind, records, tmp_path):
        """Drawn twice, from CSV and from Parquet, the SVGs are equal byte by byte."""
        found = []
        for name in ("results.csv", "results.parquet"):
            with styled():
                ((_, figure),) = draw(kind, records, tmp_path, name).items()
                found.append(save(figure, tmp_path, kind)[1].read_bytes())
        assert found[0] == found[1]

    def test_nothing_is_cut_off(self, kind, records, tmp_path):
        """Titles, notes, labels and legends lie inside the figure, and the legend hides no panel and no note."""
        with styled():
            ((_, figure),) = draw(kind, records, tmp_path).items()
            figure.draw_without_rendering()
            box = figure.get_tightbbox()
            others = [axes.bbox for axes in figure.axes] + [figure._supxlabel.get_window_extent()]
            legends = [legend.get_window_extent() for legend in figure.legends]
        width, height = figure.get_size_inches()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height
        assert not any(legend.overlaps(other) for legend in legends for other in others)

    def test_one_row(self, kind, records, tmp_path):
        """A single run is enough."""
        with styled():
            for name, figure in draw(kind, records[:1], tmp_path).items():
                assert save(figure, tmp_path, name)

    def test_many_topologies(self, kind, records, tmp_path):
        """What does not fit one figure goes to another, and nothing is left out."""
        many = [msgspec.structs.replace(records[0], topology=f"mesh:{side}x{side}") for side in range(2, 32)]
        with styled():
            text = "\n".join(texts(figure) for figure in draw(kind, many, tmp_path).values())
        if kind in ("busbw", "bars", "efficiency"):
            assert all(f"mesh:{side}x{side}" in text for side in range(2, 32))

    def test_missing_columns(self, kind, records, tmp_path):
        """A table without a column that the kind needs is refused by the column's name."""
        module = import_module(f"experiments.plots.{kind}")
        path = written(records, tmp_path / "results.csv")
        pd.read_csv(path).drop(columns=module.COLUMNS[0]).to_csv(path, index=False)
        with pytest.raises(FormatError, match=rf"column {module.COLUMNS[0]} is missing"):
            read([path], module.COLUMNS)


class TestRead:
    """`read`."""

    def test_only_failures(self, records, tmp_path):
        """Nothing that worked is one line with the first reason."""
        failed = [msgspec.structs.replace(record, status="failed", reason="no luck") for record in records]
        with pytest.raises(FormatError, match="none of 24 runs worked.*no luck"):
            read([written(failed, tmp_path / "results.csv")])

    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            (b"", "empty file"),
            (b"topology,collective,size,synthesizer,status\n", "has no rows"),
            (b"a,b\n1,2\n", "expected a results file"),
            (b"\x92\xff\x00", "expected a results file"),
            (b"PAR1 and then nothing", "expected a results file"),
            (b"topology,collective,size,synthesizer,status\nring:4,all_gather,much,ring,ok\n", "'much', expected numb"),
        ],
    )
    def test_foreign_files(self, content, fault, tmp_path):
        """Files that are no results are refused in one line."""
        (path := tmp_path / "results.csv").write_bytes(content)
        with pytest.raises(FormatError, match=fault) as found:
            read([path])
        assert "\n" not in str(found.value)

    def test_one_size(self, records, tmp_path):
        """A size chooses rows; one that is not there is refused with those that are."""
        path = written(records, tmp_path / "results.csv")
        assert set(read([path], size=10**6)["size"]) == {10**6}
        with pytest.raises(FormatError, match="no rows of 2MB; found sizes 1MB, 1GB"):
            read([path], size=2 * 10**6)

    def test_options_tell_apart(self, records, tmp_path):
        """A synthesizer that takes part twice goes by what differs in its options; built-in ones come first."""
        pair = [msgspec.structs.replace(records[1], options={"pieces": pieces, "rule": "a"}) for pieces in (1, 4)]
        rows = read([written([*records[:1], *pair, records[2]], tmp_path / "results.csv")])
        assert series_of(rows) == ["ring", "tacos:pieces=1", "tacos:pieces=4", "mine"]

    def test_link_models_tell_apart(self, records, tmp_path):
        """Where a topology was run under two link models, each is a place of its own."""
        other = msgspec.structs.replace(records[0], latency="pipelined")
        rows = read([written([*records, other], tmp_path / "results.csv")])
        assert {"mesh:2x2, blocking", "mesh:2x2, pipelined", "mesh:3x3"} <= set(rows["place"])

    def test_time_limits_tell_apart(self, records, tmp_path):
        """Runs under several time limits are no repeats of each other."""
        path = written(records, tmp_path / "results.csv")
        rows = pd.read_csv(path)
        rows = pd.concat([rows.assign(time_limit_s=limit) for limit in (None, 1.0, 2.5)])
        rows.to_csv(path, index=False)
        found = {place for place in read([path])["place"] if "dgx1" in place}
        assert found == {"dgx1, no time_limit_s", "dgx1, within 1 s", "dgx1, within 2.5 s"}

    def test_scenarios_tell_apart(self, records, tmp_path):
        """What a schedule takes in other scenarios is no repeat of what it takes in its own."""
        path = written(records, tmp_path / "results.csv")
        rows = pd.concat([pd.read_csv(path).assign(scenario=name) for name in ("as run", "size ×16")])
        rows.to_csv(path, index=False)
        assert {"dgx1, as run", "dgx1, size ×16"} <= set(read([path])["place"])

    def test_several_files(self, records, tmp_path):
        """Files are read as one table."""
        paths = [written(part, tmp_path / f"{at}.csv") for at, part in enumerate((records[:5], records[5:]))]
        assert len(read(paths)) == len(records)


class TestLooks:
    """`looks`."""

    def test_all_differ(self):
        """Colour and marker tell everybody apart, as long as there are colours."""
        names = ["ring", "direct", "tacos", "tacos:pieces=4", "mine", "yours", "halving_doubling"]
        look = looks(names)
        assert len({each.colour for each in look.values()}) == len(names)
        assert len({each.marker for each in look.values()}) == len(names)
        assert look["tacos"].colour == looks(["mine", "tacos"])["tacos"].colour
        assert look["tacos:pieces=4"].label == "TACOS (pieces=4)"


class TestBars:
    """`grouped_bars` and the figure of it."""

    def test_nothing_to_compare_with(self, records, tmp_path):
        """A topology without the synthesizer that others are compared with says so."""
        rest = [row for row in records if (row.topology, row.synthesizer) != ("mesh:2x2", "ring")]
        with styled():
            assert "no Ring to compare" in texts(draw("bars", rest, tmp_path)["bars_all_reduce"])

    def test_heights(self):
        """Bars are as high as asked."""
        from matplotlib.figure import Figure

        axes = Figure().subplots()
        grouped_bars(axes, 2, looks(["ring", "tacos"]), Bars({(0, "ring"): 1.0, (1, "tacos"): 2.5}), "one", "tacos")
        assert sorted(patch.get_height() for patch in axes.patches) == [0, 0, 1, 2.5]


class TestFront:
    """`front`."""

    def test_dominated_points_are_left_out(self):
        """Only points that nobody beats in both remain, by rising cost."""
        assert front([(3, 5), (1, 1), (2, 4), (2, 3), (4, 5), (5, 2)]) == [(1, 1), (2, 4), (3, 5)]


class TestPowerLaw:
    """`power_law`."""

    def test_exact_power(self):
        """Points on a power law give its exponent and factor."""
        npus = np.array([4.0, 16.0, 64.0])
        assert power_law(npus, 3e-9 * npus**2) == pytest.approx((2, 3e-9))

    def test_two_numbers_of_npus_are_no_trend(self):
        """Many points at two numbers of NPUs are not fitted."""
        assert power_law(np.array([4.0, 4.0, 8.0]), np.ones(3)) is None
