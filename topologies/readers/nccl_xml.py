"""NCCL and RCCL topology XML (``NCCL_TOPO_DUMP_FILE``): one machine's GPUs and the links between them.

NPU r is the GPU of rank r (of device r where there are no ranks), not the r-th of the file. A link is an ``nvlink`` or
``xgmi`` element, `count` links one way to the GPU at `target`, or to the NVSwitches where `tclass` is 0x0680..; a
target that nobody declares is no GPU of this file. Unit rule: the file says how many links there are and, by `sm` or
`gcn`, which GPU it is; what a link carries comes from the table of GPU models. PCIe and NICs are left out, and said so.
"""

from __future__ import annotations

import re

import numpy as np

from topologies.readers.gpu_links import MAX_COUNT, gpu_topology
from topologies.readers.gpus import BY_GCN, BY_SM, GPUS, Gpu
from topologies.readers.source import Source
from topologies.readers.xml_tree import Element, first_element, parse_xml
from topologies.topology import Topology

_MAX_GPUS = 4096

#: What NCCL writes as the target of a link to an NVSwitch that it cannot see.
_UNSEEN = re.compile(r"f+:f+:f+\.?0?", re.IGNORECASE)


def recognises(text: str) -> bool:
    """Return whether a text is XML with NCCL's root, or that of its graph dumps."""
    return first_element(text[:65536]) in ("system", "graphs", "cpu")


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        A graph dump, a hint file without GPUs, GPUs without links, or values that cannot be.
    """
    root = parse_xml(source)
    if root.name == "graphs":
        raise source.error("is a graph dump of NCCL (NCCL_GRAPH_DUMP_FILE); expected a topology, which "
                           "NCCL_TOPO_DUMP_FILE=FILE writes")  # fmt: skip
    gpus = _gpus(source, root)
    if not gpus:
        raise source.error("lists no <gpu>: it is a hint file, or of a machine without any; expected a dump of a "
                           "running job, which NCCL_TOPO_DUMP_FILE=FILE writes")  # fmt: skip
    bus = [pci.attributes.get("busid", "").lower() for pci, _ in gpus]
    index = {busid: rank for rank, busid in enumerate(bus)}
    names = [f"GPU {rank} ({busid})" for rank, busid in enumerate(bus)]
    counts, ports = np.zeros((len(gpus), len(gpus)), np.int64), np.zeros(len(gpus), np.int64)
    loops, unknown, xgmi = [], [], False
    for rank, (_, gpu) in enumerate(gpus):
        for link in gpu.children:
            if link.name not in ("nvlink", "xgmi"):
                continue
            xgmi = xgmi or link.name == "xgmi"
            target, kind = link.attributes.get("target", "").lower(), link.attributes.get("tclass", "").lower()
            count = _number(source, link, "count", 1, MAX_COUNT)
            if target == bus[rank]:
                loops.append(f"{names[rank]} ×{count}")
            elif target in index:
                counts[rank, index[target]] += count
            elif kind.startswith("0x0680") or _UNSEEN.fullmatch(target):
                ports[rank] += count
            else:
                unknown.append(f"{names[rank]} -> {target or 'nothing'} ×{count}")
    source.dropped("links from a GPU to itself", loops)
    source.dropped("links to what the file does not declare", unknown)
    topology = gpu_topology(source, names, counts, ports, _model(source, gpus), "xGMI link" if xgmi else "NVLink")
    source.dropped("NICs, as what is between machines is not in such a file", [
        net.attributes.get("name", "unnamed") for net in root.walk() if net.name == "net"
    ])  # fmt: skip
    return topology


def _gpus(source: Source, root: Element) -> list[tuple[Element, Element]]:
    """Return (pci, gpu) elements in rank order, each bus address once."""
    found: list[tuple[int, Element, Element]] = []
    seen: set[str] = set()
    twice, missing = [], []
    for pci in root.walk():
        for gpu in pci.children:
            if gpu.name != "gpu":
                continue
            busid = pci.attributes.get("busid", "").lower()
            key = "rank" if "rank" in gpu.attributes else "dev"
            rank = _number(source, gpu, key, 0, 2**31)
            if not busid:
                missing.append(f"{key} {rank}")
            elif busid in seen:
                twice.append(f"{busid} ({key} {rank})")
            else:
                seen.add(busid)
                found.append((rank, pci, gpu))
    source.dropped("GPUs whose busid another one has", twice)
    if missing:
        raise source.error(f"the GPU of {missing[0]} has no busid; expected one on the <pci> around it")
    if len(found) > _MAX_GPUS:
        raise source.error(f"{len(found)} GPUs; expected one machine of at most {_MAX_GPUS}")
    ranks = [rank for rank, _, _ in found]
    if len(set(ranks)) < len(ranks):
        again = next(rank for rank in ranks if ranks.count(rank) > 1)
        raise source.error(f"two GPUs are of rank (or dev) {again}; expected one of each")
    return [(pci, gpu) for _, pci, gpu in sorted(found, key=lambda entry: entry[0])]


def _model(source: Source, gpus: list[tuple[Element, Element]]) -> Gpu | None:
    """Return the model that all GPUs are of, by what their elements say; None where they do not."""
    models = set()
    for _, gpu in gpus:
        gcn, sm = gpu.attributes.get("gcn"), gpu.attributes.get("sm", "")
        models.add(BY_SM.get(sm) if gcn is None else BY_GCN.get(gcn.split(":")[0]))
    if len(models) > 1:
        source.warn("its GPUs are of different models, so the table of defaults does not apply")
    (name, *others) = models
    return None if others or name is None else GPUS[name]


def _number(source: Source, element: Element, key: str, least: int, most: int) -> int:
    """Return an attribute as a whole number within limits; NCCL writes some in hexadecimal."""
    text = element.attributes.get(key, "").strip()
    value = int(text, 0) if re.fullmatch(r"0|[1-9][0-9]{0,9}|0x[0-9a-fA-F]{1,8}", text, re.ASCII) else -1
    if not least <= value <= most:
        raise source.error(
            f"{key} of <{element.name}> is {text!r:.40}; expected a number from {least} to {most}", element.line
        )
    return value
