"""What the player is given: a simulated schedule as columns of numbers, small enough to be part of a page.

Columns of a page are lists with an entry per hop, link, node or chunk. Times are integers, in picoseconds as long as
JavaScript's numbers hold them exactly. `model.js` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.plots.layout import Layout, layout
from experiments.plots.simulated import Simulated
from experiments.plots.style import label_of, short_name
from simulator import timeline
from topologies.exceptions import ScheduleError

if TYPE_CHECKING:
    from schedules import Collective, Schedule
    from simulator import LinkModel, Timeline
    from topologies import Topology

#: Schedules of more hops, and networks of more links or nodes, are refused: they make pages of more than 2 MB that
#: no longer play smoothly.
MAX_HOPS = 50_000

#: Integers up to this are exact in JavaScript (2.5 hours in picoseconds); longer times are kept in nanoseconds.
_EXACT = 2**53 - 1

#: Up to this many chunks have a colour each.
_OWN_COLOUR = 8


def require_playable(schedule: Schedule) -> None:
    """Refuse what is too large for a page.

    Raises
    ------
    ScheduleError
        More than `MAX_HOPS` hops, chunks, links or nodes.
    """
    topology = schedule.topology
    counts = {
        "hops": schedule.num_hops,
        "links": topology.num_links,
        "nodes": topology.num_nodes,
        "chunks": schedule.collective.num_chunks,
    }
    for what, count in counts.items():
        if count > MAX_HOPS:
            raise ScheduleError(
                f"a schedule of {count:,} {what} is too large for the player; expected at most {MAX_HOPS:,}: play one "
                "of fewer chunks, pieces or NPUs"
            )


def player_data(schedule: Schedule, size: int, model: LinkModel, name: str = "") -> dict[str, Any]:
    """Return what `collbenchPlayer` of ``player.js`` plays, ready for JSON.

    Parameters
    ----------
    schedule : Schedule
        It is verified by the caller.
    size : int
        Bytes.
    model : LinkModel
    name : str
        What the schedule is called, such as its file.

    Raises
    ------
    ScheduleError
        A schedule too large to be played (see `require_playable`), or one whose times are past 53 days.
    """
    require_playable(schedule)
    times = timeline(schedule, size, model)
    topology, collective = schedule.topology, schedule.collective
    unit = 1 if times.total_ps <= _EXACT else 1000
    completing, held = _completions(times)
    colour, colours, coloured_by = _colours(collective)
    places, blocking = layout(topology), model.latency == "blocking"
    return {
        "name": name.encode(errors="replace").decode(),  # of a file, it need not be proper text
        "title": Simulated(name, times).problem,
        "synthesizer": label_of(str(schedule.notes.get("synthesizer", ""))),
        "links_are": f"{model.latency}, {model.switching}",
        "unit_ps": unit,
        "total": times.total_ps // unit,
        "npus": topology.num_npus,
        "nodes": {
            "label": [short_name(topology.node_name(node)) for node in range(topology.num_nodes)],
            "held": held.tolist(),
            "wanted": _wanted(collective).tolist(),
        }
        | _places(places),
        "links": {
            "src": topology.src.tolist(),
            "dst": topology.dst.tolist(),
            # For how long before a transfer's end its link is free already.
            "tail": [] if blocking else (topology.latency_ps // unit).tolist(),
        }
        | _lanes(places, topology),
        "chunks": {"bytes": times.durations.chunk_bytes.tolist(), "colour": colour.tolist()},
        "colours": {"count": colours, "by": coloured_by},
        "hops": _hops(times, unit) | {"completing": completing.tolist()},
        "critical": _critical(times, unit),
    }


def _hops(times: Timeline, unit: int) -> dict[str, Any]:
    """Return the columns of hops, in list order; a start is told by how much later it is than the one before."""
    schedule = times.schedule
    start, end = times.start_ps // unit, times.end_ps // unit
    flags = np.zeros(0, np.uint8) if schedule.reduce is None else schedule.reduce.astype(np.uint8)
    return {
        "chunk": schedule.chunk.tolist(),
        "link": schedule.link.tolist(),
        "later": np.diff(start, prepend=0).tolist(),
        "duration": (end - start).tolist(),
        "reduce": "".join(map(str, flags.tolist())),  # a digit for each hop, nothing where none reduces
        "message": [] if schedule.message is None else schedule.message.tolist(),
    }


def _critical(times: Timeline, unit: int) -> dict[str, list]:
    """Return the columns of the critical path."""
    segments = times.critical_path()
    return {
        "hop": [segment.hop for segment in segments],
        "until": [segment.until_ps // unit for segment in segments],
        "reason": [segment.reason for segment in segments],
        "waited": [segment.waited_ps // unit for segment in segments],
    }


def _places(places: Layout) -> dict[str, list[float]]:
    """Return where nodes are drawn."""
    return {"x": places.xy[:, 0].round(4).tolist(), "y": places.xy[:, 1].round(4).tolist()}


def _lanes(places: Layout, topology: Topology) -> dict[str, Any]:
    """Return the lane of each link beside its parallels, and the way out of the grid of those that close a torus."""
    lane = np.zeros(topology.num_links, np.int64)
    lane[places.link] = places.lane
    stub = np.flatnonzero(places.from_node & ~places.to_node)
    way = (places.lines[stub, 1] - places.lines[stub, 0]).round(4)
    return {
        "lane": lane.tolist(),
        "stub": {"link": places.link[stub].tolist(), "dx": way[:, 0].tolist(), "dy": way[:, 1].tolist()},
    }


def _colours(collective: Collective) -> tuple[np.ndarray, int, str]:
    """Return the colour class of each chunk, the number of classes and what they tell: a few chunks have one each,
    more are told apart by the one NPU that has them first, or last, where these differ, else by their number.
    """
    chunks = collective.num_chunks
    if chunks > _OWN_COLOUR:
        size = np.diff(collective.set_start)
        for sets, what in ((collective.initial, "first NPU"), (collective.final, "last NPU")):
            if (size[sets] == 1).all():
                npu = collective.set_member[collective.set_start[sets]]
                if (npu != npu[0]).any():
                    return npu, collective.num_npus, what
    return np.arange(chunks), chunks, "chunk"


def _wanted(collective: Collective) -> np.ndarray:
    """Return (NPUs,): how many chunks each NPU must hold at the end."""
    of_set = np.bincount(collective.final, minlength=len(collective.set_start) - 1)
    wanted = np.zeros(collective.num_npus, np.int64)
    np.add.at(wanted, collective.set_member, np.repeat(of_set, np.diff(collective.set_start)))
    return wanted


def _completions(times: Timeline) -> tuple[np.ndarray, np.ndarray]:
    """Return the hops whose end completes a chunk at an NPU that must hold it at the end, and (NPUs,) how many of
    those chunks each NPU has from the start.

    Where contributions are added up the slowest delivery completes a chunk, else the first.
    """
    schedule = times.schedule
    collective, topology, dataflow = schedule.collective, schedule.topology, schedule.dataflow
    chunk, node = schedule.chunk.astype(np.int64), topology.dst[schedule.link].astype(np.int64)
    delivers = dataflow.delivers if len(dataflow.delivers) else np.ones(schedule.num_hops, bool)
    members = np.repeat(np.arange(len(collective.set_start) - 1), np.diff(collective.set_start))
    member = members * topology.num_nodes + collective.set_member
    final = np.isin(collective.final[chunk] * topology.num_nodes + node, member)
    if not collective.reduces:  # a holder is no more complete for being sent the chunk again
        final &= ~np.isin(collective.initial[chunk] * topology.num_nodes + node, member)
    hops = np.flatnonzero(delivers & final)
    sooner = times.end_ps[hops]
    hops = hops[np.argsort(-sooner if collective.reduces else sooner, kind="stable")]
    _, first = np.unique(chunk[hops] * topology.num_nodes + node[hops], return_index=True)
    completing = np.sort(hops[first])
    held = _wanted(collective) - np.bincount(node[completing], minlength=topology.num_npus)[: topology.num_npus]
    return completing, held
