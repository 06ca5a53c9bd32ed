"""Workload files: the shipped ones and their known totals, and mistakes shown where they were made."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

from experiments.files import ExperimentError
from experiments.workloads import Placement, read_workload, shipped

ROOT = Path(__file__).parents[3]

BASE = """name: small
batch: 2
server: {memory: 80GB, tflops: 62.4, memory_bandwidth: 2039GB/s}
layers:
  - {name: top, kind: dense, inputs: 3, outputs: 4}
tables:
  - {name: users, rows: 10, width: 8, lookups: 1}
"""

#: Parameters of layers and of tables, operations of a sample forward, samples of a server.
TOTALS = {
    "dlrm": (327_241_729, 64 * 10_000_000 * 128, 654_319_616, 128),
    "candle": (6_189_858_817, 0, 12_378_931_200, 256),
    "bert": (182_937_600, 0, 19_528_679_424, 16),
    "ncf": (184_586_241, 128 * 1_000_000 * 128, 369_106_944, 128),
    "vgg16": (138_357_544, 0, 30_940_528_640, 64),
    "resnet50": (25_557_032, 0, 8_178_368_512, 128),
}


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a text as a workload file."""

    def workload(text):
        path = tmp_path / "workload.yaml"
        path.write_text(text)
        return read_workload(str(path))

    return workload


class TestShipped:
    def test_all_are_there(self):
        """Six workloads come with collbench, by the names of TopoOpt's evaluation."""
        assert sorted(shipped()) == sorted(TOTALS)

    @pytest.mark.parametrize("name", TOTALS)
    def test_totals(self, name):
        """Each file adds up to its known totals, states them itself, and says how long it computes."""
        workload = read_workload(name)
        found = (workload.layer_parameters, workload.table_parameters, workload.layer_flops, workload.batch)
        assert found == TOTALS[name]
        text = shipped()[name].read_text()
        for key in ("layer_parameters", "table_parameters", "layer_flops", "layer_ms"):
            assert f"\n  {key}: " in text

    def test_published_totals(self):
        """Counts that others publish: torchvision's of both image models, the 335,141,888 parameters of BERT-large."""
        vgg, resnet, bert = (read_workload(name) for name in ("vgg16", "resnet50", "bert"))
        assert vgg.layer_parameters == pytest.approx(138.36e6, rel=1e-4)
        assert resnet.layer_parameters == pytest.approx(25.56e6, rel=2e-4)
        assert vgg.layer_flops / 2 == pytest.approx(15.47e9, rel=1e-3)
        assert resnet.layer_flops / 2 == pytest.approx(4.09e9, rel=1e-3)
        embedding, *block = bert.layers
        pooler = 1024 * 1024 + 1024
        assert embedding.parameters + 24 * sum(layer.parameters for layer in block) + pooler == 335_141_888

    def test_bytes(self):
        """DLRM's tables are 327.68 GB, and ResNet50 trains as many images a second as its rate was taken from."""
        dlrm, resnet = read_workload("dlrm"), read_workload("resnet50")
        assert dlrm.table_parameters * dlrm.bytes_per_value == 327_680_000_000
        assert resnet.batch / resnet.layer_s == pytest.approx(938, rel=0.005)

    @pytest.mark.parametrize("servers", [12, 16, 128])
    @pytest.mark.parametrize("name", TOTALS)
    def test_demand(self, name, servers):
        """Each is read and makes a demand within a second: layers added up by all, a vector a sample of each table."""
        begun = time.perf_counter()
        workload = read_workload(name)
        placement = Placement(workload, servers)
        found = placement.demand(placement.start())
        assert time.perf_counter() - begun < 1
        assert found.reduced_bytes == 4 * TOTALS[name][0]
        assert found.groups == (tuple(range(servers)),)
        tables = {"dlrm": 64, "ncf": 128}.get(name, 0)
        assert found.mp_bytes == 2 * tables * (servers - 1) * 128 * 128 * 4
        assert placement.compute_s(placement.start()) > 0

    def test_are_packaged(self):
        """A wheel takes the files with it: a pattern of the package data is theirs."""
        patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
        folder = ROOT / "experiments" / "workloads"
        packaged = {path for pattern in patterns for path in folder.glob(pattern)}
        assert {path.resolve() for path in shipped().values()} <= {path.resolve() for path in packaged}


