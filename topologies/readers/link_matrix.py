"""A square matrix of link counts in CSV, as ForestColl keeps machines: row i, column j counts links from NPU i to j.

Unit rule: the matrix counts links; what one carries is given, by the GPU model or as a bandwidth.
"""

from __future__ import annotations

import re

import numpy as np

from topologies.readers.gpu_links import MAX_COUNT, gpu_topology
from topologies.readers.source import Source
from topologies.topology import Topology

_MAX_NPUS = 1024
_ROW = re.compile(r"\s*+[0-9]++\s*+(?:,\s*+[0-9]++\s*+)++,?\s*+", re.ASCII)


def recognises(text: str) -> bool:
    """Return whether the first two lines are whole numbers joined by commas."""
    lines = [line for line in text[:65536].splitlines() if line.strip()][:2]
    return len(lines) == 2 and all(_ROW.fullmatch(line) for line in lines)


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        A matrix that is not square, a count that no machine has, an NPU without links.
    """
    lines = [(number, line) for number, line in enumerate(source.text.splitlines(), 1) if line.strip()]
    size = len(lines)
    if size > _MAX_NPUS:
        raise source.error(f"{size} rows; expected the matrix of at most {_MAX_NPUS} NPUs")
    counts = np.zeros((size, size), np.int64)
    for row, (number, line) in enumerate(lines):
        words = [word.strip() for word in line.strip().rstrip(",").split(",")]
        if len(words) != size:
            raise source.error(f"{len(words)} values in a matrix of {size} rows; expected as many", number)
        for column, word in enumerate(words):
            if not re.fullmatch("[0-9]{1,6}", word, re.ASCII) or int(word) > MAX_COUNT:
                raise source.error(f"{word!r:.40}; expected a number of links, at most {MAX_COUNT}", number)
            counts[row, column] = int(word)
    source.dropped("links from an NPU to itself", [
        f"NPU {npu} ×{counts[npu, npu]}" for npu in np.flatnonzero(np.diag(counts)).tolist()
    ])  # fmt: skip
    np.fill_diagonal(counts, 0)
    return gpu_topology(source, [f"NPU {npu}" for npu in range(size)], counts, np.zeros(size, np.int64), None, "link")
