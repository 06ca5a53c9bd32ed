"""What the topology and what the schedule gains, from tiny results."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest

from experiments.files import expand, read_experiment
from experiments.record import Record
from experiments.reproduce_topoopt import ABLATION
from experiments.runner.run import Run
from experiments.tables import load_results, row_of, write_results
from experiments.topoopt_study.ablation import write_ablation

CONFIGS = Path(__file__).parents[2] / "experiments" / "configs"


def made(topology, label, gbps, kind="all_reduce", size=10**6):
    """Return a row; without a bandwidth it failed."""
    run = Run(topology=topology, collective=kind, size=size, synthesizer=label.partition(":")[0], label=label)
    status = "failed" if gbps is None else "ok"
    record = Record(
        topology=topology, collective=kind, size=size, num_npus=16, ranks=16, chunks=1, groups=1, latency="blocking",
        switching="cut_through", synthesizer=run.synthesizer, status=status, algbw_gbps=gbps,
        verified=gbps is not None, time_us=None if gbps is None else size / gbps / 1e3,
    )  # fmt: skip
    return row_of(run, record)


ROWS = [
    made("fabric:16x4", "topoopt", 8.0), made("fabric:16x4", "topoopt:ring", 8.0),
    made("fabric:16x4", "topoopt:tacos", 12.0), made("torus:4x4", "ring", 4.0), made("torus:4x4", "tacos", 6.0),
    made("torus:4x4", "direct", None), made("torus:4x4", "direct", 3.0, "all_to_all", 10**9),
]  # fmt: skip


def test_table_and_gains(tmp_path):
    """Schedules stand across, networks down; the wiring gains 2 under either schedule, TACOS 1.5 on either network."""
    write_results(tmp_path, ROWS)
    said = write_ablation(load_results(str(tmp_path)), tmp_path)
    text = (tmp_path / "ablation.md").read_text()
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    assert ["network", "TopoOpt's own", "Ring", "TACOS"] in lines
    assert ["TopoOpt", "8", "8", "**12**"] in lines
    assert ["Torus", "–", "4", "6"] in lines
    assert ["Torus", "**3**"] in lines
    assert "1MB: TopoOpt's wiring over a torus under the same schedule ×2.00" in said[0]
    assert "TACOS over rings on the same network ×1.50" in said[0]
    assert {Path(line).name for line in said[1:]} == {"ablation.png", "ablation.svg"}


def test_figure(tmp_path):
    """Each problem has a panel with the bandwidths in its cells, also where another problem has none."""
    from experiments.tables.rows import plain
    from experiments.topoopt_study.ablation import _speeds, ablation_figure

    write_results(tmp_path, ROWS)
    figure = ablation_figure(_speeds(plain(load_results(str(tmp_path)))))
    figure.draw_without_rendering()
    texts = {text.get_text() for text in figure.findobj(matplotlib.text.Text)}
    assert {"AllReduce, 1MB", "AllToAll, 1GB", "12", "TopoOpt", "Torus", "TACOS"} <= texts


@pytest.mark.parametrize("name", ["topoopt_ablation", "topoopt_ablation_quick"])
def test_what_is_run(name):
    """Every network gets every schedule that can do the collective, and no run is there that cannot work."""
    runs = expand(*read_experiment(str(CONFIGS / f"{name}.yaml")))
    assert {run.topology.partition(":")[0] for run in runs} == {
        "fabric",
        "torus",
        "jellyfish",
        "kautz_regular",
        "fat_tree",
    }
    for run in runs:
        assert (run.synthesizer == "topoopt") or not run.topology.startswith("fabric")
        assert run.collective != "all_gather" or run.label not in ("topoopt",)
    assert ABLATION.name == "ablation"
