"""TACCL's profiles as topology files."""

from __future__ import annotations

import json

import pytest

from tests.topologies.readers.samples import PROFILE
from topologies import FormatError, OptionError


def changed(**keys):
    """Return the profile with other values."""
    return json.dumps(json.loads(PROFILE) | keys)


class TestRead:
    def test_boxes(self, reading, tmp_path):
        """The machine is that of the name; boxes are given, or said by the sketch."""
        assert reading(PROFILE).num_npus == 8
        (tmp_path / "sketch.json").write_text('{"nnodes": 2, "intranode_sketch": {}}')
        topology = reading(PROFILE, sketch=str(tmp_path / "sketch.json"))
        assert topology.num_npus == 16
        assert topology == reading(PROFILE, boxes="2")

    def test_custom(self, reading):
        """A profile with matrices is of a custom machine, whatever its name."""
        one = [[0, 1], [1, 0]]
        topology = reading(changed(gpus_per_node=2, links=one, betas=one, invbws=one))
        assert (topology.num_npus, topology.num_links, float(topology.bandwidth_gbps[0])) == (2, 2, 1000)

    @pytest.mark.parametrize(("text", "given", "error", "says"), [
        (changed(name="mine"), {}, FormatError, "does not say which machine.*--machine ndv2"),
        (changed(gpus_per_node=4), {}, FormatError, "do not make a node of ndv2"),
        (changed(alhpa=1), {}, FormatError, "did you mean 'alpha'"),
        (changed(gpus_per_node=512, name="hub and spoke"), {"boxes": "2"}, FormatError, "2 machines of 512 GPUs"),
        (PROFILE, {"boxes": "0"}, OptionError, "boxes is '0'"),
        (PROFILE, {"machine": "dgx9"}, OptionError, "machine is 'dgx9'"),
        ('{"nnodes": 2, "intranode_sketch": {}}', {}, FormatError, "is a sketch"),
    ])  # fmt: skip
    def test_faults(self, reading, text, given, error, says):
        """What does not fit is refused with its key."""
        with pytest.raises(error, match=says):
            reading(text, **given)

    def test_a_sketch_that_is_none(self, reading, tmp_path):
        """A sketch that does not say how many boxes there are is refused by name."""
        (tmp_path / "sketch.json").write_text('{"nnodes": "two"}')
        with pytest.raises(FormatError, match=r"sketch.json: nnodes is 'two'"):
            reading(PROFILE, sketch=str(tmp_path / "sketch.json"))
