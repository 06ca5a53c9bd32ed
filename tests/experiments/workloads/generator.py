"""A workload small enough to reckon by hand, and random ones with a strategy each."""

from __future__ import annotations

from hypothesis import strategies as st

from experiments.workloads import Layer, Server, Strategy, Table, Workload

#: Does 1000 operations and reads 1000 bytes in a second.
SERVER = Server(memory_bytes=10**9, tflops=1e-9, memory_gbps=1e-6)

#: Layers of 12 and 8 parameters, tables of 80 and 160; batch 2, 4 bytes a value.
TINY = Workload(
    "tiny", 2, 4, SERVER,
    (Layer("in", "dense", 12, 3, 4, 24, 4), Layer("out", "dense", 8, 4, 2, 16, 2)),
    (Table("few", 10, 8, 3), Table("many", 20, 8, 1)),
)  # fmt: skip


@st.composite
def cases(draw):
    """Draw a workload, a strategy for it, and the number of servers."""
    count = st.integers(1, 9)
    servers = draw(st.integers(2, 12))
    layers = []
    for index in range(draw(st.integers(1, 4))):
        width = draw(count)
        layers.append(
            Layer(
                name=f"layer {index}",
                kind="dense",
                parameters=width * draw(count),
                input_values=draw(st.integers(0, 9)),
                output_values=width * draw(count),
                flops=draw(count),
                width=width,
                repeat=draw(st.integers(1, 3)),
            )
        )
    tables = [
        Table(f"table {index}", draw(count), draw(count), draw(count)) for index in range(draw(st.integers(0, 4)))
    ]
    workload = Workload("drawn", draw(count), draw(st.sampled_from([2, 4])), SERVER, tuple(layers), tuple(tables))
    owners = tuple(draw(st.none() | st.integers(0, servers - 1)) for _ in tables)
    splits = [[split for split in range(1, layer.width + 1) if servers % split == 0] for layer in layers]
    return workload, Strategy(owners, tuple(draw(st.sampled_from(known)) for known in splits)), servers
