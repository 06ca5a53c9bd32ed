"""collbench run as a user meets it: whatever a synthesizer does is a row, and nothing that is finished is lost."""

from __future__ import annotations

import os
import random
import signal
import time

import psutil

from tests.experiments.runner.results_file import lasting, rows

ONE = """
problems: {topology: 'ring:4', collective: all_gather, size: 1MB}
"""


class TestMisbehaviour:
    def test_each_is_a_row(self, program, experiment):
        """Timeouts, memory, crashes, exits and wrong schedules are rows with reasons, and the right ones go on."""
        name = experiment(
            ONE
            + "synthesizers: [ring, endless, hungry, greedy, crashing, leaving, exiting, refusing, failing, wrong,"
            + " absent, vague]\n"
            + "limits: {time_limit_s: 4, memory_limit_mb: 700}\n"
        )
        done = program("run", name, "--jobs", 2)
        assert done.status == 0, done.stderr
        found = {row["label"]: (row["status"], row["reason"]) for row in rows(program)}
        assert found["ring"] == ("ok", "")
        assert found["endless"] == ("timeout", "its synthesis took longer than the time limit of 4 s")
        assert found["hungry"] == ("out of memory", "it took more than the memory limit of 700 MB")
        assert found["greedy"][0] == "out of memory"
        assert found["crashing"] == ("failed", "its process died (SIGSEGV)")
        assert found["leaving"] == ("failed", "its process ended by itself, with exit status 7")
        assert found["exiting"] == ("failed", "SystemExit: gone")
        assert found["refusing"] == ("unsupported", "only on Sundays")
        assert found["failing"] == ("failed", "no tree here")
        assert found["vague"] == ("failed", "its supports() returned False; expected None, or the reason why not")
        assert found["wrong"][0] == "invalid"
        assert "absent" in found["absent"][1]
        assert found["absent"][0] == "failed"
        assert "10 of 12 runs failed" in done.stderr
        assert "Traceback" not in done.stderr
        assert list(found) == [row["label"] for row in rows(program)]

    def test_children_die_too(self, program, experiment):
        """A worker that ignores signals is killed at its limit, with the solver that it has started."""
        name = experiment(ONE + "synthesizers: [stubborn]\nlimits: {time_limit_s: 0.5}\n")
        done = program("run", name, COUNT=str(program.folder / "pids"))
        assert done.status == 1  # nothing worked
        assert [row["status"] for row in rows(program)] == ["timeout"]
        for pid in (program.folder / "pids").read_text().split():
            assert not psutil.pid_exists(int(pid)) or psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE

    def test_standard_output_is_for_the_answer(self, program, experiment):
        """What a synthesizer or its child prints is not among the tables."""
        done = program("run", experiment(ONE + "synthesizers: [chatty]\n"))
        assert done.status == 0
        assert "hello" not in done.stdout
        assert "child" not in done.stdout


