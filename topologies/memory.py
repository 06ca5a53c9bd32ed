"""Memory: what would not fit is refused before it is begun, with the estimate."""

from __future__ import annotations

import os

from topologies.exceptions import CollbenchError


class MemoryShortage(CollbenchError, MemoryError):
    """Something that would need more memory than the machine has free."""


def available_bytes() -> int:
    """Return the memory that is free for use, in bytes; a very large number where the system does not tell."""
    free = 2**62
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        try:
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, AttributeError):
            return free
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError, ValueError):
        return free
    return free if limit == resource.RLIM_INFINITY else min(free, limit)


def require_memory(needed: int, what: str) -> None:
    """Refuse what would not fit.

    Parameters
    ----------
    needed : int
        Estimate in bytes.
    what : str
        What needs it, for the message.

    Raises
    ------
    MemoryShortage
        More is needed than is available.
    """
    # Small things are let through without asking the system.
    if needed > 2**28 and needed > (free := available_bytes()):
        raise MemoryShortage(
            f"{what} would need about {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free; "
            "give a smaller problem"
        )
