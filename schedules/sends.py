"""The links that sends between two NPUs take, for algorithms from files that name no links."""

from __future__ import annotations

from collections import defaultdict

from topologies import Topology


class SendRoutes:
    """The links between pairs of NPUs: parallel ones in turn, by what they carry."""

    def __init__(self, topology: Topology, pairs: list[tuple[int, int]]) -> None:
        from topologies.paths import Paths

        self._direct: dict[tuple[int, int], list[int]] = defaultdict(list)
        for link, ends in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
            self._direct[ends].append(link)
        far = sorted({pair for pair in pairs if pair not in self._direct})
        self._routes: dict[tuple[int, int], list[int]] = {}
        if far:
            paths = Paths(topology, sorted({source for source, _ in far}))
            self._routes = {pair: paths.route(*pair) for pair in far}
        self._load: dict[int, int] = defaultdict(int)

    def take(self, source: int, target: int, chunks: int) -> list[int]:
        """Return the links of one message, and count what it adds to them."""
        if (source, target) in self._routes:
            return self._routes[source, target]
        link = min(self._direct[source, target], key=lambda link: (self._load[link], link))
        self._load[link] += chunks
        return [link]
