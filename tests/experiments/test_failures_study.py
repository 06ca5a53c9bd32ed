"""The study of failures: what is left of networks, the experiment over it, its table and figure."""

from __future__ import annotations

import pytest

from experiments.failures_study import Damage, damaged, read_damages, write_grid, write_study
from experiments.files import ExperimentError, expand, read_experiment
from experiments.study_command import CONFIGS
from topologies import TopologyError, parse_topology

TINY = """
description: tiny
grid:
  problems: {collective: all_reduce, size: 1MB}
  synthesizers: [tacos, ring]
cases:
  - {network: "torus:3x3", what: cables, lost: [0, 2], draws: [0, 1]}
"""


def read(tmp_path, text):
    """Return what a study file of this text asks for."""
    (tmp_path / "tiny.yaml").write_text(text)
    return read_damages(tmp_path / "tiny.yaml")[1]


class TestDamaged:
    @pytest.mark.parametrize("draw", range(5))
    def test_cables(self, draw):
        """A cable takes both of its links along, the rest is connected, and more failures include fewer."""
        whole = parse_topology("mesh:3x3")
        before = None
        for lost in range(5):
            rest = damaged(Damage("mesh:3x3", "cables", lost, draw))
            assert rest.num_links == whole.num_links - 2 * lost
            assert len(rest.components()) == 1
            assert rest.name == f"mesh:3x3 less {lost} cables, draw {draw}"
            ends = set(zip(rest.src.tolist(), rest.dst.tolist(), strict=True))
            assert before is None or ends < before
            before = ends

    def test_npus(self):
        """An NPU takes its links along; the others are numbered anew."""
        rest = damaged(Damage("torus:4x4", "npus", 3, 1))
        assert rest.num_npus == 13
        assert len(rest.components()) == 1

    def test_too_many(self):
        """More failures than a network stands are refused in one line that says how many it stands."""
        with pytest.raises(TopologyError, match="expected at most 1"):
            damaged(Damage("ring:5", "cables", 2, 0))


class TestFile:
    def test_shipped(self):
        """Both shipped files lose cables and NPUs, and compare with the whole network."""
        for name in ("failures.yaml", "failures_quick.yaml"):
            damages = read_damages(CONFIGS / "studies" / name)[1]
            assert {damage.what for damage in damages} == {"cables", "npus"}
            for network, what in {(damage.network, damage.what) for damage in damages}:
                assert Damage(network, what, 0, 0) in damages

    def test_draws(self, tmp_path):
        """Draws of no failures are one; other settings are a product."""
        assert [(damage.lost, damage.draw) for damage in read(tmp_path, TINY)] == [(0, 0), (2, 0), (2, 1)]

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [("cables", "wires", "cables or npus"), ("[0, 2]", "[-1]", "negative"), ("draws", "drawn", "draws"),
         ("[0, 2]", "some", "line")],
    )  # fmt: skip
    def test_mistakes(self, tmp_path, old, new, expected):
        """A mistake is named in one line."""
        with pytest.raises(ExperimentError, match=expected) as caught:
            read(tmp_path, TINY.replace(old, new))
        assert "\n" not in str(caught.value)

    def test_grid(self, tmp_path):
        """The experiment file that is written has a run for each network and synthesizer."""
        (tmp_path / "tiny.yaml").write_text(TINY)
        grid = write_grid(tmp_path / "tiny.yaml", tmp_path / "out")
        assert len(expand(*read_experiment(str(grid)))) == 3 * 2


def test_study(tmp_path):
    """The table has medians and shares of the whole network, the bound too; the figure is written twice."""
    import pandas as pd

    rows = [
        {"topology": Damage("dgx1", "cables", lost, draw).name, "collective": "all_reduce", "label": "tacos",
         "busbw_gbps": busbw, "efficiency": 0.5}
        for lost, draw, busbw in [(0, 0, 100.0), (2, 0, 60.0), (2, 1, 80.0), (3, 0, None)]
    ]  # fmt: skip
    printed = write_study(pd.DataFrame(rows), tmp_path)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed[0].splitlines() if "dgx1" in line]
    assert lines == [
        ["dgx1", "0 cables", "100.0 (100%)", "200.0 (100%)"],
        ["dgx1", "2 cables", "70.0 (70%)", "140.0 (70%)"],
    ]
    assert (tmp_path / "failures.png").stat().st_size > 1000
    assert (tmp_path / "failures.svg").is_file()