class TestLayers:
    def test_dense(self, read):
        """A dense layer has a bias for each output, and is applied to each position."""
        layer = read(BASE.replace("outputs: 4", "outputs: 4, positions: 5, repeat: 2")).layers[0]
        assert (layer.parameters, layer.input_values, layer.output_values) == (3 * 4 + 4, 5 * 3, 5 * 4)
        assert (layer.flops, layer.width, layer.repeat) == (2 * 3 * 4 * 5, 4, 2)

    def test_conv(self, read):
        """A convolution's input is as many times larger as its stride."""
        text = BASE.replace("kind: dense", "kind: conv, kernel: 3, size: 5, stride: 2, per_output: 2")
        layer = read(text).layers[0]
        assert (layer.parameters, layer.input_values, layer.output_values) == (9 * 3 * 4 + 2 * 4, 3 * 10**2, 4 * 5**2)
        assert (layer.flops, layer.width) == (2 * 9 * 3 * 4 * 5**2, 4)

    def test_attention(self, read):
        """Attention has three projections, and positions² scores made and applied; its units are heads."""
        text = BASE.replace("kind: dense, inputs: 3, outputs: 4", "kind: attention, hidden: 6, heads: 2, positions: 5")
        layer = read(text).layers[0]
        assert (layer.parameters, layer.input_values, layer.output_values) == (3 * 6 * 6 + 3 * 6, 30, 30)
        assert (layer.flops, layer.width) == (2 * 3 * 36 * 5 + 2 * (2 * 25 * 6), 2)

    def test_embedding(self, read):
        """An embedding has rows, gives one for each position, and computes nothing."""
        text = BASE.replace("kind: dense, inputs: 3, outputs: 4", "kind: embedding, rows: 9, width: 4, positions: 5")
        layer = read(text).layers[0]
        assert (layer.parameters, layer.input_values, layer.output_values) == (36, 0, 20)
        assert (layer.flops, layer.width) == (0, 4)

    def test_tables(self, read):
        """Tables alike are each one of their own, numbered; one alone keeps its name."""
        several = read(BASE.replace("name: users", "name: users, count: 2")).tables
        assert [table.name for table in several] == ["users_0", "users_1"]
        assert [table.name for table in read(BASE).tables] == ["users"]
        assert several[0].parameters == 80

    def test_server(self, read):
        """Quantities carry units."""
        server = read(BASE.replace("80GB", "80GiB")).server
        assert (server.memory_bytes, server.tflops, server.memory_gbps) == (80 * 2**30, 62.4, 2039)


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "1: expected a workload: .*found an empty file"),
            ("- a\n", "1: expected a workload: .*found a list"),
            (BASE + "bacth: 1\n", "8: unknown key 'bacth'; did you mean 'batch'"),
            (BASE.replace("inputs: 3", "input: 3"), "5: unknown key 'input'; did you mean 'inputs'"),
            (BASE.replace("inputs: 3", "kernel: 3"), "5: unknown key 'kernel'; expected one of name, inputs"),
            (BASE.replace("inputs: 3, ", ""), "5: the key 'inputs' is missing in layers"),
            (BASE.replace("rows", "row"), "7: unknown key 'row'; did you mean 'rows'"),
            (BASE.replace("tflops", "flops"), "3: unknown key 'flops'; did you mean 'tflops'"),
            (BASE + "totals: {layer_parameter: 1}\n", "8: unknown key 'layer_parameter'; did you mean 'layer_p"),
            (BASE.replace("batch: 2\n", ""), "1: the key 'batch' is missing"),
            (BASE.replace("kind: dense, ", ""), "5: the key 'kind' is missing in layers; expected one of dense, conv"),
            (BASE.replace("dense", "dens"), "5: unknown kind 'dens'; expected one of dense, conv, attention"),
            (BASE.replace("dense", "[dense]"), "5: unknown kind"),
            (BASE.replace("inputs: 3", "inputs: -3"), "5: inputs: expected a whole number >= 1, found -3"),
            (BASE.replace("inputs: 3", "inputs: 1e3"), "5: inputs: expected a whole number, .*found '1e3'"),
            (BASE.replace("batch: 2", "batch: 0"), "2: batch: expected a whole number >= 1, found 0"),
            (BASE.replace("62.4", ".nan"), "3: tflops: "),
            (BASE.replace("62.4", "0"), "3: tflops: expected a number >= "),
            (BASE.replace("80GB", "80"), "3: memory: size '80' has no unit"),
            (BASE.replace("2039GB/s", "2039GB"), "3: memory_bandwidth: .*unknown unit 'GB'"),
            (BASE.replace("lookups: 1", "lookups: many"), "7: lookups: expected a whole number, .*found 'many'"),
            (BASE.replace("  - {name: top, kind: dense, inputs: 3, outputs: 4}", "  []"), ": layers is empty"),
            (BASE.replace("layers:\n  - ", "layers:\n  - 3\n  - "), "5: layers: expected a mapping, .*found 3"),
            (BASE + "  - {name: users, rows: 1, width: 1, lookups: 1}\n", "8: the name 'users' is there twice"),
            (BASE + "  - {name: users, name: b}\n", "8: the key 'name' is given twice"),
            (BASE.replace("kind: dense, inputs: 3, outputs: 4", "kind: attention, hidden: 6, heads: 4, positions: 5"),
             "5: heads: 4 heads do not share a hidden width of 6"),
            (BASE.replace("inputs: 3, outputs: 4", "inputs: 100000000, outputs: 100000000"), r"1: 1e\+16 parameters"),
            (BASE.replace("inputs: 3", "inputs: 3, repeat: 1000000000, positions: 10000"), "activation values of"),
            (BASE + "totals: {layer_parameters: 12}\n", "8: layer_parameters: 12 stated, but the file adds up to 16"),
            (BASE + "totals: {table_parameters: 81}\n", "8: table_parameters: 81 stated, but .* 80"),
            (BASE + "totals: {layer_flops: 25}\n", "8: layer_flops: 25 stated, but .* 24"),
            (BASE + "totals: {layer_ms: 1}\n", "8: layer_ms: 1 stated, but the file gives 2.308e-09"),
        ],
    )  # fmt: skip
    def test_line_and_hint(self, read, text, message):
        """A mistake is one line with its file and line, and says what to do."""
        with pytest.raises(ExperimentError, match=message) as raised:
            read(text)
        assert "\n" not in str(raised.value)
        assert "workload.yaml:" in str(raised.value)

    @pytest.mark.parametrize(
        ("name", "hint"), [("dlmr", "did you mean dlrm"), ("zzz", "expected a YAML file, or one of bert, candle, ")]
    )
    def test_no_file(self, name, hint):
        """A name that is none is answered with the nearest, or with all."""
        with pytest.raises(ExperimentError, match=f"{name} is no file and no workload that is shipped; {hint}"):
            read_workload(name)


