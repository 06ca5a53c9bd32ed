"""``rocm-smi --showtopo``: matrices of weight, hops and link type between each two GPUs of one machine.

NPU r is GPU r. The driver counts a weight of 15 for each xGMI link on the way; "Hops" is 1 for all GPUs of a hive. So
a link is a pair of type XGMI and weight 15, and XGMI of a greater weight is a way over several links. Unit rule: what
a link carries comes from the table of GPU models; how many parallel links two GPUs have is not said, so one is taken,
which a warning says. The matrix of ``rocm-smi --shownodesbw``, where it follows in the same file, says both: MB/s of
one link and of all between two GPUs.
"""

from __future__ import annotations

import re

import numpy as np

from topologies.readers.gpu_links import MAX_COUNT, gpu_topology
from topologies.readers.source import Source
from topologies.topology import Topology

_TITLE = re.compile(r"\b(weight|hops|link type|bandwidth)\b.*\bbetween two GPUs|=\s*(bandwidth)\s*=", re.IGNORECASE)
_TITLE_LENGTH = 400  # of a line in which a title may stand
_HEADER = re.compile(r"\s*+GPU[0-9]{1,6}(?:\s++GPU[0-9]{1,6})*+\s*+$", re.ASCII)
_ROW = re.compile(r"\s*+GPU([0-9]{1,6})\s++(\S.*)$", re.ASCII)

#: Weight of one xGMI link, in the driver's table of distances.
_ONE_LINK = 15
_MAX_GPUS = 1024


def recognises(text: str) -> bool:
    """Return whether a text has the titles of the matrices."""
    start = text[:65536]
    return re.search(r"(Weight|Hops|Link Type) between two GPUs", start, re.IGNORECASE) is not None


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        No matrix of weights or link types, one that is not whole or not symmetric, a GPU without xGMI.
    """
    tables = _tables(source)
    for needed in ("weight", "link type"):
        if needed not in tables:
            raise source.error(f"has no matrix of {needed} between two GPUs; hops alone tell no links: dump it anew "
                               "with rocm-smi --showtopo")  # fmt: skip
    (gpus, weights), (others, kinds) = tables["weight"], tables["link type"]
    if gpus != others:
        raise source.error("the matrices of weight and link type are of different GPUs; expected the same")
    n = len(gpus)
    names = [f"GPU{gpu}" for gpu in gpus]
    counts = np.zeros((n, n), np.int64)
    for a in range(n):
        for b in range(n):
            if a != b and kinds[a][b].upper() == "XGMI":
                counts[a, b] = _whole(source, weights[a][b], names[a]) == _ONE_LINK
    if not (counts == counts.T).all():
        a, b = np.argwhere(counts != counts.T)[0].tolist()
        raise source.error(f"{names[a]} and {names[b]} have a link one way only; expected the same both ways")
    carried = None
    if "bandwidth" in tables and counts.any():
        carried = _count(source, names, counts, tables["bandwidth"])
    elif counts.any():
        source.warn("does not say how many links join two GPUs: one is taken where there are some")
    return gpu_topology(source, names, counts, np.zeros(n, np.int64), None, "xGMI link", carried)


def _count(source: Source, names: list[str], counts: np.ndarray, table: tuple[list[int], list[list[str]]]) -> float:
    """Set how many links two GPUs have, and return GB/s of one: the matrix has that of one and that of all, in MB/s."""
    gpus, cells = table
    if [f"GPU{gpu}" for gpu in gpus] != names:
        raise source.error("the matrix of bandwidths is of other GPUs; expected the same")
    least = set()
    for a, b in np.argwhere(counts > 0).tolist():
        match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", cells[a][b], re.ASCII)
        one, of_all = (int(match[1]), int(match[2])) if match else (0, 0)
        if one == 0 or of_all % one or not 1 <= of_all // one <= MAX_COUNT:
            raise source.error(f"bandwidth {cells[a][b]!r:.40} from {names[a]} to {names[b]}; expected MIN-MAX MB/s, "
                               "of one link and of all")  # fmt: skip
        counts[a, b] = of_all // one
        least.add(one)
    if len(least) > 1:
        raise source.error(f"links of {' and '.join(map(str, sorted(least)[:4]))} MB/s; expected all of one bandwidth")
    return least.pop() / 1000


def _tables(source: Source) -> dict[str, tuple[list[int], list[list[str]]]]:
    """Return title → (GPUs, cells), both in rank order; each matrix is whole."""
    found: dict[str, tuple[list[int], list[list[str]]]] = {}
    lines = source.text.splitlines()
    title = ""
    for index, line in enumerate(lines):
        match = _TITLE.search(line[:_TITLE_LENGTH])
        if match:
            title = (match[1] or match[2]).lower()
        if not title or not _HEADER.match(line):
            continue
        columns = [int(word[3:]) for word in line.split()]
        if len(set(columns)) < len(columns) or len(columns) > _MAX_GPUS or title in found:
            raise source.error(f"the matrix of {title} names a GPU twice, is there twice or is of over {_MAX_GPUS} "
                               "GPUs; expected each once", index + 1)  # fmt: skip
        rows: dict[int, list[str]] = {}
        for row in lines[index + 1 : index + 1 + len(columns)]:
            parts = _ROW.match(row)
            cells = parts[2].split() if parts else []
            if parts is None or int(parts[1]) not in columns or int(parts[1]) in rows or len(cells) != len(columns):
                raise source.error(f"the matrix of {title} is cut off or damaged below its header; expected "
                                   f"{len(columns)} rows of {len(columns)} cells", index + 1)  # fmt: skip
            rows[int(parts[1])] = cells
        if len(rows) < len(columns):
            raise source.error(f"the matrix of {title} is cut off: {len(rows)} of {len(columns)} rows", index + 1)
        order = sorted(range(len(columns)), key=columns.__getitem__)
        found[title] = (sorted(columns), [[rows[gpu][at] for at in order] for gpu in sorted(columns)])
        title = ""
    return found


def _whole(source: Source, text: str, name: str) -> int:
    """Return a weight."""
    if not re.fullmatch("[0-9]{1,9}", text, re.ASCII):
        raise source.error(f"weight {text!r:.40} of {name}; expected a whole number")
    return int(text)
