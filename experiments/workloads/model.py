"""A training workload: the layers and embedding tables of a model, its batch, and the server that trains it.

What is kept of a layer is what one iteration depends on (TopoOpt, NSDI 2023): its parameters, which make the
AllReduce; the values that go in and come out, which travel if servers share it; its arithmetic, which takes time.
"""

from __future__ import annotations

from dataclasses import dataclass

from topologies.exceptions import CollbenchError


class WorkloadError(CollbenchError, ValueError):
    """A strategy that does not fit its workload, its servers or their memory."""


@dataclass(frozen=True)
class Layer:
    """One layer, or several alike.

    Attributes
    ----------
    name, kind : str
    parameters : int
        Of one of the layers alike; a multiple of `width`.
    input_values, output_values : int
        Values that go into one of them, and that come out, for one sample; the latter a multiple of `width`.
    flops : int
        Floating-point operations of one of them for one sample, forward.
    width : int
        Units that servers can share: outputs, channels or heads, each with its own parameters and its own output.
    repeat : int
        How many there are.
    """

    name: str
    kind: str
    parameters: int
    input_values: int
    output_values: int
    flops: int
    width: int
    repeat: int = 1


@dataclass(frozen=True)
class Table:
    """One embedding table, whose rows of a sample are added up to one vector.

    Attributes
    ----------
    name : str
    rows, width : int
        Entries, and the values of each.
    lookups : int
        Rows that are read for one sample.
    """

    name: str
    rows: int
    width: int
    lookups: int

    @property
    def parameters(self) -> int:
        """Values of the whole table."""
        return self.rows * self.width


@dataclass(frozen=True)
class Server:
    """What one server has for one job.

    Attributes
    ----------
    memory_bytes : int
    tflops : float
        What it sustains in layers, in 10¹² operations per second.
    memory_gbps : float
        Bandwidth at which it reads rows of tables, in GB/s.
    """

    memory_bytes: int
    tflops: float
    memory_gbps: float


@dataclass(frozen=True)
class Workload:
    """A model in training.

    Attributes
    ----------
    name : str
    batch : int
        Samples that each server brings to an iteration.
    bytes_per_value : int
        Of parameters, gradients and activations alike.
    server : Server
    layers : tuple of Layer
    tables : tuple of Table
    """

    name: str
    batch: int
    bytes_per_value: int
    server: Server
    layers: tuple[Layer, ...]
    tables: tuple[Table, ...]

    @property
    def layer_parameters(self) -> int:
        """Parameters of all layers."""
        return sum(layer.repeat * layer.parameters for layer in self.layers)

    @property
    def table_parameters(self) -> int:
        """Parameters of all tables."""
        return sum(table.parameters for table in self.tables)

    @property
    def layer_flops(self) -> int:
        """Floating-point operations of all layers for one sample, forward."""
        return sum(layer.repeat * layer.flops for layer in self.layers)

    @property
    def activation_values(self) -> int:
        """Values that come out of all layers and tables for one sample, kept until the backward pass."""
        outputs = sum(layer.repeat * layer.output_values for layer in self.layers)
        return outputs + sum(table.width for table in self.tables)

    @property
    def layer_s(self) -> float:
        """Seconds that a server computes in layers in one iteration: forward once, backward twice as much."""
        return 3 * self.batch * self.layer_flops / (self.server.tflops * 1e12)
