"""The package as a whole: what it exports, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import topologies
from topologies import CollbenchError, VerificationError
from topologies.atomic import atomic_path, write_text


class TestPublicNames:
    def test_all_is_complete_and_sorted(self):
        """Every listed name exists once."""
        assert all(hasattr(topologies, name) for name in topologies.__all__)
        assert len(set(topologies.__all__)) == len(topologies.__all__)

    def test_import_is_light(self):
        """Importing the package brings in numpy, and neither scipy, networkx nor numba."""
        root = Path(topologies.__file__).parents[1]
        code = (
            "import sys, topologies; print([m for m in ('scipy', 'networkx', 'numba', 'msgspec') if m in sys.modules])"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
        assert run.stdout.strip() == "[]"


class TestExceptions:
    def test_each_also_is_a_builtin(self):
        """Every error of the tree is a CollbenchError and, but for the base, fits a builtin."""
        members = [getattr(topologies, name) for name in topologies.__all__ if name.endswith("Error")]
        assert all(issubclass(member, CollbenchError) for member in members)
        assert all(issubclass(member, (ValueError, RuntimeError)) for member in members if member is not CollbenchError)

    def test_verification_error_carries_its_hop(self):
        """The hop at fault can be read by a program."""
        assert VerificationError("wrong", hop=3).hop == 3


class TestAtomicPath:
    def test_failure_leaves_the_old_file(self, tmp_path):
        """When writing fails the old content stays and nothing else is left."""
        write_text(tmp_path / "a.txt", "old")
        with pytest.raises(RuntimeError, match="stop"), atomic_path(tmp_path / "a.txt") as temporary:
            temporary.write_text("new")
            raise RuntimeError("stop")
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.txt", "old")]

    def test_refuses_a_folder(self, tmp_path):
        """A folder is no file name."""
        with pytest.raises(CollbenchError, match="expected a file name, found a folder"):
            write_text(tmp_path, "text")
