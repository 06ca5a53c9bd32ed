"""Plugins from nothing to a row in a table, and what broken ones do to the others: nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from experiments.cli import main
from tests.plugin_environment import PluginEnvironment

#: Packages whose synthesizer is broken in one way each: what is put into its code, where, and what it comes to.
BROKEN = {
    "absent": ("import numpy as np", "import collbench_no_such_module", "ModuleNotFoundError"),
    "wrong_type": ("(Synthesizer):", ":", "TypeError: collbench_wrong_type:WrongType is not a subclass"),
    "sleepy": ("import numpy as np", "while True: pass", "ImportLimit: its import took over 2 s"),
    "crash": ("        return tuned(", "        raise KeyError('gone')\n        return tuned(", "KeyError: 'gone'"),
    "loop": ("        return tuned(", "        while True: pass\n        return tuned(", "ended after 12 s"),
    "leaves": ("        return tuned(", "        import os; os._exit(7)\n        return tuned(", "exit code 7"),
    "wrong": ("distance, chunk, link))", "distance, chunk, 0))", "chunk"),
}
AT_IMPORT = ("absent", "wrong_type", "sleepy")
LIMITS = {"COLLBENCH_IMPORT_LIMIT": "2"}
PROBLEM = ("-t", "ring:4", "-c", "all_gather", "-s", "1MB")


def refused(status, *args):
    """Run the program, which must end with `status` and one line on standard error; return the line."""
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (status, "", 1), result.output
    return result.stderr


@pytest.fixture(scope="module")
def plugged(tmp_path_factory):
    """Return an environment with a good plugin and one broken in each way, each written by ``synthesizer new``."""
    folder = tmp_path_factory.mktemp("plugins")
    environment = PluginEnvironment(folder / "environment")
    for name in ("good", *BROKEN):
        assert environment.run("collbench", "synthesizer", "new", name, cwd=folder).returncode == 0
        if name in BROKEN:
            before, after, _ = BROKEN[name]
            code = folder / name / f"collbench_{name}.py"
            assert code.read_text().count(before) == 1, name
            code.write_text(code.read_text().replace(before, after))
    # One build for all: a build is what takes long.
    bundle = folder / "bundle"
    bundle.mkdir()
    modules = [f"collbench_{name}" for name in BROKEN]
    for name, module in zip(BROKEN, modules, strict=True):
        (folder / name / f"{module}.py").rename(bundle / f"{module}.py")
    classes = {name: "".join(word.capitalize() for word in name.split("_")) for name in BROKEN}
    entries = "\n".join(f'{name} = "collbench_{name}:{classes[name]}"' for name in BROKEN)
    (bundle / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools>=61"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "collbench-broken"\nversion = "1"\n'
        f'[project.entry-points."collbench.synthesizers"]\n{entries}\n[tool.setuptools]\npy-modules = {modules}\n'
    )
    assert CliRunner().invoke(main, ["compare", *PROBLEM]).exit_code == 0  # kernels compiled here count in no limit
    environment.install(folder / "good")
    environment.install(bundle)

    def run(*args, **variables):
        """Run ``collbench`` there."""
        return environment.run("collbench", *args, cwd=folder, **(LIMITS | variables))

    return SimpleNamespace(run=run, environment=environment, folder=folder)


class TestNew:
    def test_never_overwrites(self, tmp_path):
        """A file or folder of the name is left as it is, and nothing else is left behind."""
        (tmp_path / "mine").write_text("precious")
        assert "left as it is" in refused(1, "synthesizer", "new", "mine", "--out", tmp_path)
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("mine", "precious")]
        assert "does not exist" in refused(1, "synthesizer", "new", "mine", "--out", tmp_path / "no")

    @pytest.mark.parametrize(("name", "says"), [
        ("my-ring", "such as 'my_ring'"), ("MyRing", "such as 'my_ring'"), ("3d", "such as 'my_synthesizer'"),
        ("a/b", "such as 'a_b'"), ("über", "is no name"), ("", "is no name"), ("ring_", "is no name"),
        ("class", "'my_class'"), ("none", "'my_none'"), ("schedule", "'my_schedule'"), ("tacos", "already"),
    ])  # fmt: skip
    def test_names(self, tmp_path, name, says):
        """Only what Python, pip and a command line can all call a synthesizer is a name."""
        assert says in refused(2, "synthesizer", "new", name, "--out", tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_short(self, tmp_path):
        """The synthesizer that is written is about 30 lines, and the answer names folder and files."""
        result = CliRunner().invoke(main, ["synthesizer", "new", "mine", "--out", str(tmp_path), "--json"])
        answer = json.loads(result.stdout)
        assert answer["folder"] == str(tmp_path / "mine")
        assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == answer["files"]
        code = (tmp_path / "mine" / "collbench_mine.py").read_text()
        assert "$" not in code
        assert len(code[code.index("class ") :].splitlines()) <= 45


class TestGood:
    def test_is_listed(self, plugged):
        """Once installed it is listed like any other."""
        entries = {each["name"]: each for each in json.loads(plugged.run("list", "synthesizers", "--json").stdout)[
            "synthesizers"]}  # fmt: skip
        assert entries["good"]["error"] is None
        assert (entries["good"]["source"], entries["good"]["options"]) == ("collbench-good", {"pieces": "auto"})

    def test_check(self, plugged):
        """It conforms, and what it refuses is counted with the reasons."""
        done = plugged.run("synthesizer", "check", "good")
        assert done.returncode == 0, done.stdout
        assert done.stdout.endswith("good conforms\n")
        assert done.stderr == ""
        counts = re.search(r"good: (\d+) cases, (\d+) supported, (\d+) refused, 0 failed", done.stdout)
        cases, supported, refused = map(int, counts.groups())
        assert cases == supported + refused
        assert supported > 20
        assert "cases: networks without switches only" in done.stdout

    def test_own_tests(self, plugged):
        """The test that comes with it passes."""
        done = plugged.environment.run("pytest", "-q", cwd=plugged.folder / "good")
        assert done.returncode == 0, done.stdout
        assert re.search(r"\d+ passed, \d+ skipped", done.stdout)


class TestBroken:
    def test_list(self, plugged):
        """Plugins that cannot be imported are listed with the reason, and the others as ever."""
        done = plugged.run("list", "synthesizers", "--json")
        assert done.returncode == 0
        errors = {entry["name"]: entry["error"] for entry in json.loads(done.stdout)["synthesizers"]}
        assert {name for name, error in errors.items() if error} == set(AT_IMPORT)
        for name in AT_IMPORT:
            assert BROKEN[name][2] in errors[name]

    def test_compare(self, plugged):
        """Each is a row with its reason; all the others have their times."""
        done = plugged.run("compare", *PROBLEM, "--kill-after", "12s", "--json")
        assert done.returncode == 0, done.stderr
        rows = {row["label"]: row for row in json.loads(done.stdout)["records"]}
        working = {name for name, row in rows.items() if row["status"] == "ok"}
        assert working == {
            "auto", "bfb", "bruck", "direct", "exact", "good", "halving_doubling", "recursive_doubling", "ring",
            "sccl", "swing", "taccl", "tacos",
        }  # fmt: skip
        for name, (_, _, reason) in BROKEN.items():
            assert reason in rows[name]["reason"], name
            assert rows[name]["time_us"] is None
        expected = {"loop": "timeout", "wrong": "invalid"}
        assert {name: rows[name]["status"] for name in BROKEN} == dict.fromkeys(BROKEN, "failed") | expected

    def test_plugins_run_apart(self, plugged):
        """Without a limit too, a plugin that takes its process with it ends nothing else."""
        choices = ("-m", "leaves", "-m", "good", "-m", "ring")
        rows = json.loads(plugged.run("compare", *PROBLEM, *choices, "--json").stdout)["records"]
        assert {row["label"]: row["status"] for row in rows} == {"good": "ok", "ring": "ok", "leaves": "failed"}

    @pytest.mark.parametrize("name", ["absent", "leaves", "wrong"])
    def test_check(self, plugged, name):
        """A verdict in readable lines, one for each failing case, and status 1."""
        done = plugged.run("synthesizer", "check", name)
        assert done.returncode == 1
        assert done.stdout.endswith(f"{name} does not conform\n")
        lines = [line for line in done.stdout.splitlines() if line.startswith("failed ")]
        assert lines
        assert any(BROKEN[name][2] in line for line in lines)
        assert f"{len(lines)} failed" in done.stdout

    def test_check_of_a_loop(self, plugged):
        """Cases that never end are ended, and after three of them the rest is left out."""
        done = plugged.run("synthesizer", "check", "loop", "--case-limit", "1s", "--json")
        verdict = json.loads(done.stdout)
        assert done.returncode == 1
        assert [entry["reason"] for entry in verdict["failed"]] == ["ended after 1 s without a result"] * 3
        assert verdict["left_out"] > 0
        assert verdict["cases"] == verdict["supported"] + sum(verdict["refused"].values()) + 3 + verdict["left_out"]

    def test_nothing_outlives_the_check(self, plugged):
        """When the program is killed, the process with the plugin's loop goes too."""
        program = [plugged.environment.python, "-c", "from experiments.cli import main; main()"]
        variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with subprocess.Popen([*program, "synthesizer", "check", "loop"], cwd=plugged.folder, env=variables,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # fmt: skip
            children = awaited(lambda: busy_children(process.pid))
            process.send_signal(signal.SIGKILL)
        assert awaited(lambda: not any(map(alive, children)))


class TestCheck:
    def test_unknown(self):
        """An unknown name is wrong usage and gets the nearest."""
        assert "did you mean 'tacos'?" in refused(2, "synthesizer", "check", "tacoss")


def awaited(found):
    """Return what is found, as soon as it is, within a minute."""
    end = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return value


def busy_children(parent):
    """Return the children of a process that have worked for two seconds, which are through with importing."""
    ticks = 2 * os.sysconf("SC_CLK_TCK")
    return [number for number, words in statuses() if int(words[1]) == parent and int(words[11]) > ticks]


def alive(number):
    """Return whether a process runs; one that has ended may wait to be asked how."""
    return any(each == number and words[0] != "Z" for each, words in statuses())


def statuses():
    """Return (number, fields after its name) of each process, as Linux tells them."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    found.append((int(entry), file.read().rpartition(")")[2].split()))
            except OSError:  # it has ended meanwhile
                continue
    return found
