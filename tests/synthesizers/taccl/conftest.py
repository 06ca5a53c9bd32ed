"""Sketches for the tests, in the form that is published, and the published files where they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from synthesizers.taccl import Profile

#: The folder that holds the published files, if the environment names one.
PUBLISHED = os.environ.get("COLLBENCH_TACCL_FILES", "")

#: A node of two or four GPUs with a link between any two, for which the published code's results are known.
HUB = {"node_betas_list": [3], "node_invbws_list": [9], "remote_alpha": 3, "remote_beta": 100, "remote_invbw": 103}


def _content(nodes=2, conn=None, offsets=None, chunkup=1, **internode):
    """Return the content of a sketch file: all links inside a node, a relay between nodes."""
    content = {
        "nnodes": nodes,
        "intranode_sketch": {"strategy": "none"},
        "symmetry_offsets": offsets or [],
        "hyperparameters": {"input_chunkup": chunkup},
    }
    if nodes > 1:
        content["internode_sketch"] = {"strategy": "relay", "internode_conn": conn or {"0": [1]}, **internode}
    return content


@pytest.fixture
def sketch_content():
    """Return the content of a sketch file."""
    return _content


@pytest.fixture
def write(tmp_path):
    """Write a sketch or profile and return its path."""

    def written(content, name="sketch.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return written


@pytest.fixture
def published():
    """Return the path of a published file; skip where it is not there."""

    def found(name):
        path = Path(PUBLISHED) / name
        if not PUBLISHED or not path.is_file():
            pytest.skip(f"the published {name} is not here; COLLBENCH_TACCL_FILES names its folder")
        return str(path)

    return found


@pytest.fixture
def hub():
    """The profile of a hub with a number of GPUs in a node."""
    return lambda gpus: Profile(name="hub", gpus_per_node=gpus, nics_per_node=1, **HUB)


@pytest.fixture
def ndv2_profile():
    """The costs of NDv2 for chunks of 1 MB, as TACCL measured them."""
    return Profile(
        name="NDv2", gpus_per_node=8, nics_per_node=1, node_betas_list=[23, 46], node_invbws_list=[23, 46],
        remote_alpha=2.6, remote_beta=105, remote_invbw=107,
    )  # fmt: skip
