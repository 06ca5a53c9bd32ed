"""The network level: transfers given as bytes, a route and the transfers that must have arrived before.

This is what ASTRA-sim's network back ends are given. There is no collective here: whoever writes the list says what
waits for what. The links serve hops first come, first served, ties in list order, on the event loop that schedules use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from schedules.schedule import NO_IDS
from simulator.link_model import MAX_PS, LinkModel, wire_ps
from topologies import Topology
from topologies.exceptions import ScheduleError


@dataclass(frozen=True, eq=False, repr=False)
class TransferList:
    """Transfers on a network; transfer t crosses ``links[route_start[t]:route_start[t + 1]]``, its hops, in order.

    Parameters
    ----------
    topology : Topology
        The network.
    nbytes : (T,) int array
        Bytes of each transfer.
    route_start : (T + 1,) int array
    links : (H,) int array
        Routes in CSR form: at least one link each, each starting where the one before ends.
    after_start : (T + 1,) int array
    after : (E,) int array
        Positions (not ids) of the transfers that must have arrived before a transfer starts, in CSR form.
    ids : sequence of int or str
        What the user calls each transfer.
    units : str
        What the file said about its units; carried along.
    expected_ns : float, optional
        The completion time that the file expects; carried along.

    Raises
    ------
    ScheduleError
        Negative bytes, a route that is empty or does not connect, transfers that wait for each other in a circle.
    """

    topology: Topology
    nbytes: np.ndarray
    route_start: np.ndarray
    links: np.ndarray
    after_start: np.ndarray
    after: np.ndarray
    ids: Sequence[int | str]
    units: str = ""
    expected_ns: float | None = None

    def __post_init__(self) -> None:
        for name in ("nbytes", "route_start", "links", "after_start", "after"):
            column = np.array(getattr(self, name)).reshape(-1)
            if column.size and column.dtype.kind not in "iu":
                raise ScheduleError(f"transfers: {name} holds {column.dtype}, expected integers")
            column = column.astype(np.int64)
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        object.__setattr__(self, "ids", tuple(self.ids))
        self._require_shape()
        self._refuse("has a negative number of bytes; expected 0 or more", self.nbytes < 0)
        self._refuse("crosses no link; expected a route of at least one", np.diff(self.route_start) < 1)
        self._require_routes()
        self._require_acyclic()

    def __repr__(self) -> str:
        return f"TransferList({self.num_transfers} transfers, {len(self.links)} hops on {self.topology.name})"

    @property
    def num_transfers(self) -> int:
        """Transfers in all."""
        return len(self.nbytes)

    @property
    def hop_transfer(self) -> np.ndarray:
        """(H,) int64: the transfer of each hop."""
        return np.repeat(np.arange(self.num_transfers), np.diff(self.route_start))

    def _refuse(self, fault: str, bad: np.ndarray) -> None:
        """Raise for the first transfer where `bad` holds."""
        if bad.any():
            raise ScheduleError(f"transfer {self.ids[int(np.argmax(bad))]!r} {fault}")

    def _require_shape(self) -> None:
        """Refuse columns that do not fit together."""
        count = self.num_transfers
        if len(self.ids) != count:
            raise ScheduleError(f"transfers: {len(self.ids)} ids for {count} transfers")
        for name, start, entries in (
            ("route", self.route_start, self.links),
            ("after", self.after_start, self.after),
        ):
            if len(start) != count + 1 or start[0] != 0 or start[-1] != len(entries) or (np.diff(start) < 0).any():
                raise ScheduleError(
                    f"transfers: {name}_start must rise from 0 to {len(entries)} in {count + 1} entries"
                )
        if self.after.size and not 0 <= self.after.min() <= self.after.max() < count:
            raise ScheduleError(f"transfers: after names transfers outside 0…{count - 1}")

    def _require_routes(self) -> None:
        """Refuse links that do not exist or do not follow each other."""
        topology, hop_transfer = self.topology, self.hop_transfer
        bad = (self.links < 0) | (self.links >= topology.num_links)
        if bad.any():
            hop = int(np.argmax(bad))
            raise ScheduleError(f"transfer {self.ids[hop_transfer[hop]]!r} crosses link {self.links[hop]}; "
                                f"there are links 0…{topology.num_links - 1}")  # fmt: skip
        apart = (topology.dst[self.links[:-1]] != topology.src[self.links[1:]]) & (np.diff(hop_transfer) == 0)
        if apart.any():
            hop = int(np.argmax(apart))
            raise ScheduleError(
                f"transfer {self.ids[hop_transfer[hop]]!r} crosses {topology.link_name(int(self.links[hop]))} and then "
                f"{topology.link_name(int(self.links[hop + 1]))}, which does not start there"
            )

    def _require_acyclic(self) -> None:
        """Refuse transfers that wait, directly or through others, for themselves; name one circle."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if not self.after.size:
            return
        count = self.num_transfers
        waiting = np.repeat(np.arange(count), np.diff(self.after_start))
        graph = coo_array((np.ones(len(self.after), bool), (waiting, self.after)), shape=(count, count)).tocsr()
        label = connected_components(graph, connection="strong")[1]
        inside = label[waiting] == label[self.after]  # an arrow inside a component lies on a circle
        if not inside.any():
            return
        onward = dict(zip(waiting[inside].tolist(), self.after[inside].tolist(), strict=True))
        walk: dict[int, int] = {}  # transfer → its place in the walk
        at = int(waiting[np.argmax(inside)])
        while at not in walk:
            walk[at] = len(walk)
            at = onward[at]
        circle = [*list(walk)[walk[at] :], at]
        names = " after ".join(repr(self.ids[transfer]) for transfer in circle[:6]) + (" …" if len(circle) > 6 else "")
        raise ScheduleError(f"transfer {self.ids[at]!r} never starts: it waits for itself ({names})")


