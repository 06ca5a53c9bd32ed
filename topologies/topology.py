"""The network: a directed multigraph of NPUs and switches as parallel numpy columns.

NPUs are nodes 0…n−1, switches follow. A link is directed and has a latency (α) and a bandwidth (1/β); a cable is two
links. Parallel links stay separate. The type is a frozen value: every operation returns a new topology.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from topologies.exceptions import TopologyError

if TYPE_CHECKING:
    import networkx as nx

_MAX_BANDWIDTH_GBPS = 1e9
_MAX_LATENCY_US = 1e12
_MAX_NODES = 2**22


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A network of NPUs, switches and directed links.

    Parameters
    ----------
    num_npus : int
        NPUs; they are nodes 0…num_npus−1.
    src, dst : (L,) int arrays
        Ends of each link.
    latency_us : (L,) float array
        Latency of each link in microseconds; kept to the picosecond.
    bandwidth_gbps : (L,) float array
        Bandwidth of each link in GB/s (1e9 B/s); kept to the byte per second.
    num_switches : int
        Switches; they are nodes num_npus…num_npus+num_switches−1. They forward, and neither copy nor reduce.
    name : str
        What a user reads in tables; not part of the identity.
    node_names : sequence of str, optional
        One per node.

    Raises
    ------
    TopologyError
        A self-loop, a bandwidth that is not positive and finite, a negative latency, an unknown end; the message
        names the link.
    """

    num_npus: int
    src: np.ndarray
    dst: np.ndarray
    latency_us: np.ndarray
    bandwidth_gbps: np.ndarray
    num_switches: int = 0
    name: str = "custom"
    node_names: Sequence[str] = field(default=())

    def __post_init__(self) -> None:
        # Names reach terminals and tables: nothing in them may move a cursor or end a line.
        object.__setattr__(self, "name", _printable(self.name))
        if self.num_npus < 1 or self.num_switches < 0:
            raise TopologyError(
                f"topology {self.name}: expected at least one NPU and no negative number of switches, "
                f"found {self.num_npus} and {self.num_switches}"
            )
        if self.num_nodes > _MAX_NODES:
            raise TopologyError(f"topology {self.name}: {self.num_nodes} nodes; expected at most {_MAX_NODES}")
        for column, dtype in (("src", np.int64), ("dst", np.int64), ("latency_us", float), ("bandwidth_gbps", float)):
            array = np.array(getattr(self, column)).reshape(-1)
            if array.size and dtype is np.int64 and array.dtype.kind not in "iu":
                raise TopologyError(f"topology {self.name}: column {column} holds {array.dtype}, expected node numbers")
            object.__setattr__(self, column, array.astype(dtype, copy=False))
        lengths = {len(self.src), len(self.dst), len(self.latency_us), len(self.bandwidth_gbps)}
        if len(lengths) != 1:
            raise TopologyError(f"topology {self.name}: link columns differ in length: {sorted(lengths)}")
        names = tuple(_printable(name) for name in self.node_names)
        if names and len(names) != self.num_nodes:
            raise TopologyError(f"topology {self.name}: {len(names)} node names for {self.num_nodes} nodes")
        object.__setattr__(self, "node_names", names)
        self._refuse("joins an unknown node", (self.src < 0) | (self.src >= self.num_nodes)
                     | (self.dst < 0) | (self.dst >= self.num_nodes))  # fmt: skip
        self._refuse("is a self-loop", self.src == self.dst)
        self._refuse(
            f"has a bandwidth that is not between 1e-9 and {_MAX_BANDWIDTH_GBPS:g} GB/s",
            ~((self.bandwidth_gbps >= 1e-9) & (self.bandwidth_gbps <= _MAX_BANDWIDTH_GBPS)),
        )
        self._refuse(
            f"has a latency that is not between 0 and {_MAX_LATENCY_US:g} us",
            ~((self.latency_us >= 0) & (self.latency_us <= _MAX_LATENCY_US)),
        )
        for column in ("src", "dst"):
            object.__setattr__(self, column, getattr(self, column).astype(np.int32))
        for column in ("src", "dst", "latency_us", "bandwidth_gbps"):
            getattr(self, column).setflags(write=False)

    def _refuse(self, fault: str, bad: np.ndarray) -> None:
        """Raise for the first link where `bad` holds."""
        if bad.any():
            link = int(np.argmax(bad))
            raise TopologyError(
                f"topology {self.name}: link {link} ({self.node_name(int(self.src[link]))} -> "
                f"{self.node_name(int(self.dst[link]))}, {self.bandwidth_gbps[link]:g} GB/s, "
                f"{self.latency_us[link]:g} us) {fault}"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # numpy unpickles arrays as writable.
        for column in ("src", "dst", "latency_us", "bandwidth_gbps"):
            getattr(self, column).setflags(write=False)

    def __repr__(self) -> str:
        return f"Topology({self.name!r}, {self.num_npus} NPUs, {self.num_switches} switches, {self.num_links} links)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Topology) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def num_nodes(self) -> int:
        """NPUs and switches together."""
        return self.num_npus + self.num_switches

    @property
    def num_links(self) -> int:
        """Directed links."""
        return len(self.src)

    def node_name(self, node: int) -> str:
        """Return the name of a node, or `NPU 3` / `switch 0` where it has none."""
        if self.node_names and 0 <= node < self.num_nodes:
            return self.node_names[node]
        return f"NPU {node}" if node < self.num_npus else f"switch {node - self.num_npus}"

    def link_name(self, link: int) -> str:
        """Return `a -> b` for a link."""
        return f"{self.node_name(int(self.src[link]))} -> {self.node_name(int(self.dst[link]))}"

    @cached_property
    def latency_ps(self) -> np.ndarray:
        """(L,) int64: latency of each link in whole picoseconds."""
        return np.rint(self.latency_us * 1e6).astype(np.int64)

    @cached_property
    def bytes_per_s(self) -> np.ndarray:
        """(L,) int64: bandwidth of each link in whole bytes per second."""
        return np.rint(self.bandwidth_gbps * 1e9).astype(np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of what a schedule depends on: the nodes, and each link's ends, latency and bandwidth, in order."""
        digest = hashlib.sha256(f"{self.num_npus},{self.num_switches}".encode())
        for column in (self.src, self.dst, self.latency_ps, self.bytes_per_s):
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()[:32]

    @cached_property
    def in_links(self) -> tuple[np.ndarray, np.ndarray]:
        """(start, links): the links into node v are ``links[start[v]:start[v+1]]``, ascending."""
        return _grouped(self.dst, self.num_nodes)

    @cached_property
    def out_links(self) -> tuple[np.ndarray, np.ndarray]:
        """(start, links): the links out of node v are ``links[start[v]:start[v+1]]``, ascending."""
        return _grouped(self.src, self.num_nodes)

    def ingress_gbps(self, node: int) -> float:
        """Return the bandwidth into a node in GB/s."""
        return float(self.bandwidth_gbps[self.dst == node].sum())

    def egress_gbps(self, node: int) -> float:
        """Return the bandwidth out of a node in GB/s."""
        return float(self.bandwidth_gbps[self.src == node].sum())

    def reversed(self) -> Topology:
        """Return the network with every link turned round; link and node numbers stay."""
        name = self.name.removesuffix(" (reversed)") if self.name.endswith(" (reversed)") else f"{self.name} (reversed)"
        return self._replaced(src=self.dst, dst=self.src, name=name)

    def without(self, *, links: Iterable[int] = (), nodes: Iterable[int] = ()) -> Topology:
        """Return the network after links and nodes failed; later links and nodes move up.

        Parameters
        ----------
        links, nodes : iterables of int
            What failed. The links of a failed node go with it.

        Raises
        ------
        TopologyError
            An unknown link or node, or no NPU left.
        """
        gone_links, gone_nodes = sorted(set(links)), sorted(set(nodes))
        for what, gone, count in (("link", gone_links, self.num_links), ("node", gone_nodes, self.num_nodes)):
            if gone and not (gone[0] >= 0 and gone[-1] < count):
                raise TopologyError(f"topology {self.name} has no {what} {gone[-1] if gone[-1] >= count else gone[0]}")
        keep_link = np.ones(self.num_links, bool)
        keep_link[gone_links] = False
        keep_node = np.ones(self.num_nodes, bool)
        keep_node[gone_nodes] = False
        what = f"{len(gone_links)} links" if gone_links else ""
        what += (" and " if what and gone_nodes else "") + (f"{len(gone_nodes)} nodes" if gone_nodes else "")
        return self._kept(keep_node, keep_link, f"{self.name} without {what}" if what else self.name)

    def subset(self, npus: Sequence[int]) -> Topology:
        """Return the network of some NPUs in the given order and the links between them; switches go.

        Raises
        ------
        TopologyError
            An unknown or repeated NPU.
        """
        if len(set(npus)) != len(npus) or not all(0 <= npu < self.num_npus for npu in npus):
            raise TopologyError(f"topology {self.name}: expected different NPUs of 0…{self.num_npus - 1}, found {npus}")
        new = np.full(self.num_nodes, -1)
        new[list(npus)] = np.arange(len(npus))
        keep = (new[self.src] >= 0) & (new[self.dst] >= 0)
        names = [self.node_names[npu] for npu in npus] if self.node_names else ()
        return Topology(len(npus), new[self.src[keep]], new[self.dst[keep]], self.latency_us[keep],
                        self.bandwidth_gbps[keep], 0, f"{len(npus)} NPUs of {self.name}", names)  # fmt: skip

    def subset_links(self, npus: Sequence[int]) -> np.ndarray:
        """Return the link numbers, in this topology, of the links that ``subset(npus)`` keeps, in its order."""
        chosen = np.zeros(self.num_nodes, bool)
        chosen[list(npus)] = True
        return np.flatnonzero(chosen[self.src] & chosen[self.dst]).astype(np.int32)

    def unwind_switches(self, degree: int = 1) -> Topology:
        """Return a point-to-point network: each switch becomes `degree` links per port, bandwidth divided by it.

        TACOS (MICRO'24) treats switches so: port i is wired to ports i+1…i+degree. `topologies.unwinding` also gives
        the route of real links behind each wire.
        """
        from topologies.unwinding import unwind

        return unwind(self, degree)[0]

    def components(self) -> list[np.ndarray]:
        """Return the strongly connected components as arrays of nodes, ordered by their least node."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(self.num_links, np.int32)  # parallel links add up: no narrow type that wraps to zero
        graph = coo_array((ones, (self.src, self.dst)), shape=(self.num_nodes, self.num_nodes)).tocsr()
        count, label = connected_components(graph, directed=True, connection="strong")
        start, order = _grouped(label, count)
        parts = np.split(order.astype(np.int64), start[1:-1])
        return sorted(parts, key=lambda part: int(part[0]))

    def to_networkx(self) -> nx.MultiDiGraph[int]:
        """Return a `networkx.MultiDiGraph`: nodes carry `kind` and `name`, edges `latency_us` and `bandwidth_gbps`."""
        import networkx as nx

        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=self.name)
        for node in range(self.num_nodes):
            graph.add_node(node, kind="npu" if node < self.num_npus else "switch", name=self.node_name(node))
        for link in range(self.num_links):
            graph.add_edge(int(self.src[link]), int(self.dst[link]), key=link,
                           latency_us=float(self.latency_us[link]),
                           bandwidth_gbps=float(self.bandwidth_gbps[link]))  # fmt: skip
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.Graph[Any], name: str | None = None) -> Topology:
        """Return the topology of a networkx graph of any kind; an undirected edge is a cable (two links).

        Nodes with ``kind="switch"`` become switches; the others are NPUs in the graph's node order. Each edge needs
        `bandwidth_gbps` and `latency_us`.

        Raises
        ------
        TopologyError
            An edge without one of the two attributes.
        """
        nodes = sorted(graph.nodes, key=lambda node: graph.nodes[node].get("kind") == "switch")
        number = {node: index for index, node in enumerate(nodes)}
        switches = sum(graph.nodes[node].get("kind") == "switch" for node in nodes)
        rows = []
        edges = list(graph.edges(data=True))
        if graph.is_multigraph() and graph.is_directed():
            # Keys written by `to_networkx` are link numbers: a round trip keeps them.
            multigraph: Any = graph
            keyed = list(multigraph.edges(keys=True, data=True))
            if all(isinstance(key, int) for _, _, key, _ in keyed):
                keyed.sort(key=lambda edge: edge[2])
            edges = [(u, v, attributes) for u, v, _, attributes in keyed]
        for u, v, attributes in edges:
            for attribute in ("bandwidth_gbps", "latency_us"):
                if attribute not in attributes:
                    raise TopologyError(f"graph edge {u} -> {v} has no {attribute}; set it on every edge")
            row = (number[u], number[v], attributes["latency_us"], attributes["bandwidth_gbps"])
            rows.append(row)
            if not graph.is_directed():
                rows.append((row[1], row[0], *row[2:]))
        return cls.from_links(len(nodes) - switches, rows, num_switches=switches, name=name or graph.name or "custom",
                              node_names=[str(graph.nodes[node].get("name", node)) for node in nodes])  # fmt: skip

    @classmethod
    def from_links(cls, num_npus: int, rows: Sequence[tuple[int, int, float, float]], **fields: Any) -> Topology:
        """Return the topology of (src, dst, latency_us, bandwidth_gbps) rows, in their order."""
        src, dst, latency, bandwidth = zip(*rows, strict=True) if rows else ((), (), (), ())
        return cls(num_npus, np.array(src, dtype=np.int64), np.array(dst, dtype=np.int64),
                   np.array(latency, dtype=float), np.array(bandwidth, dtype=float), **fields)  # fmt: skip

    def _kept(self, keep_node: np.ndarray, keep_link: np.ndarray, name: str) -> Topology:
        """Return the part of the network where the masks hold."""
        new = np.cumsum(keep_node) - 1
        keep = keep_link & keep_node[self.src] & keep_node[self.dst]
        npus = int(keep_node[: self.num_npus].sum())
        # Names follow their node, so that NPU 5 is still called so after NPU 4 has gone.
        names = [self.node_name(node) for node in np.flatnonzero(keep_node).tolist()] if not keep_node.all() else ()
        return Topology(npus, new[self.src[keep]], new[self.dst[keep]], self.latency_us[keep],
                        self.bandwidth_gbps[keep], int(keep_node.sum()) - npus, name,
                        names or self.node_names)  # fmt: skip

    def _replaced(self, **changes: Any) -> Topology:
        """Return a copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Topology(**(fields | changes))


def _printable(text: object) -> str:
    """Return text with everything that is not printable replaced."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text))


def _grouped(key: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (start, order) that groups positions by key."""
    start = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=count), out=start[1:])
    return start, np.argsort(key, kind="stable").astype(np.int32)


def require_connected(topology: Topology, members: Iterable[int] | None = None) -> None:
    """Refuse a network in which some NPU (of `members`) cannot reach another.

    Raises
    ------
    TopologyError
        Names the two parts.
    """
    chosen = np.zeros(topology.num_nodes, bool)
    chosen[: topology.num_npus] = members is None
    if members is not None:
        chosen[list(members)] = True
    parts = [part[chosen[part]] for part in topology.components()]
    parts = [part for part in parts if len(part)]
    if len(parts) > 1:
        shown = [", ".join(topology.node_name(int(node)) for node in part[:4]) + (", …" if len(part) > 4 else "")
                 for part in parts[:2]]  # fmt: skip
        raise TopologyError(
            f"topology {topology.name} is not connected: {{{shown[0]}}} and {{{shown[1]}}} "
            "cannot both reach each other; add links, or choose a group inside one part"
        )