class TestPage:
    PAGE = (ROOT / "docs" / "workloads.md").read_text()

    def test_example(self, read):
        """The file printed on the page is read as it stands there."""
        text = self.PAGE.partition("```yaml\n")[2].partition("```")[0]
        assert [table.name for table in read(text).tables] == ["table_0", "table_1"]

    def test_python(self):
        """The lines printed on the page run, and the collective is the demand's."""
        scope: dict[str, object] = {}
        exec(compile(self.PAGE.partition("```python\n")[2].partition("```")[0], "workloads.md", "exec"), scope)
        assert scope["collective"].num_npus == 128
        assert scope["demand"].size == 1_308_966_916 + 1_065_353_216

    @pytest.mark.parametrize("name", TOTALS)
    def test_table(self, name):
        """The figures of the page's table are those of the strategy to start from on 128 servers."""
        workload = read_workload(name)
        placement = Placement(workload, 128)
        strategy = placement.start()
        found, table_bytes = placement.demand(strategy), 4 * workload.table_parameters
        row = [
            f"`{name}`",
            f"{workload.layer_parameters:,}",
            f"{table_bytes / 1e9:.2f} GB" if table_bytes else "",
            f"{found.reduced_bytes:,} B",
            f"{found.mp_bytes:,} B",
            f"{placement.compute_s(strategy) * 1e3:.2f} ms",
        ]
        assert f"| {' | '.join(row)} |".replace("|  |", "| |") in self.PAGE
