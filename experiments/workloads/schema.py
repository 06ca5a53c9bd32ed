"""What a workload file may say, as types: layers by their shapes, from which parameters and arithmetic follow.

A multiplication and an addition are two operations. Biases, norms, activation functions and pooling are not counted as
arithmetic: they are memory traffic, and few.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from experiments.workloads.model import Layer

_Count = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
_Few = Annotated[int, msgspec.Meta(ge=0, le=8)]
_Rate = Annotated[float, msgspec.Meta(ge=1e-6, le=1e9)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
# Numbers are let through where a unit is missing, so that the error can name the unit.
_Quantity = str | int | float


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Base of all: a key that is not there is a mistake."""


class Dense(_Strict, frozen=True, kw_only=True, tag="dense"):
    """Every input to every output.

    Attributes
    ----------
    name : str
    inputs, outputs : int
    positions : int
        Places of a sample that it is applied to, such as words.
    per_output : int
        Parameters of each output beside its weights: 1 for a bias, 2 for a norm, 3 for both.
    repeat : int
        Layers alike.
    """

    name: _Name
    inputs: _Count
    outputs: _Count
    positions: _Count = 1
    per_output: _Few = 1
    repeat: _Count = 1

    def layer(self) -> Layer:
        """Return what counts of it: inputs · outputs weights, each used once for each position."""
        weights = self.inputs * self.outputs
        return Layer(
            self.name, "dense", weights + self.per_output * self.outputs, self.positions * self.inputs,
            self.positions * self.outputs, 2 * weights * self.positions, self.outputs, self.repeat,
        )  # fmt: skip


class Conv(_Strict, frozen=True, kw_only=True, tag="conv"):
    """A square convolution over a padded square image.

    Attributes
    ----------
    name : str
    inputs, outputs : int
        Channels.
    kernel, size, stride : int
        Sides of the kernel and of the output, in pixels; the input is `stride` times as wide as the output.
    per_output : int
        As of `Dense`: 1 for a bias, 2 for a batch norm.
    repeat : int
        Layers alike.
    """

    name: _Name
    inputs: _Count
    outputs: _Count
    kernel: _Count
    size: _Count
    stride: _Count = 1
    per_output: _Few = 1
    repeat: _Count = 1

    def layer(self) -> Layer:
        """Return what counts of it: kernel² · inputs · outputs weights, each used once for each pixel."""
        weights = self.kernel**2 * self.inputs * self.outputs
        return Layer(
            self.name, "conv", weights + self.per_output * self.outputs, self.inputs * (self.size * self.stride) ** 2,
            self.outputs * self.size**2, 2 * weights * self.size**2, self.outputs, self.repeat,
        )  # fmt: skip


class Attention(_Strict, frozen=True, kw_only=True, tag="attention"):
    """Queries, keys and values, and what the heads make of them; the projection behind them is a dense layer.

    Attributes
    ----------
    name : str
    hidden : int
        Width of the model, a multiple of `heads`.
    heads, positions : int
    repeat : int
        Layers alike.
    """

    name: _Name
    hidden: _Count
    heads: _Count
    positions: _Count
    repeat: _Count = 1

    def layer(self) -> Layer:
        """Return what counts of it: 3 projections with biases, then positions² scores twice: made, and applied."""
        weights, values = 3 * self.hidden**2, self.positions * self.hidden
        flops = 2 * weights * self.positions + 4 * self.positions**2 * self.hidden
        return Layer(self.name, "attention", weights + 3 * self.hidden, values, values, flops, self.heads, self.repeat)


class Embedding(_Strict, frozen=True, kw_only=True, tag="embedding"):
    """A table whose rows are not added up, small enough to be a layer: one row for each position.

    Attributes
    ----------
    name : str
    rows, width, positions : int
    per_output : int
        As of `Dense`: 2 for a norm.
    """

    name: _Name
    rows: _Count
    width: _Count
    positions: _Count
    per_output: _Few = 0

    def layer(self) -> Layer:
        """Return what counts of it; the indices that go in are not counted."""
        parameters = (self.rows + self.per_output) * self.width
        return Layer(self.name, "embedding", parameters, 0, self.positions * self.width, 0, self.width)


#: Kinds of layers, by the name that a file gives.
LAYERS: dict[str, type[msgspec.Struct]] = {
    "dense": Dense, "conv": Conv, "attention": Attention, "embedding": Embedding,
}  # fmt: skip


class Tables(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Embedding tables alike, each to be placed for itself.

    Attributes
    ----------
    name : str
    count, rows, width : int
    lookups : int
        Rows of each that are read, and added up, for one sample.
    """

    name: _Name
    count: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1
    rows: _Count
    width: _Count
    lookups: _Count


class ServerFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one server has.

    Attributes
    ----------
    memory : str
        With a unit, ``80GB``.
    tflops : float
        What it sustains, not its peak.
    memory_bandwidth : str
        With a unit, ``2039GB/s``.
    """

    memory: _Quantity
    tflops: _Rate
    memory_bandwidth: _Quantity


class Totals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file's author reckoned; the reader reckons again and refuses a difference.

    Attributes
    ----------
    layer_parameters, table_parameters : int
    layer_flops : int
        Of one sample, forward.
    layer_ms : float
        Milliseconds in layers in one iteration, forward and backward; to half a per cent.
    """

    layer_parameters: int | None = None
    table_parameters: int | None = None
    layer_flops: int | None = None
    layer_ms: float | None = None


class WorkloadFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file.

    Attributes
    ----------
    name : str
    batch : int
        Samples of each server.
    bytes_per_value : int
        Of parameters, gradients and activations.
    server : ServerFile
    layers : list of Dense, Conv, Attention or Embedding
        In the order of the forward pass.
    tables : list of Tables
    totals : Totals
    """

    name: _Name
    batch: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    bytes_per_value: Annotated[int, msgspec.Meta(ge=1, le=8)] = 4
    server: ServerFile
    layers: list[Dense | Conv | Attention | Embedding]
    tables: list[Tables] = []
    totals: Totals = Totals()
