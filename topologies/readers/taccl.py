"""TACCL's link profiles as networks: the machine that the profile is of, and how many of it.

Unit rule: costs are µs for one chunk of 1 MB, β for its bytes and α + β in all (`taccl_profile`). The machine is that
of the profile's name (``NDv2_1MB``), or a custom one where it has matrices; the number of boxes is that of the sketch
(its `nnodes`) or is given, and 1 without either.
"""

from __future__ import annotations

import re

from topologies.exceptions import CollbenchError, FormatError, OptionError
from topologies.readers.json_text import parse_json
from topologies.readers.source import Source, read_text
from topologies.readers.taccl_profile import parse_profile, profile_topology
from topologies.topology import Topology

_MACHINES = ("ndv2", "dgx2", "hub_and_spoke", "custom")
_MAX_BOXES, _MAX_LINKS = 1024, 2**18


def recognises(text: str) -> bool:
    """Return whether a text is JSON with the keys of a profile, or of a sketch."""
    return (
        text.lstrip().startswith("{")
        and re.search(r'"(gpus_per_node|node_betas_list|intranode_sketch)"', text) is not None
    )


def read(source: Source) -> Topology:
    """Return the topology of a profile.

    Raises
    ------
    FormatError
        A sketch instead of a profile, a profile with a fault, or one that does not say which machine it is of.
    OptionError
        What is given and is wrong.
    """
    content = parse_json(source)
    if isinstance(content, dict) and "intranode_sketch" in content:
        raise source.error("is a sketch, which says how to synthesize, not what the network is; expected the profile "
                           "beside it: PROFILE@sketch=SKETCH, and the sketch as option of taccl")  # fmt: skip
    try:
        profile = parse_profile(source.text, source.path)
    except OptionError as error:  # of an option of the synthesizer; here it is the file that is wrong
        raise FormatError(str(error)) from None
    machine = source.choice("machine", _MACHINES)
    if machine is None:
        word = re.sub(r"[^a-z0-9]", "", profile.name.lower())
        machine = next((name for name in _MACHINES if word.startswith(name.replace("_", ""))), None)
        machine = "custom" if profile.links else machine
    if machine is None:
        raise source.error(f"profile {profile.name!r:.40} does not say which machine it is of; give it, "
                           f"{source.ask('machine')}")  # fmt: skip
    boxes = source.number("boxes", _of_sketch(source), _MAX_BOXES)
    gpus, nics = profile.gpus_per_node, profile.nics_per_node
    links = sum(map(sum, profile.links)) if machine == "custom" else gpus**2
    if boxes * (links + 4 * gpus + 4 * nics) > _MAX_LINKS:
        raise source.error(f"{boxes} machines of {gpus} GPUs, {nics} NICs and {links} links each; expected at most "
                           f"{_MAX_LINKS} links in all")  # fmt: skip
    try:
        return profile_topology(profile, machine, boxes)
    except CollbenchError as error:
        raise source.error(str(error)) from None


def _of_sketch(source: Source) -> int:
    """Return how many boxes the sketch is for; 1 without one."""
    path = source.given.get("sketch")
    if path is None:
        return 1
    sketch = Source(path, read_text(path))
    content = parse_json(sketch)
    boxes = content.get("nnodes") if isinstance(content, dict) else None
    if not isinstance(boxes, int) or isinstance(boxes, bool) or not 1 <= boxes <= _MAX_BOXES:
        raise sketch.error(f"nnodes is {boxes!r:.40}; expected a sketch of 1 to {_MAX_BOXES} boxes")
    return boxes