def simulate_transfers(transfers: TransferList, model: LinkModel | None = None) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (start, end, time): of each hop (H,) and of the whole list, all int64 picoseconds.

    A transfer starts when all that it is `after` have arrived; its next hop follows by the model's `switching`.

    Raises
    ------
    ScheduleError
        Times past 53 days.
    """
    from simulator.events import run

    model = model or LinkModel()
    topology, links, first = transfers.topology, transfers.links, transfers.route_start[:-1]
    wire = wire_ps(transfers.nbytes[transfers.hop_transfer], topology.bytes_per_s[links])
    alpha = topology.latency_ps
    if float(wire.sum(dtype=float)) + float(alpha[links].sum(dtype=float)) >= MAX_PS:
        raise ScheduleError(
            f"the {len(links)} hops one after another would take over 53 days; give fewer bytes or a larger bandwidth"
        )
    count = len(links)
    needs = np.zeros(count, np.int32)
    needs[first] = np.diff(transfers.after_start)
    before = np.arange(-1, count - 1, dtype=np.int32)
    before[first] = -1
    # A transfer has arrived with its last hop; who waits for that hop, in list order, is `after` turned round.
    awaited = transfers.route_start[transfers.after + 1] - 1
    order = np.argsort(awaited, kind="stable")
    edge_start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(awaited, minlength=count), out=edge_start[1:])
    edges = np.repeat(first, np.diff(transfers.after_start))[order]
    # The types are those of small schedules, so that both share one compiled loop.
    start, end, _ = run(
        links.astype(np.uint32), wire, NO_IDS, needs, edge_start, edges.astype(np.int32), np.full(count, -1, np.int32),
        before, alpha, model.latency == "blocking", model.switching == "cut_through", False,
    )  # fmt: skip
    return start, end, int(end.max(initial=0))


def transfer_times(transfers: TransferList, model: LinkModel | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (start, end) of each transfer, (T,) int64 picoseconds each: onto its first link, and arrived."""
    start, end, _ = simulate_transfers(transfers, model)
    return start[transfers.route_start[:-1]], end[transfers.route_start[1:] - 1]
