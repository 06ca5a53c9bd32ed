"""Small topology files in the forms of other tools, made for the tests, and where the public ones are."""

from __future__ import annotations

import json
from pathlib import Path

#: Public files, beside the repository; tests that use them are skipped where they are not.
CASES = Path(__file__).parents[4] / "shared" / "cases" / "topologies"


def nccl(links: dict[int, str], attributes: str = 'sm="70"', more: str = "") -> str:
    """Return NCCL's XML of GPUs 0, 1, … on buses 0000:00 (rank 0), 0000:01, …; `links` holds what is in each <gpu>."""
    gpus = "".join(
        f'<pci busid="0000:{rank:02x}:00.0" class="0x030200" link_speed="" link_width="0">\n'
        f'<gpu dev="{rank}" {attributes} rank="{rank}">{inside}</gpu></pci>\n'
        for rank, inside in links.items()
    )
    return f'<system version="1"><cpu numaid="0">\n{gpus}{more}</cpu></system>\n'


def nvlink(target: int, count: int = 1, name: str = "nvlink") -> str:
    """Return a link of NCCL's XML to the GPU on a bus."""
    return f'<{name} target="0000:{target:02x}:00.0" count="{count}" tclass="0x030200"/>'


def smi(rows: list[list[str]], between: str = "\t", numbers: list[int] | None = None) -> str:
    """Return ``nvidia-smi topo -m`` of a matrix of cells, with a NIC beside."""
    names = [f"GPU{number}" for number in numbers or range(len(rows))]
    lines = [between.join(["", *names, "NIC0", "CPU Affinity"])]
    lines += [between.join([name, *row, "SYS", "0-19"]) for name, row in zip(names, rows, strict=True)]
    lines.append(between.join(["NIC0", *["SYS"] * len(rows), " X ", ""]))
    return "\n".join([*lines, "", "Legend:", "", "  X    = Self", "  NV#  = a bonded set of # NVLinks", ""])


def all_pairs(count: int, cell: str) -> list[list[str]]:
    """Return a matrix with one cell between all GPUs."""
    return [[" X " if a == b else cell for b in range(count)] for a in range(count)]


def rocm(weights: list[list[int]], kind: str = "XGMI", bandwidths: list[list[str]] | None = None) -> str:
    """Return ``rocm-smi --showtopo`` of a matrix of weights."""
    size = range(len(weights))
    header = "       " + "".join(f"{f'GPU{gpu}':13}" for gpu in size)
    tables = [
        ("Weight between two GPUs", [[str(weight) for weight in row] for row in weights]),
        ("Hops between two GPUs", [["0" if a == b else "1" for b in size] for a in size]),
        ("Link Type between two GPUs", [["0" if a == b else kind for b in size] for a in size]),
    ]
    lines = ["=== ROCm System Management Interface ==="]
    for title, rows in tables + ([(" Bandwidth ", bandwidths)] if bandwidths else []):
        lines += [f"======={title:^26}=======", header]
        lines += [f"GPU{gpu}   " + "".join(f"{cell:13}" for cell in row) for gpu, row in zip(size, rows, strict=True)]
    return "\n".join([*lines, "====== Numa Nodes ======", "GPU[0]\t\t: (Topology) Numa Node: 0", ""])


RING_WEIGHTS = [[0, 15, 30, 15], [15, 0, 15, 30], [30, 15, 0, 15], [15, 30, 15, 0]]

ASTRA = """# values of a test
topology: [ Ring, FullyConnected, Switch ]
npus_count: [ 2, 3, 4 ]
bandwidth: [ 200.0, 100.0, 50.0 ]  # GB/s
latency: [ 50, 500.5, 2e3 ]  # ns
"""

NS3 = """4 1 3
3
0 3 100Gbps 0.0005ms 0
1 3 100Gbps 500ns 0
2 3 50Gbps 1us 0
"""

SIMAI = """7 2 2 1 6 A100
4 5 6
0 4 2880Gbps 0.000025ms 0
1 4 2880Gbps 0.000025ms 0
2 5 2880Gbps 0.000025ms 0
3 5 2880Gbps 0.000025ms 0
4 6 200Gbps 0.0005ms 0
5 6 200Gbps 0.0005ms 0
"""

PROFILE = json.dumps({"name": "NDv2_test", "gpus_per_node": 8, "node_betas_list": [20, 40],
                      "node_invbws_list": [21, 42], "remote_beta": 100, "remote_invbw": 103})  # fmt: skip

