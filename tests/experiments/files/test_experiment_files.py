"""Experiment files: what they may say, the grid that follows, and mistakes shown where they were made."""

from __future__ import annotations

import pytest

from experiments.cli.table import FORMATS
from experiments.files import ExperimentError, expand, read_experiment
from experiments.tables import formats
from topologies import ring, save_topology

BASE = "problems: {topology: 'ring:4', collective: all_gather, size: 1MB}\nsynthesizers: [ring]\n"


@pytest.fixture
def grid(tmp_path):
    """Return a function that gives the runs of a text."""

    def runs(text):
        path = tmp_path / "experiment.yaml"
        path.write_text(text)
        return expand(*read_experiment(str(path)))

    return runs


class TestGrid:
    def test_product(self, grid):
        """Lists are multiplied out in the order of the file, all synthesizers of a problem beside each other."""
        runs = grid(
            "problems:\n"
            "  - {topology: ['ring:4', 'ring:8'], collective: [all_gather, all_reduce], size: [1MB, 1MiB]}\n"
            "  - {topology: dgx1, collective: all_to_all, size: 0B, group: [all, '0,1;2,3', 5]}\n"
            "synthesizers: [ring, direct]\nseed: [0, 7]\nlatency: [blocking, pipelined]\nrepeats: 2\n"
        )
        assert len(runs) == (2 * 2 * 2 + 3) * 2 * 2 * 2 * 2
        assert [run.label for run in runs[:4]] == ["ring", "ring", "direct", "direct"]
        assert [run.repeat for run in runs[:4]] == [0, 1, 0, 1]
        assert list(dict.fromkeys(run.topology for run in runs)) == ["ring:4", "ring:8", "dgx1"]
        assert list(dict.fromkeys(run.groups for run in runs)) == [(), ((0, 1), (2, 3)), ((5,),)]
        assert {run.size for run in runs} == {10**6, 2**20, 0}
        assert len({run.key() for run in runs}) == len(runs)

    def test_zip(self, grid):
        """Zipped lists go together, the others are multiplied."""
        runs = grid(
            "problems: {topology: ['ring:4', 'ring:8'], collective: [all_gather, all_reduce], size: [1MB, 2MB],\n"
            "           zip: [size, topology]}\nsynthesizers: [ring]\n"
        )
        assert [(run.topology, run.collective, run.size) for run in runs] == [
            ("ring:4", "all_gather", 10**6),
            ("ring:4", "all_reduce", 10**6),
            ("ring:8", "all_gather", 2 * 10**6),
            ("ring:8", "all_reduce", 2 * 10**6),
        ]

    def test_time_limits(self, grid):
        """Several time limits are an axis of the grid: runs of their own, with names of their own."""
        runs = grid(BASE.replace("[ring]", "[ring, direct]") + "limits: {time_limit_s: [1, 2.5, 1]}\nseed: [0, 1]\n")
        found = [(run.time_limit_s, run.seed, run.label) for run in runs]
        assert found == [(limit, seed, label) for limit in (1, 2.5) for seed in (0, 1) for label in ("ring", "direct")]
        assert len({run.key() for run in runs}) == len({run.describe() for run in runs}) == 8
        assert "within 2.5 s" in runs[-1].describe()
        assert runs[-1].problem().time_limit_s == 2.5

    def test_file_of_an_option(self, grid, tmp_path, monkeypatch):
        """A file that an option names lies beside the experiment file, and what is in it determines the result."""
        text = BASE.replace("[ring]", "[{synthesizer: taccl, options: {sketch: mine/sketch.json}, label: mine}]")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "sketch.json").write_text('{"nnodes": 1}')
        (run,) = grid(text)
        assert run.options["sketch"] == str(tmp_path / "mine" / "sketch.json")
        monkeypatch.chdir(tmp_path)
        (near,) = grid(text)
        assert near.options["sketch"] == "mine/sketch.json"
        before = run.key()
        assert near.key() == before
        (tmp_path / "mine" / "sketch.json").write_text('{"nnodes": 2}')
        assert near.key() != before

    def test_only_and_repeats(self, grid):
        """A block may be for some synthesizers, and be measured more often."""
        runs = grid(
            "problems:\n  - {topology: 'ring:4', collective: all_gather, size: 1MB}\n"
            "  - {topology: 'ring:8', collective: all_gather, size: 1MB, only: 'ri*', repeats: 3}\n"
            "synthesizers: [ring, direct]\n"
        )
        assert [(run.topology, run.label, run.repeat) for run in runs] == [
            ("ring:4", "ring", 0), ("ring:4", "direct", 0), *(("ring:8", "ring", repeat) for repeat in range(3)),
        ]  # fmt: skip

    def test_options_expand(self, grid):
        """A list of values of an option is a run each, and the label says which."""
        text = BASE.replace(
            "[ring]",
            "[ring, {synthesizer: tacos, options: {trials: [1, 2], pieces: 4}}, "
            "{synthesizer: tacos, label: T, options: {trials: [3, 4], pieces: 2}}]",
        )
        runs = grid(text)
        labels = ["ring", "tacos:trials=1,pieces=4", "tacos:trials=2,pieces=4", "T:trials=3", "T:trials=4"]
        assert [run.label for run in runs] == labels
        assert runs[1].options == {"pieces": 4, "trials": 1}

    def test_tuned_alike(self, grid):
        """Without chunks everybody picks pieces by simulation, with chunks all keep them; who has none gets none."""
        text = BASE.replace("[ring]", "[ring, halving_doubling]")
        assert [run.options for run in grid(text)] == [{"pieces": "auto"}, {}]
        runs = grid(text.replace("size: 1MB", "size: 1MB, chunks: 2"))
        assert [(run.options, run.chunks) for run in runs] == [({"pieces": 1}, 2), ({}, 2)]

    def test_same_run_once(self, grid):
        """What is named twice is run once; defaults named are defaults."""
        text = BASE.replace("size: 1MB", "size: [1MB, 1000KB]")
        assert len(grid(text)) == 1
        explicit = BASE.replace("[ring]", "[{synthesizer: ring, options: {pieces: auto}, label: ring}]")
        assert grid(explicit)[0].key() == grid(BASE)[0].key()

    def test_roots_and_pairs(self, grid):
        """A root is of rooted collectives alone, pairs of send_recv, also where they stand beside others."""
        runs = grid(BASE.replace("all_gather", "[broadcast, all_gather, send_recv]").replace(
            "size: 1MB", "size: 1MB, root: [2, 3], pairs: '0-1,2-3'"))  # fmt: skip
        assert [(run.collective, run.root, run.pairs) for run in runs] == [
            ("broadcast", 2, ()), ("broadcast", 3, ()), ("all_gather", 0, ()), ("send_recv", 0, ((0, 1), (2, 3))),
        ]  # fmt: skip

    def test_topology_file(self, grid, tmp_path):
        """A topology file is found beside the experiment file, and is part of the key by its content."""
        save_topology(ring(4), tmp_path / "mine.json")
        first = grid(BASE.replace("'ring:4'", "mine.json"))[0]
        assert first.topology == str(tmp_path / "mine.json")
        assert first.key() == grid(BASE)[0].key()

    @pytest.mark.parametrize(
        "change",
        [
            ("1MB", "2MB"), ("ring:4", "ring:5"), ("ring:4", "ring:4@50GB/s,1us"), ("all_gather", "all_reduce"),
            ("1MB", "1MB, chunks: 2"), ("1MB", "1MB, group: '0,1'"), ("[ring]", "[direct]"),
            ("[ring]", "[{synthesizer: ring, options: {rings: 1}}]"), ("[ring]", "[ring]\nseed: 1"),
            ("[ring]", "[ring]\nlatency: pipelined"), ("[ring]", "[ring]\nswitching: store_and_forward"),
            ("[ring]", "[ring]\nlimits: {time_limit_s: 5}"),
        ],
        ids=lambda change: change[1],
    )  # fmt: skip
    def test_key(self, grid, change):
        """Whatever determines a result changes its key."""
        assert grid(BASE)[0].key() != grid(BASE.replace(*change))[0].key()

    def test_key_holds_versions(self, grid, monkeypatch):
        """Another version of a synthesizer or of the schedules is another run."""
        from experiments.runner import run as module
        from synthesizers.ring import Ring

        before = grid(BASE)[0].key()
        monkeypatch.setattr(module, "IR_VERSION", 99)
        assert grid(BASE)[0].key() != before
        monkeypatch.undo()
        monkeypatch.setattr(Ring, "version", "99")
        module._maker.cache_clear()
        assert grid(BASE)[0].key() != before
        module._maker.cache_clear()


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", "1: expected an experiment: .*found an empty file"),
            ("- a\n", "1: expected an experiment: .*found a list"),
            ("problems: [\n", "2: not YAML: "),
            ("a: 1\nproblems: &a [*a]\n", "cannot be read as YAML"),
            (BASE + "seed: 1\nseed: 2\n", "4: the key 'seed' is given twice"),
            (BASE + "3: 4\n", "3: the key 3 is no text"),
            (BASE + "seeds: 1\n", "3: unknown key 'seeds'; did you mean 'seed'"),
            (BASE + "xyzzy: 1\n", "3: unknown key 'xyzzy'; expected one of problems, "),
            (BASE + "limits:\n  time_limit: 3\n", "4: unknown key 'time_limit'; did you mean 'time_limit_s'"),
            (BASE + "tables:\n  - valu: x\n", "4: unknown key 'valu'; did you mean 'value'"),
            ("problems:\n  - topologies: a\nsynthesizers: [ring]\n", "2: unknown key 'topologies'; .*'topology'"),
            ("problems:\n  - topology: a\n    size: 1\nsynthesizers: [ring]\n", "2: the key 'collective' is missing"),
            (BASE + "seed: x\n", "3: seed: expected a whole number or a list, got text, found 'x'"),
            (BASE + "seed: [1,\n  -2]\n", "4: seed: expected a whole number >= 0, found -2"),
            (BASE + "repeats: 0\n", "3: repeats: expected a whole number >= 1, found 0"),
            (BASE + "latency: blockng\n", "3: latency: unknown value 'blockng'; expected one of blocking, pipelined"),
            (BASE + "limits: {time_limit_s: 0}\n", "3: time_limit_s: expected a number > 0.0, found 0"),
            (BASE + "limits:\n  time_limit_s:\n  - 1\n  - -2\n", "6: time_limit_s: expected a number > 0.0, found -2"),
            (BASE + "limits: {time_limit_s: []}\n", "3: time_limit_s: expected a list of length >= 1"),
            (BASE + "plots: [{kind: gantt, size: 5}]\n", "3: size: "),
            (BASE + "plots: [{kind: gantt, size: 5MB}]\n", "3: size: no run is of 5MB"),
            (BASE + "plots: [{kind: gantt, only: tac}]\n", "3: only: 'tac' is like no run"),
            (BASE + "plots: [{kind: gantt, onyl: tac}]\n", "3: unknown key 'onyl'; did you mean 'only'?"),
            (BASE.replace("1MB}", "1MB, only: rong}"), "1: only: 'rong' is like no synthesizer; labels are ring"),
            (BASE.replace("[ring]", "[{synthesizer: tacos, options: {trials: []}}]"), "2: trials is an empty list"),
            (BASE + "repeats: 1000000\n", "up to 1,000,000 runs, more than 200,000; split the experiment"),
            (BASE.replace("[ring]", '[{synthesizer: ring, label: " "}]'), "2: the label ' ' cannot be shown"),
            (BASE.replace("[ring]", '[{synthesizer: ring, label: "a\\nb"}]'), "2: the label .* cannot be shown"),
            (BASE + "limits: {time_limit_s: .inf}\n", "3: time_limit_s is infinite; leave it out for no limit"),
            (BASE + "plots: [gant]\n", "3: plots: unknown value 'gant'; expected one of busbw, bars, "),
            (BASE + "limits: {memory_limit_mb: 100}\n", "3: memory_limit_mb: expected a number >= 300"),
            (BASE + "tables: [{value: busbw}]\n", "3: value: there is no 'busbw'; did you mean 'busbw_gbps'"),
            (BASE + "tables: [{normalise: tacos}]\n", "3: normalise: there is no 'tacos'"),
            (BASE + "tables: [{rows: [topolgy]}]\n", "3: rows: there is no 'topolgy'; did you mean 'topology'"),
            (BASE.replace("1MB", "1000"), "1: size: size '1000' has no unit"),
            (BASE.replace("1MB", "[1MB,\n 2XB]"), "2: size: size '2XB': unknown unit"),
            (BASE.replace("1MB", "[]"), "1: size is an empty list"),
            (BASE.replace("[ring]", "[]"), "2: synthesizers is empty"),
            (BASE.replace("[ring]", "[rng]"), "2: unknown synthesizer 'rng'; did you mean 'ring'"),
            (BASE.replace("[ring]", "[ring, ring]"), "2: ring is there twice"),
            (BASE.replace("[ring]", "['topoopt:schedule=tacos']"),
             "2: synthesizer 'topoopt:schedule=tacos': in a file options stand apart, "
             "{synthesizer: topoopt, options: {schedule: tacos}}"),
            (BASE.replace("[ring]", "\n - synthesizer: ring\n   options: {piecs: 3}"), "4: ring has no option 'piecs'"),
            (BASE.replace("ring:4", "rng:4"), "1: topology: .*did you mean ring"),
            (BASE.replace("all_gather", "AllGather"), "1: collective: unknown collective .*did you mean 'all_gather'"),
            (BASE.replace("1MB", "1MB, group: '0,9'"), "1: all_gather: group member 9 is out of range"),
            (BASE.replace("1MB", "1MB, group: x"), "1: group: found 'x'; expected NPUs in rank order"),
            (BASE.replace("1MB", "1MB, root: 0"), "1: root is of broadcast"),
            (BASE.replace("1MB", "1MB, pairs: 0-1"), "1: send_recv needs pairs"),
            (BASE.replace("all_gather", "send_recv").replace("1MB", "1MB, pairs: 0-1-2"), "1: pairs: found '0-1-2'"),
            (BASE.replace("1MB", "[1MB, 2MB], zip: [topology, size]"), "1: zip: topology has 1 values and size 2"),
            (BASE.replace("1MB", "1MB, zip: [siz]"), "1: zip: unknown axis 'siz'"),
        ],
    )  # fmt: skip
    def test_each_is_one_line(self, grid, text, expected):
        """Every mistake is one line with file, line and what to do."""
        with pytest.raises(ExperimentError, match=rf"experiment\.yaml.*{expected}") as caught:
            grid(text)
        assert "\n" not in str(caught.value)

    def test_missing_file(self, tmp_path):
        """A file that is not there is said to be so."""
        with pytest.raises(ExperimentError, match="cannot read"):
            read_experiment(str(tmp_path / "absent.yaml"))

    def test_constants_written_out(self):
        """What the command line writes out, to start quickly, is what there is."""
        assert FORMATS == formats.FORMATS
