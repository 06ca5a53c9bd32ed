"""Tests of `topologies.dimensions`."""

from __future__ import annotations

import pytest

from topologies import parse_topology
from topologies.dimensions import dimensions

SHAPES = {
    "mesh:4x3": (4, 3),
    "torus:2x3x4": (2, 3, 4),
    "torus:3x1x5": (3, 5),
    "hypercube:3": (2, 2, 2),
    "rfs:2x4x8": (2, 4, 8),
    "switch2d:4x3": (4, 3),
    "ff:3x5": (3, 5),
    "dgx_a100:4": (8, 4),
    "dgx2:2": (16, 2),
    "dgx2:3": (16, 3),
    "ndv2:2": (8, 2),
    "mi250:2": (16, 2),
    "ring:8": (8,),
    "line:1": (1,),
    "line:6": (6,),
    "switch:8": (8,),
    "star:7": (7,),
    "fully_connected:6": (6,),
    "dgx_a100:1": (8,),
    "mesh:7": (7,),
}


@pytest.mark.parametrize(("name", "shape"), SHAPES.items())
def test_dimensions(name, shape):
    """Grids, products and boxes show their shape; what is one line, or joins all alike, has one dimension."""
    assert dimensions(parse_topology(name)) == shape