GML = """Creator "a test"
graph [
  directed 0
  stats [ nodes 3 ]
  node [ id 7 label "a [b]" ]
  node [ id 3 label "c" ]
  node [ id 5 label "s" kind "switch" ]
  edge [ source 7 target 5 bandwidth "100Gbps" latency "2us" ]
  edge [ source 3 target 5 dist 132.4 ]
]
"""

GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="LinkSpeedRaw" attr.type="double"><default>1e10</default></key>
  <key id="d1" for="node" attr.name="type" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="x"/><node id="s"><data key="d1">Switch</data></node><node id="y"/>
    <edge source="x" target="s"/>
    <edge source="s" target="y"><data key="d0">40000000000.0</data></edge>
  </graph>
</graphml>
"""

NODE_LINK = json.dumps({"directed": True, "multigraph": False, "graph": {}, "nodes": [{"id": "p"}, {"id": 4}],
                        "links": [{"source": "p", "target": 4, "capacity": 400, "latency_us": 1.5},
                                  {"source": 4, "target": "p", "bandwidth_gbps": 25}]})  # fmt: skip

TABLE = """src,dst,bandwidth (Gbps),latency (ns)
0,switch 0,400,500
switch 0,0,400,500
10,switch 0,200,500
switch 0,10,200,500
2,switch 0,50GB/s,1us
switch 0,2,50GB/s,1us
"""

MATRIX = "0,2,1\n2,0,1\n1,1,0\n"

IBNET = """#
# Topology file: generated on a test day
vendid=0x2c9
switchguid=0x10(10)
Switch\t4 "S-0000000000000010"\t\t# "leaf 1" enhanced port 0 lid 1 lmc 0
[1]\t"H-0000000000000001"[1](1) \t\t# "host a HCA-1" lid 3 4xNDR
[2]\t"S-0000000000000020"[1]\t\t# "leaf 2" lid 2 4xNDR
[3]\t"S-0000000000000020"[2]\t\t# "leaf 2" lid 2 4xNDR
[4]\t\t# "open" lid 0

Switch\t4 "S-0000000000000020"\t\t# "leaf 2" enhanced port 0 lid 2 lmc 0
[1]\t"S-0000000000000010"[2]\t\t# "leaf 1" lid 1 4xNDR
[2]\t"S-0000000000000010"[3]\t\t# "leaf 1" lid 1 4xNDR
[3]\t"H-0000000000000002"[1](2) \t\t# "host b HCA-1" lid 4 4xHDR

Ca\t1 "H-0000000000000001"\t\t# "host a HCA-1"
[1](1) \t"S-0000000000000010"[1]\t\t# lid 3 lmc 0 "leaf 1" lid 1 4xNDR

Ca\t1 "H-0000000000000002"\t\t# "host b HCA-1"
[1](2) \t"S-0000000000000020"[3]\t\t# lid 4 lmc 0 "leaf 2" lid 2 4xHDR
"""

#: Module of a format → files that it reads, with what they do not say.
SAMPLES: dict[str, list[tuple[str, dict[str, str]]]] = {
    "nccl_xml": [(nccl({0: nvlink(1, 2), 1: nvlink(0, 2)}), {}),
                 (nccl({0: nvlink(1, 1, "xgmi"), 1: nvlink(0, 1, "xgmi")}, 'sm="104" gcn="910"'), {})],
    "graphml": [(GRAPHML, {})],
    "rocm_smi": [(rocm(RING_WEIGHTS), {"gpu": "MI250"})],
    "nvidia_smi": [(smi(all_pairs(8, "NV12")), {}), (smi(all_pairs(4, "NV6"), "  "), {"gpu": "H100"})],
    "astra_yaml": [(ASTRA, {})],
    "ns3_text": [(NS3, {}), (SIMAI, {})],
    "taccl": [(PROFILE, {}), (PROFILE, {"boxes": "2"})],
    "node_link": [(NODE_LINK, {"unit": "Gbps"})],
    "gml": [(GML, {"bandwidth": "10GB/s"})],
    "link_csv": [(TABLE, {})],
    "link_matrix": [(MATRIX, {"bandwidth": "25GB/s"})],
    "ibnetdiscover": [(IBNET, {})],
}  # fmt: skip
