"""collbench run on a dask cluster: real processes that talk over TCP, are killed and come late, and lose nothing."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
from collections import Counter
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.experiments.runner.dask_cluster import HOST, Processes, slots_of, wait_for
from tests.experiments.runner.results_file import lasting, rows
from topologies import mesh, save_topology

pytest.importorskip("distributed")

ONE = """
problems: {topology: 'ring:4', collective: all_gather, size: 1MB}
"""


class TestWorkers:
    def test_one_is_killed(self, program, experiment, cluster):
        """When one of two workers is killed midway, each run is in the results once, as if all had been done here."""
        save_topology(mesh([3, 3]), program.folder / "mine.json")  # workers are in another folder
        name = experiment(
            "problems: {topology: ['ring:4', mine.json], collective: all_gather, size: [1MB, 2MB]}\n"
            "synthesizers: [ring, {synthesizer: patient, options: {seconds: [0.3, 0.4]}}, failing]\nseed: [0, 1]\n"
        )
        count = program.folder / "count"
        assert program("run", name, "--out", "here", "--jobs", 2).status == 0
        first, _ = cluster.worker(COUNT=str(count)), cluster.worker(COUNT=str(count))
        started = program.start("run", name, "--out", "there", "--scheduler", cluster.address)
        lines = [started.stderr.readline() for _ in range(8)]
        wait_for(lambda: slots_of(first))  # it is at work: it loses a run
        cluster.kill(first)
        lines += started.stderr.read().splitlines()
        assert started.wait() == 0, lines[-3:]
        here, there = rows(program, "here"), rows(program, "there")
        assert len(there) == 2 * 2 * 4 * 2
        assert lasting(there) == lasting(here)
        told = [line.partition("] ")[2].strip() for line in lines if line.startswith("[")]
        assert len(told) == len(set(told)) == len(there)
        assert len(list((program.folder / "there").glob("runs/*/*.json"))) == len(there)
        # What was begun twice, if anything, is what the dead worker had.
        begun = Counter(count.read_text().splitlines())
        assert set(begun) == {f"{size} {seed}" for size in (10**6, 2 * 10**6) for seed in (0, 1)}
        assert 16 <= begun.total() <= 16 + 3

    def test_limits_hold(self, program, experiment, cluster):
        """What goes past its limits, or takes its process with it, is the same row as here."""
        name = experiment(
            ONE
            + "synthesizers: [ring, endless, hungry, crashing, refusing, wrong, absent]\n"
            + "limits: {time_limit_s: 5, memory_limit_mb: 700}\n"
        )
        cluster.worker()
        cluster.worker()
        done = program("run", name, "--scheduler", cluster.address)
        assert done.status == 0, done.stderr
        found = {row["label"]: (row["status"], row["reason"]) for row in rows(program)}
        assert found["ring"] == ("ok", "")
        assert found["endless"] == ("timeout", "its synthesis took longer than the time limit of 5 s")
        assert found["hungry"] == ("out of memory", "it took more than the memory limit of 700 MB")
        assert found["crashing"] == ("failed", "its process died (SIGSEGV)")
        assert found["refusing"] == ("unsupported", "only on Sundays")
        assert found["wrong"][0] == "invalid"
        assert "absent" in found["absent"][1]
        assert "Traceback" not in done.stderr
        assert list(found) == [row["label"] for row in rows(program)]

    def test_late_and_deadly(self, program, experiment, start_cluster):
        """Missing workers are waited for; a run that kills each of its workers is a row, and harms no other."""
        cluster = start_cluster(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")
        name = experiment(ONE + "synthesizers: [deadly, ring]\n")
        started = program.start("run", name, "--scheduler", cluster.address)
        assert f"the scheduler at {cluster.address} has no workers; waiting" in started.stderr.readline()
        cluster.worker()
        stderr = started.communicate(timeout=120)[1]
        assert started.returncode == 0, stderr
        deadly, ring = rows(program)
        assert (deadly["status"], deadly["machine"], ring["status"]) == ("failed", "", "ok")
        assert deadly["reason"].startswith("every worker of the cluster that had it died")
        assert "KilledWorker" in deadly["reason"]

    def test_files_travel(self, program, experiment, cluster):
        """Files that options name come along, rows and kept schedules name them as here, and what is alone is last."""
        (program.folder / "sketch.json").write_text("a sketch")
        name = experiment(
            "problems:\n"
            "  - {topology: 'ring:4', collective: all_gather, size: 1MB, alone: true}\n"
            "  - {topology: 'ring:5', collective: all_gather, size: 1MB}\n"
            "synthesizers: [{synthesizer: reading, options: {file: sketch.json}}, ring]\nseed: [0, 1]\n"
        )
        cluster.worker()
        done = program("run", name, "--keep-schedules", "--out", "there", "--scheduler", cluster.address)
        assert done.status == 0, done.stderr
        assert program("run", name, "--keep-schedules", "--out", "here").status == 0
        here, there = rows(program, "here"), rows(program, "there")
        assert lasting(there) == lasting(here)
        assert Counter(row["reason"] for row in there)["sketch.json holds a sketch"] == 2
        kept = {path.name: path.read_bytes() for path in (program.folder / "here").glob("schedules/*/*")}
        assert kept == {path.name: path.read_bytes() for path in (program.folder / "there").glob("schedules/*/*")}
        assert len(kept) == 6
        told = [line for line in done.stderr.splitlines() if line.startswith("[")]
        assert all("ring:5" in line for line in told[:4])

    def test_other_code(self, program, experiment, cluster):
        """A worker with other code of a synthesizer is told apart, in one line; there is no result of it."""
        name = experiment(ONE + "synthesizers: [patient]\n")
        other = program.folder / "other"
        other.mkdir()
        code = (program.folder / "plugins" / "misbehaving.py").read_text()
        (other / "misbehaving.py").write_text(code + "# changed\n")
        path = program.environment["PYTHONPATH"]
        cluster.worker(PYTHONPATH=f"{other}{os.pathsep}{path}")
        done = program("run", name, "--scheduler", cluster.address)
        assert (done.status, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "has other code of patient than there is here; install the same there" in done.stderr
        assert rows(program) == []


class TestEnds:
    def test_interrupted_and_killed(self, program, experiment, cluster):
        """Ctrl-C keeps what is finished; neither it nor the death of the program leaves a run behind on the cluster."""
        name = experiment(ONE + "synthesizers: [ring, {synthesizer: patient, options: {seconds: [0.0, 90.0]}}]\n")
        count = program.folder / "count"
        worker = cluster.worker(COUNT=str(count))
        started = program.start("run", name, "--scheduler", cluster.address)
        # Three lines are there when the second patient run has begun.
        wait_for(lambda: count.exists() and len(count.read_text().splitlines()) == 2)
        os.killpg(started.pid, signal.SIGINT)
        stderr = started.communicate(timeout=30)[1]
        assert started.returncode == 130
        assert stderr.splitlines()[-1].startswith("collbench: interrupted; 2 of 3 runs are kept in results/one")
        assert "Traceback" not in stderr
        assert len(rows(program)) == 2
        wait_for(lambda: not slots_of(worker), 8)
        started = program.start("run", name, "--scheduler", cluster.address)
        wait_for(lambda: len(count.read_text().splitlines()) == 3)
        assert slots_of(worker)
        cluster.kill(started)
        wait_for(lambda: not slots_of(worker), 8)

    def test_worker_ends(self, program, experiment, cluster):
        """When a nanny is killed, or told to end, its worker and the run under way end too."""
        name = experiment(ONE + "synthesizers: [{synthesizer: patient, options: {seconds: 90.0}}]\n")
        started = program.start("run", name, "--scheduler", cluster.address)
        for number in (signal.SIGKILL, signal.SIGTERM):
            worker = cluster.worker()
            found = wait_for(lambda: slots_of(worker))  # noqa: B023  called at once
            os.kill(worker.pid, number)
            assert not psutil.wait_procs(found, timeout=20)[1]
            worker.wait(timeout=20)
        cluster.kill(started)

    def test_scheduler_is_lost(self, program, experiment, cluster):
        """When the scheduler dies, one line says so, and what is finished is kept."""
        name = experiment(ONE + "synthesizers: [ring, {synthesizer: patient, options: {seconds: [0.0, 90.0]}}]\n")
        cluster.worker()
        started = program.start("run", name, "--scheduler", cluster.address)
        assert "ring" in started.stderr.readline()
        assert "patient" in started.stderr.readline()
        cluster.kill(cluster.scheduler)
        stderr = started.communicate(timeout=60)[1]
        assert (started.returncode, stderr.count("\n")) == (1, 1), stderr
        assert stderr.startswith(f"collbench: lost the scheduler at {cluster.address}; finished runs are kept")
        assert len(rows(program)) == 2

    def test_wrong_address(self, program, experiment):
        """An address at which no scheduler listens, and one that is none, are one line each."""
        name = experiment(ONE + "synthesizers: [ring]\n")
        done = program("run", name, "--scheduler", "tcp://127.0.0.1:9")
        assert (done.status, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "no dask scheduler answers at tcp://127.0.0.1:9" in done.stderr
        for wrong in ("127.0.0.1:8786", "http://127.0.0.1:8786", "tcp://127.0.0.1"):
            done = program("run", name, "--scheduler", wrong)
            assert (done.status, done.stderr.count("\n")) == (2, 1)
            assert "expected tcp://host:port" in done.stderr
        done = program("run", name, "--scheduler", "tcp://127.0.0.1:9", "--jobs", 2)
        assert (done.status, done.stderr.count("\n")) == (2, 1)
        assert "--jobs is for this machine" in done.stderr


class TestDocs:
    def test_commands(self, program, tmp_path):
        """The commands of the page start a cluster and run an experiment on it."""
        page = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
        (block,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
        with socket.socket() as free:
            free.bind((HOST, 0))
            port = str(free.getsockname()[1])
        for written, here in (("HOST", HOST), ("8786", port), ("--nworkers 8", "--nworkers 2")):
            block = block.replace(written, here)
        install, *parts, run = (shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines())
        assert install == ["pip", "install", "collbench[dask]"]
        assert [part[:2] for part in parts] == [["dask", "scheduler"], ["dask", "worker"]]
        scratch = {"DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
        with closing(Processes(tmp_path / "parts", program.environment | scratch)) as processes:
            for part in parts:
                processes.start(*part)
            done = program(*run[1:], "--only", "direct")
        assert run[0] == "collbench"
        assert done.status == 0, done.stderr
        assert {row["status"] for row in rows(program, "results/smoke")} == {"ok"}
