"""The cores that a process may use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from topologies.cores import usable_cores


class TestUsableCores:
    @pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not limit processes to cores")
    def test_limited(self):
        """Cores that a job scheduler keeps for others do not count."""
        code = (
            "import os; from topologies.cores import usable_cores; os.sched_setaffinity(0, {%d}); print(usable_cores())"
        )
        first = min(os.sched_getaffinity(0))
        found = subprocess.run([sys.executable, "-c", code % first], capture_output=True, text=True, check=True)
        assert found.stdout == "1\n"

    def test_unknown(self, monkeypatch):
        """Where the system does not tell, all cores count, and there is at least one."""
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: 7)
        assert usable_cores() == 7
        monkeypatch.setattr(os, "cpu_count", lambda: None)
        assert usable_cores() == 1
