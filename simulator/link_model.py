"""The link model: what one transfer costs. α + b·β, rounded up to a picosecond; the two choices are part of a result.

Durations are exact integers: bytes · 10¹² / (bytes per second) is done in three integer steps that stay within 63 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from schedules import Schedule
from topologies.exceptions import OptionError, ScheduleError

LATENCIES = ("blocking", "pipelined")
SWITCHINGS = ("cut_through", "store_and_forward")

#: Simulated times stay below this (53 days), so that sums of them never overflow.
MAX_PS = 2**62

#: Largest table of durations by (chunk size, bandwidth); past it durations are stored per hop.
_MAX_TABLE = 2**20


@dataclass(frozen=True)
class LinkModel:
    """How links behave.

    Parameters
    ----------
    latency : {"blocking", "pipelined"}
        ``blocking``: a transfer takes its link for α + bβ (Hockney; TACOS, TACCL). ``pipelined``: for bβ, and arrives
        α later (ASTRA-sim).
    switching : {"cut_through", "store_and_forward"}
        Inside a route of several links: whether the next hop may start before the last byte has come in.

    Raises
    ------
    OptionError
        Any other word.
    """

    latency: str = "blocking"
    switching: str = "cut_through"

    def __post_init__(self) -> None:
        for name, value, known in (("latency", self.latency, LATENCIES), ("switching", self.switching, SWITCHINGS)):
            if value not in known:
                raise OptionError(f"link model: {name} {value!r} is unknown; expected one of {', '.join(known)}")


def wire_ps(nbytes: np.ndarray, bytes_per_s: np.ndarray) -> np.ndarray:
    """Return ⌈nbytes · 10¹² / bytes_per_s⌉ as int64, elementwise and exact.

    Raises
    ------
    ScheduleError
        A duration past `MAX_PS`.
    """
    nbytes, rate = np.broadcast_arrays(np.asarray(nbytes, np.int64), np.asarray(bytes_per_s, np.int64))
    if nbytes.size and float((nbytes / rate).max()) * 1e12 >= MAX_PS:
        raise ScheduleError("a transfer would take over 53 days; give a smaller size or a larger bandwidth")
    if nbytes.size and int(rate.max()) >= 2**63 // 10**6:  # the steps below need rate · 10⁶ < 2⁶³
        exact = -((-nbytes.astype(object) * 10**12) // rate.astype(object))
        return exact.astype(np.int64)
    whole, rest = np.divmod(nbytes, rate)
    micro, rest = np.divmod(rest * 10**6, rate)
    return whole * 10**12 + micro * 10**6 - (-rest * 10**6 // rate)


@dataclass(frozen=True)
class Durations:
    """Durations of a schedule's hops for one size, as small tables that kernels index.

    The wire time of a hop is ``table[size_class[chunk], rate_class[link]]``, or ``per_hop[hop]`` where the table
    would be large; that of a message is ``per_message[message]``.
    """

    schedule: Schedule
    size: int

    @cached_property
    def chunk_bytes(self) -> np.ndarray:
        """(chunks,) int64: bytes of each chunk."""
        return self.schedule.collective.chunk_bytes(self.size)

    @cached_property
    def alpha(self) -> np.ndarray:
        """(links,) int64: latency in picoseconds."""
        return self.schedule.topology.latency_ps

    @cached_property
    def _classes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Distinct sizes and rates, and the class of each chunk and link."""
        sizes, size_class = np.unique(self.chunk_bytes, return_inverse=True)
        rates, rate_class = np.unique(self.schedule.topology.bytes_per_s, return_inverse=True)
        return sizes, size_class.astype(np.int32), rates, rate_class.astype(np.int32)

    @property
    def size_class(self) -> np.ndarray:
        """(chunks,) int32."""
        return self._classes[1]

    @property
    def rate_class(self) -> np.ndarray:
        """(links,) int32."""
        return self._classes[3]

    @cached_property
    def table(self) -> np.ndarray:
        """(sizes, rates) int64: wire time in picoseconds; one cell where `per_hop` is used."""
        sizes, _, rates, _ = self._classes
        if not sizes.size or not rates.size or sizes.size * rates.size > _MAX_TABLE:
            return np.zeros((1, 1), np.int64)
        return wire_ps(sizes[:, None], rates[None, :])

    @cached_property
    def per_hop(self) -> np.ndarray:
        """(hops,) int64: wire time of each hop; empty where the table serves."""
        sizes, _, rates, _ = self._classes
        if sizes.size * rates.size <= _MAX_TABLE:
            return np.zeros(0, np.int64)
        schedule = self.schedule
        return wire_ps(self.chunk_bytes[schedule.chunk], schedule.topology.bytes_per_s[schedule.link])

    @cached_property
    def per_message(self) -> np.ndarray:
        """(messages,) int64: wire time of each message; empty without messages."""
        schedule = self.schedule
        if schedule.message is None:
            return np.zeros(0, np.int64)
        member = np.flatnonzero(schedule.message >= 0)
        message = schedule.message[member]
        count = int(message.max()) + 1
        total = np.zeros(count, np.int64)
        np.add.at(total, message, self.chunk_bytes[schedule.chunk[member]])
        rate = np.ones(count, np.int64)
        rate[message] = schedule.topology.bytes_per_s[schedule.link[member]]
        return wire_ps(total, rate)

    def require_finite(self) -> None:
        """Refuse a schedule whose times could overflow: no order of its hops takes longer than their sum.

        Raises
        ------
        ScheduleError
            The hops one after another take over 53 days.
        """
        longest = max(int(self.table.max()), int(self.per_hop.max(initial=0)), int(self.per_message.max(initial=0)))
        if (longest + int(self.alpha.max(initial=0))) * self.schedule.num_hops >= MAX_PS:
            raise ScheduleError(
                f"the {self.schedule.num_hops} hops of up to {longest / 1e6:g} us one after another would take over "
                "53 days; give a smaller size or a larger bandwidth"
            )