class TestResuming:
    def test_nothing_twice(self, program, experiment):
        """A second start does nothing anew, a larger grid only what is new, and flags override the file."""
        count = program.folder / "count"
        name = experiment(ONE + "synthesizers: [patient]\nseed: [1, 2]\nrepeats: 2\n")
        assert program("run", name, COUNT=str(count)).status == 0
        # Two workers write: in any order.
        assert sorted(count.read_text().splitlines()) == ["1000000 1"] * 2 + ["1000000 2"] * 2
        first = rows(program)
        assert program("run", name, COUNT=str(count)).status == 0
        assert rows(program) == first  # the measured columns too
        assert program("run", name, "--repeats", 3, COUNT=str(count)).status == 0
        assert len(count.read_text().splitlines()) == 6
        assert program("run", name, "--seed", 1, "--repeats", 1, COUNT=str(count)).status == 0
        assert len(count.read_text().splitlines()) == 6
        assert len(rows(program)) == 1

    def test_time_limits(self, program, experiment):
        """Each time limit is a run of its own that is told of it and ended at it, and none is a repeat of another."""
        name = experiment(ONE + "synthesizers: [{synthesizer: patient, options: {seconds: 3.0}}]\n")
        done = program("run", name, "--time-limit", "1,20,1.0", "--jobs", 1)
        assert done.status == 0, done.stderr
        found = [(row["time_limit_s"], row["status"]) for row in rows(program)]
        assert found == [("1.0", "timeout"), ("20.0", "ok")]
        assert "within 1 s: timeout" in done.stderr
        assert "Ranking over 1 problem" in done.stdout
        refused = program("run", name, "--time-limit", "1,0")
        assert (refused.status, refused.stderr.count("\n")) == (2, 1)
        assert "'0': expected more than 0 seconds" in refused.stderr

    def test_retry(self, program, experiment):
        """Failures are kept until --retry, what is not supported is no failure."""
        name = experiment(ONE + "synthesizers: [ring, failing, refusing]\n")
        assert program("run", name).status == 0
        assert [row["status"] for row in rows(program)] == ["ok", "failed", "unsupported"]
        assert program("run", name, MENDED="1").status == 0
        assert [row["status"] for row in rows(program)] == ["ok", "failed", "unsupported"]
        done = program("run", name, "--dry-run", "--retry", MENDED="1")
        assert "1 to do" in done.stdout
        assert program("run", name, "--retry", MENDED="1").status == 0
        assert [row["status"] for row in rows(program)] == ["ok", "ok", "unsupported"]

    def test_only(self, program, experiment):
        """--only does a part; the results keep what was done before, in the order of the grid."""
        name = experiment(ONE + "synthesizers: [direct, ring]\n")
        assert program("run", name, "--only", "ri*").status == 0
        assert [row["label"] for row in rows(program)] == ["ring"]
        assert program("run", name, "--only", "direct").status == 0
        assert [row["label"] for row in rows(program)] == ["direct", "ring"]
        refused = program("run", name, "--only", "tacos*")
        assert (refused.status, refused.stderr.count("\n")) == (2, 1)
        assert "labels are direct, ring" in refused.stderr

    def test_damaged_run_is_done_again(self, program, experiment):
        """A stored run that is damaged is not believed."""
        name = experiment(ONE + "synthesizers: [ring]\n")
        assert program("run", name).status == 0
        (stored,) = (program.folder / "results" / "one" / "runs").glob("*/*.json")
        whole = stored.read_bytes()
        stored.write_bytes(whole[: len(whole) // 2])
        assert program("run", name).status == 0
        assert [row["status"] for row in rows(program)] == ["ok"]

    def test_killed_at_random(self, program, experiment):
        """Killed at random points, alone or with its workers, and started again, it ends as if left undisturbed."""
        seed = random.randrange(2**32)
        print(f"seed {seed}")  # shown when the test fails
        name = experiment(
            "problems: {topology: ['ring:4', 'mesh:3x3'], collective: all_gather, size: [1MB, 2MB]}\n"
            "synthesizers: [ring, {synthesizer: patient, options: {seconds: [0.05, 0.1]}}, failing]\nseed: [0, 1]\n"
        )
        assert program("run", name, "--out", "whole", "--jobs", 2).status == 0
        draw = random.Random(seed)
        for end in (os.kill, os.killpg) * 2:
            started = program.start("run", name, "--out", "torn", "--jobs", 2)
            for _ in range(draw.randrange(5)):  # so many runs, then a moment more
                started.stderr.readline()
            time.sleep(draw.uniform(0.0, 0.5))
            workers = psutil.Process(started.pid).children(recursive=True)
            end(started.pid, signal.SIGKILL)
            started.communicate()
            assert not psutil.wait_procs(workers, timeout=10)[1]
        assert program("run", name, "--out", "torn").status == 0
        whole, torn = rows(program, "whole"), rows(program, "torn")
        assert len(whole) == 2 * 2 * 4 * 2
        assert lasting(torn) == lasting(whole)
        assert not list((program.folder / "torn").glob("**/.*-*"))

    def test_interrupt(self, program, experiment):
        """Ctrl-C keeps what is finished, says so in one line, leaves no process, and ends with 130."""
        name = experiment(ONE + "synthesizers: [ring, {synthesizer: patient, options: {seconds: [0.0, 60.0]}}]\n")
        started = program.start("run", name, "--jobs", 1)
        line = started.stderr.readline() + started.stderr.readline()
        assert "ring" in line
        assert "patient" in line
        time.sleep(0.3)
        workers = psutil.Process(started.pid).children(recursive=True)
        os.killpg(started.pid, signal.SIGINT)
        stderr = started.communicate(timeout=30)[1]
        assert started.returncode == 130
        assert stderr.splitlines()[-1].startswith("collbench: interrupted; 2 of 3 runs are kept in results/one")
        assert "Traceback" not in stderr
        assert len(rows(program)) == 2
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive

    def test_told_to_end(self, program, experiment):
        """SIGTERM, as of a job that is over, says what is kept too."""
        name = experiment(ONE + "synthesizers: [ring, {synthesizer: patient, options: {seconds: 60.0}}]\n")
        started = program.start("run", name, "--jobs", 1)
        assert "ring" in started.stderr.readline()
        started.send_signal(signal.SIGTERM)
        stderr = started.communicate(timeout=30)[1]
        assert started.returncode == 143
        assert stderr.splitlines()[-1].startswith("collbench: told to end; 1 of 2 runs are kept in results/one")

    def test_one_at_a_time(self, program, experiment):
        """A second process on the same folder is turned away."""
        name = experiment(ONE + "synthesizers: [{synthesizer: patient, options: {seconds: 20.0}}, ring]\n")
        started = program.start("run", name, "--jobs", 2)
        assert "ring" in started.stderr.readline()
        refused = program("run", name)
        assert (refused.status, refused.stderr.count("\n")) == (1, 1)
        assert "another collbench run writes into results/one" in refused.stderr
        started.send_signal(signal.SIGINT)
        started.communicate(timeout=30)


class TestAlone:
    def test_one_at_a_time(self, program, experiment):
        """Runs of a block that wants to be alone come last and one at a time, whatever --jobs says."""
        name = experiment(
            "problems:\n"
            "  - {topology: 'ring:4', collective: all_gather, size: 1MB, only: lonely, alone: true}\n"
            "  - {topology: 'ring:4', collective: all_gather, size: 2MB, only: ring}\n"
            "synthesizers: [{synthesizer: lonely, options: {seconds: 0.3}, label: lonely}, ring]\nseed: [0, 1, 2]\n"
        )
        done = program("run", name, "--jobs", 3, COUNT=str(program.folder / "here"))
        assert [(row["label"], row["status"]) for row in rows(program)] == [("lonely", "ok")] * 3 + [("ring", "ok")] * 3
        said = [line.split("] ")[1].split()[0] for line in done.stderr.splitlines() if line.startswith("[")]
        assert said == ["ring"] * 3 + ["lonely"] * 3


class TestPlots:
    def test_drawn_beside_the_results(self, program, experiment):
        """The plots of a file are drawn with its results, the same kind of other rows under another name."""
        name = experiment(
            "problems: {topology: ['ring:4', 'mesh:2x2'], collective: all_gather, size: 1MB}\nsynthesizers: [ring]\n"
            "keep_schedules: true\nplots: [busbw, {kind: busbw, only: '*mesh*'}, {kind: gantt, only: '*ring:4'}]\n"
        )
        done = program("run", name)
        assert done.status == 0, done.stderr
        names = ["busbw_all_gather", "busbw_all_gather_2", "ring-4_all_gather_1MB_ring_gantt"]
        folder = program.folder / "results" / "one" / "plots"
        assert sorted(path.name for path in folder.iterdir()) == [f"{each}.{end}" for each in names
                                                                  for end in ("png", "svg")]  # fmt: skip
        assert [line for line in done.stdout.splitlines() if line.startswith("plot: ")] == [
            f"plot: results/one/plots/{each}.png" for each in names
        ]

    def test_what_cannot_be_drawn(self, program, experiment):
        """A plot of nothing that worked is a remark, and the results stay."""
        done = program(
            "run", experiment(ONE + "synthesizers: [ring, failing]\nplots: [{kind: busbw, only: failing}]\n")
        )
        assert done.status == 0
        assert "the plot busbw could not be drawn: results/one: none of 1 runs worked" in done.stderr
        assert len(rows(program)) == 2


class TestSmoke:
    def test_smoke(self, program):
        """The shipped smoke experiment runs, by its name, without a failure."""
        done = program("run", "smoke", "--jobs", 2)
        assert done.status == 0, done.stderr
        assert "runs failed" not in done.stderr
        assert "Ranking over" in done.stdout
        found = rows(program, "results/smoke")
        assert {row["status"] for row in found} <= {"ok", "unsupported"}
        assert all(float(row["efficiency"]) <= 1 + 1e-9 for row in found if row["efficiency"])
        for name in ("results.parquet", "tables.md", "experiment.yaml"):
            assert (program.folder / "results" / "smoke" / name).is_file()

    def test_dry_run(self, program):
        """--dry-run prints the grid and its size, and writes nothing."""
        done = program("run", "smoke", "--dry-run")
        assert done.status == 0
        lines = done.stdout.splitlines()
        assert lines[-1].startswith(f"{len(lines) - 1} runs (")
        assert lines[-1].endswith(f"{len(lines) - 1} to do")
        assert not (program.folder / "results").exists()
