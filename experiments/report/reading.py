"""What a report is made of: results files and the experiment files beside them; only what is proven has figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from experiments.files import Experiment

#: What a synthesizer, or nobody, has proven until the verifier has accepted the schedule.
_FIGURES = (
    "time_us", "planned_us", "efficiency", "algbw_gbps", "busbw_gbps", "max_utilisation", "mean_utilisation",
)  # fmt: skip

#: Why rows of a file that says nothing of verification are not shown as working.
_UNPROVEN = "its file does not say that the verifier accepted the schedule, so it is not timed"


@dataclass(frozen=True)
class Source:
    """Results of one experiment.

    Attributes
    ----------
    name : str
        What the column ``experiment`` says.
    folder : Path
        Where the results file is, with the experiment file and the schedules that were kept.
    rows : DataFrame
    experiment : Experiment or None
        The experiment file beside the results.
    remark : str
        Why that file was left out, if it was.
    """

    name: str
    folder: Path
    rows: pd.DataFrame
    experiment: Experiment | None = None
    remark: str = ""


def read_sources(paths: Sequence[str]) -> list[Source]:
    """Return the results of files, or of folders of ``collbench run``, each of another name.

    Raises
    ------
    FormatError
        One that is not there, or is no results file.
    """
    from experiments.tables.rows import load_results

    found: list[Source] = []
    for path in dict.fromkeys(paths):
        rows = load_results(path).reset_index(drop=True)
        rows = proven(rows.set_axis([str(name) for name in rows], axis="columns"))
        place = Path(path)
        folder = place if place.is_dir() else place.parent
        named = [name for name in rows.get("experiment", []) if name]
        name = named[0] if named else (place.resolve().name if place.is_dir() else place.stem)
        if any(each.name == name for each in found):
            name = path
        found.append(Source(name, folder, rows.assign(experiment=name), *_experiment(folder / "experiment.yaml")))
    return found


def joined(sources: Sequence[Source]) -> pd.DataFrame:
    """Return the rows of all sources as one table.

    A label that two experiments gave to runs of one problem stands for two things: it gets the experiment's name. The
    column ``.source`` says which source a row is of, ``.label`` what its file calls it.
    """
    import pandas as pd

    from experiments.tables.repeats import PROBLEM, numbered

    parts = [source.rows.assign(**{".source": at, ".label": source.rows["label"]}) for at, source in enumerate(sources)]
    rows = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    texts = [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name].dtype)]
    rows = rows.assign(**{name: _texts(rows[name]) for name in texts})
    same = pd.Series(numbered(rows, (*PROBLEM, "label")), rows.index)
    twice = rows[".source"].groupby(same).transform("nunique") > 1
    named = pd.Series(numbered(rows, (".source", "label")), rows.index)
    both = named.isin(named[twice])
    joint = rows["label"].map(lambda label: ", " if ":" in label else ":")
    return rows.assign(label=rows["label"].where(~both, rows["label"] + joint + rows["experiment"]))


def proven(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in which only schedules that the verifier accepted have figures; others say why they have none.

    `tables.load_results` believes no row that says that it was not verified; here a file that does not say so of any
    is not believed either, because a reader of a page cannot look it up.
    """
    claimed = rows["status"] == "ok"
    rows = rows.assign(reason=rows["reason"] if "reason" in rows else rows["status"].map(lambda _: ""))
    if "verified" in rows:
        verified = rows["verified"].isin([True, "True"])
    else:
        verified = claimed & False
        rows["status"] = rows["status"].where(~claimed, "invalid")
        rows["reason"] = rows["reason"].where(~claimed, _UNPROVEN)
    figures = {name: rows[name].where(claimed & verified) for name in _FIGURES if name in rows}
    return rows.assign(**figures, verified=verified)


def _texts(column: pd.Series) -> pd.Series:
    """Return a column as text, empty where there is nothing."""
    import pandas as pd

    if isinstance(column.dtype, pd.StringDtype):
        return column.fillna("")
    return column.astype(object).where(column.notna(), "").map(_said)


def _said(value: Any) -> str:
    """Return a value as text; what Parquet keeps as a structure, as JSON."""
    if isinstance(value, str):
        return value
    structured = isinstance(value, dict | list) or hasattr(value, "tolist")
    return json.dumps(value, sort_keys=True, default=_unpacked) if structured else str(value)


def _unpacked(value: Any) -> Any:
    """Return the list of an array, or the text of anything else that JSON does not know."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _experiment(path: Path) -> tuple[Experiment | None, str]:
    """Return the experiment of a file, or why there is none."""
    from experiments.files import ExperimentError, read_experiment

    if not path.is_file():
        return None, ""
    try:
        return read_experiment(str(path))[0], ""
    except ExperimentError as error:
        return None, f"the experiment file beside the results is not what collbench reads: {error}"
