"""Cores: how many this process may use."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Return the cores that this process may run on, which a job scheduler may have limited; at least 1."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not every system tells
        return os.cpu_count() or 1
