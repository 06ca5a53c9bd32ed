"""What a server's share of each kind of network costs, by the bandwidth of a port, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from experiments.tables.formats import written
from experiments.tables.layout import Cell, Table
from topologies import fabric
from topologies.costs import Costs

#: Any will do: each server costs the same.
_SERVERS = 2

#: Kinds of networks with ports, and what they are called.
PORTED = {
    "patch_panel": "TopoOpt, patch panel", "optical_switch": "TopoOpt, optical switch", "direct": "direct cables",
}  # fmt: skip

#: Fat-trees, by oversubscription.
TREES = {1: "fat-tree", 2: "fat-tree 2:1"}


def sold(costs: Costs) -> list[float]:
    """Return the bandwidths in Gb/s of the parts that are sold, ascending."""
    return sorted({speed for prices in costs.by_bandwidth.values() for speed, _ in prices})


def ported_usd(costs: Costs, kind: str, ports: int, gbit_per_s: float) -> float:
    """Return what a server of so many ports costs in USD.

    Parameters
    ----------
    costs : Costs
    kind : str
        One of `PORTED`.
    ports : int
    gbit_per_s : float
        Of a port.
    """
    if kind == "direct":
        return ports * (costs.part_usd("nic", gbit_per_s) + costs.part_usd("transceiver", gbit_per_s))
    switching: Literal["patch_panel", "optical_switch"] = "patch_panel" if kind == "patch_panel" else "optical_switch"
    return costs.fabric_usd(fabric(_SERVERS, ports, gbit_per_s / 8, switching=switching)) / _SERVERS


def cost_tables(costs: Costs, ports: Sequence[int]) -> str:
    """Return the costs as Markdown: a table for each number of ports, and the fat-trees that cost as much as TopoOpt.

    Parameters
    ----------
    costs : Costs
    ports : sequence of int
    """
    widths = sold(costs)
    head = ("", *(f"{width:g} Gb/s" for width in widths))
    parts = []
    for count in ports:
        lines = [[name, *(ported_usd(costs, kind, count, width) for width in widths)] for kind, name in PORTED.items()]
        lines += [
            [f"{name} of {count} × that bandwidth", *(costs.fat_tree_usd(1, count * width, ratio) for width in widths)]
            for ratio, name in TREES.items()
        ]
        parts.append(_written(f"USD for each server, d = {count}, by bandwidth of a port", head, lines))
        budgets = [ported_usd(costs, "patch_panel", count, width) for width in widths]
        lines = [[name, *(costs.cost_equal_gbit_per_s(budget, ratio) for budget in budgets)]
                 for ratio, name in TREES.items()]  # fmt: skip
        parts.append(_written(f"Gb/s for each server of the fat-tree that costs as much as TopoOpt on a patch panel, "
                              f"d = {count}", head, lines))  # fmt: skip
    return "\n".join(parts)


def _written(title: str, head: tuple[str, ...], lines: Sequence[Sequence[Any]]) -> str:
    """Return a table of whole numbers as Markdown."""
    cells = [[Cell(each if isinstance(each, str) else f"{each:,.0f}") for each in line] for line in lines]
    return written(Table(title, head, cells, 1), "markdown")
