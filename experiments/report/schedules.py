"""Schedules for the player of a report: of each problem the best first, as many as the page is to hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from experiments.report.packing import deflated
from topologies.exceptions import CollbenchError

if TYPE_CHECKING:
    import pandas as pd

    from experiments.report.content import Content
    from experiments.report.reading import Source

#: Characters that all schedules together may take in the page.
_ROOM = 6_000_000

#: Schedules that were not kept are made again as long as all of them took no longer than this, in seconds.
_PATIENCE_S = 20

_TOO_LONG = (
    f"it was not kept, and to make all that were not again would take more than {_PATIENCE_S} s; run the experiment "
    "with --keep-schedules"
)

#: Columns that say how a schedule was made.
_NEEDED = ("synthesizer", "version", "options", "seed", "ranks", "chunks", "groups", "latency", "switching")


@dataclass
class Kept:
    """Schedules of a page.

    Attributes
    ----------
    texts : list of str
        What the player plays: JSON, deflated, in base64.
    entries : list of dict
        Of each its ``id`` (its place in `texts`), ``problem``, ``series`` and ``time_us``.
    refused : list of dict
        ``problem``, ``series`` and ``reason`` of those that could not be had, or are too large.
    possible : int
        How many problems and synthesizers have a schedule.
    """

    texts: list[str] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    possible: int = 0


def kept_schedules(
    content: Content, sources: Sequence[Source], count: int, step: Callable[[str], None] = lambda _: None
) -> Kept:
    """Return schedules to play: the best of each problem, in the order of the results, then the second best of each, ….

    Parameters
    ----------
    content : Content
    sources : sequence of Source
        Where the rows are from.
    count : int
        How many are tried.
    step : callable
        Told of each before it is made.
    """
    from experiments.evaluate import one_line
    from experiments.interruption import raise_if_interrupted

    kept = Kept()
    candidates = _candidates(content.rows)
    kept.possible = len(candidates)
    room, patience = _ROOM, float(_PATIENCE_S)
    for at in candidates[:count]:
        row = content.rows.iloc[at].to_dict()
        who = {"problem": int(row[".problem"]), "series": int(row[".series"])}
        step(f"schedule of {row['label']}, {content.problems['title'].iloc[who['problem']]}")
        source = sources[row[".source"]]
        made_again = not _is_kept(row, source)
        seconds = row.get("synthesis_s", 0.0)
        patience -= seconds if made_again and seconds > 0 else 0.0
        try:
            if made_again and patience < 0:
                raise CollbenchError(_TOO_LONG)
            text = _text(row, source)
        except Exception as error:  # the row may be anybody's; one schedule must not cost the report
            raise_if_interrupted(error)
            kept.refused.append({**who, "reason": one_line(error)})
            continue
        if len(text) > room:
            kept.refused.append({**who, "reason": f"the schedules of a page may take {_ROOM:,} characters, and do"})
            continue
        room -= len(text)
        kept.entries.append({**who, "id": len(kept.texts), "time_us": float(row["time_us"])})
        kept.texts.append(text)
    return kept


def _candidates(rows: pd.DataFrame) -> list[int]:
    """Return the positions of the rows whose schedules may be shown, in the order in which they are wanted."""
    if "time_us" not in rows:
        return []
    worked = rows[(rows["status"] == "ok") & rows["time_us"].notna()].reset_index()
    fastest = worked.loc[worked.groupby([".problem", ".series"], sort=False)["time_us"].idxmin()]
    place = fastest.groupby(".problem")["time_us"].rank(method="first")
    order = fastest.assign(place=place).sort_values(["place", ".problem"], kind="stable")
    return [int(at) for at in order["index"]]


def _text(row: dict[str, Any], source: Source) -> str:
    """Return what the player plays for a row."""
    from experiments.replay import link_model, schedule_of
    from experiments.report.player import MAX_HOPS, player_data

    transfers = row.get("transfers")
    if transfers is not None and transfers > MAX_HOPS:
        raise CollbenchError(f"{int(transfers):,} transfers; the player takes at most {MAX_HOPS:,}")
    missing = [name for name in _NEEDED if name not in source.rows]
    if missing:
        raise CollbenchError(f"its file has no column {missing[0]}, without which it cannot be made again")
    row["label"] = row[".label"]
    data = player_data(schedule_of(row, source.folder), int(row["size"]), link_model(row), str(row["label"]))
    return deflated(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode())


def _is_kept(row: dict[str, Any], source: Source) -> bool:
    """Return whether the schedule of a row is beside the results."""
    from experiments.runner.store import schedule_path

    return bool(row.get("key")) and schedule_path(source.folder, row["key"]).is_file()
