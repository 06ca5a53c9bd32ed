"""``nvidia-smi topo -m``: the matrix of what joins each two GPUs, in tabs or spaces.

NPU r is GPU r. ``NV#`` is # NVLinks between two GPUs, or, where all pairs show the same number, # links of each GPU
into one NVSwitch: the sum per GPU decides when the model is known (or more than any GPU has), else the user must say
``wiring=nvswitch`` or ``wiring=direct``. Unit rule: the matrix counts links; what one carries comes from the table of
GPU models. Other cells (SYS, NODE, PHB, PXB, PIX) are ways through PCIe, not links; NIC rows are left out.
"""

from __future__ import annotations

import re

import numpy as np

from topologies.readers.gpu_links import MAX_COUNT, gpu_topology
from topologies.readers.gpus import MOST_LINKS, Gpu, given_gpu
from topologies.readers.source import Source, named
from topologies.topology import Topology

_CELL = re.compile(r"X|NV([0-9]{1,4})|SYS|NODE|PHB|PXB|PIX|PSB|SOC|N/A|-")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_HEADER = re.compile(r"^\s*GPU[0-9]+(\s|$)")
_MAX_GPUS = 1024


def recognises(text: str) -> bool:
    """Return whether a text has a header of GPUs, and a row of one with cells of the matrix."""
    lines = [line for line in _ESCAPES.sub("", text[:65536]).splitlines() if line.strip()][:40]
    has_header = any(_HEADER.match(line) for line in lines)
    return has_header and any(
        re.match(r"\s*GPU[0-9]+\s+(X|NV[0-9]+|SYS|NODE|P[HXI][BX]|SOC)\s", line + " ") for line in lines
    )


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        A matrix that is not whole or not symmetric, a GPU without NVLink, or a wiring that the file leaves open.
    """
    numbers, nics, counts = _matrix(source)
    n = len(numbers)
    if not (counts == counts.T).all():
        a, b = np.argwhere(counts != counts.T)[0].tolist()
        raise source.error(f"GPU{numbers[a]} shows NV{counts[a, b]} to GPU{numbers[b]}, which shows NV{counts[b, a]} "
                           "back; expected the same both ways")  # fmt: skip
    names = [f"GPU{number}" for number in numbers]
    ports = np.zeros(n, np.int64)
    model = given_gpu(source)
    if _through_switch(source, counts, model):
        ports[:] = counts.max()
        counts = np.zeros_like(counts)
    topology = gpu_topology(source, names, counts, ports, None)
    source.dropped("NICs, as what is between machines is not in such a file", nics)
    return topology


def _through_switch(source: Source, counts: np.ndarray, model: Gpu | None) -> bool:
    """Return whether the links lead to a switch, not to each peer."""
    n, wiring = len(counts), source.choice("wiring", ("nvswitch", "direct"))
    between = counts[~np.eye(n, dtype=bool)]
    links, total = int(between.max(initial=0)), int(counts.sum(axis=1).max(initial=0))
    alike = links > 0 and bool((between == links).all())
    if wiring == "nvswitch" and not alike:
        raise source.error("wiring is nvswitch, and not all GPUs show the same number of NVLinks to each other; "
                           "expected equal cells, or leave it out: such a matrix is direct")  # fmt: skip
    most = MOST_LINKS if model is None or model.links is None else model.links
    whose = "any GPU" if model is None else model.name
    if wiring != "nvswitch" and total > most and (wiring == "direct" or not alike):
        raise source.error(f"{total} NVLinks of a GPU in all; {whose} has at most {most}, so they cannot be direct")
    if wiring == "nvswitch" and links > most:
        raise source.error(f"{links} NVLinks of each GPU into the NVSwitch; {whose} has at most {most}")
    if wiring is not None or not alike or n == 2:
        return wiring == "nvswitch"
    if total > most:
        return True
    if model is None:
        raise source.error(f"NV{links} between all {n} GPUs is {total} direct links of each, or {links} into an "
                           f"NVSwitch; say which: {source.ask('gpu')}, {source.ask('wiring')} or "
                           f"{source.ask('wiring', 'direct')}")  # fmt: skip
    return False


def _matrix(source: Source) -> tuple[list[int], list[str], np.ndarray]:
    """Return the numbers of the GPUs, the names of the NICs, and (n, n) NVLinks between the GPUs in rank order."""
    lines = _ESCAPES.sub("", source.text).splitlines()
    start = next(index for index, line in enumerate(lines) if _HEADER.match(line))
    columns = re.split(r"\b(?:CPU|NUMA|GPU NUMA)\b", lines[start])[0].split()
    gpus = [int(name[3:]) for name in columns if re.fullmatch("GPU[0-9]{1,6}", name, re.ASCII)]
    nics = [name for name in columns if not name.startswith("GPU")]
    if len(set(gpus)) < len(gpus) or not 1 <= len(gpus) <= _MAX_GPUS:
        raise source.error(f"a header of {len(gpus)} GPUs, {len(set(gpus))} of them different; expected each once, at "
                           f"most {_MAX_GPUS}", start + 1)  # fmt: skip
    if columns[: len(gpus)] != [f"GPU{number}" for number in gpus]:
        raise source.error("the header has other columns before GPUs; expected GPU0, GPU1, … first", start + 1)
    rows: dict[int, list[int]] = {}
    for index in range(start + 1, len(lines)):
        words = lines[index].split()
        if not words or not re.fullmatch("GPU[0-9]{1,6}", words[0], re.ASCII):
            continue
        row, cells = int(words[0][3:]), words[1 : 1 + len(gpus)]
        if row not in gpus or row in rows or len(cells) < len(gpus):
            found = (
                "stands twice" if row in rows else f"has {len(cells)} cells" if row in gpus else "is not in the header"
            )
            raise source.error(f"row {words[0]} {found}; expected one row of {len(gpus)} cells for each GPU", index + 1)
        rows[row] = [_count(source, cell, index + 1) for cell in cells]
        if any((cell == "X") != (row == column) for cell, column in zip(cells, gpus, strict=True)):
            raise source.error(f"row {words[0]} has its X in another column; expected it in {words[0]}", index + 1)
    absent = [f"GPU{number}" for number in gpus if number not in rows]
    if absent:
        raise source.error(f"{len(absent)} GPUs of the header have no row: {named(absent)}; the output is cut off")
    order = np.argsort(gpus)
    counts = np.array([rows[number] for number in gpus], np.int64)
    return sorted(gpus), nics, counts[np.ix_(order, order)]


def _count(source: Source, cell: str, line: int) -> int:
    """Return the NVLinks that a cell shows."""
    match = _CELL.fullmatch(cell)
    if match is None:
        raise source.error(f"cell {cell!r:.40}; expected X, NV#, SYS, NODE, PHB, PXB, PIX or N/A", line)
    count = int(match[1] or 0)
    if count > MAX_COUNT:
        raise source.error(f"cell {cell}; expected at most {MAX_COUNT} links", line)
    return count
