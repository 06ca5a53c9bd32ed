"""Network files of ASTRA-sim's analytical back end (YAML): a building block, a size and values for each dimension.

Unit rule: a bandwidth of 1 is 1 GB/s of 2^30 B/s, of each link each way (of each NPU's port in a Switch dimension); a
latency of 1 is 1 ns for each hop. A ring of 2 is one cable. Comments are not read: only values count.
"""

from __future__ import annotations

import math
import re

from topologies.exceptions import TopologyError
from topologies.product import product
from topologies.readers.source import Source
from topologies.shape import shortened
from topologies.topology import Topology

BLOCKS = {"ring": "r", "fullyconnected": "f", "switch": "s"}
_KEYS = ("topology", "npus_count", "bandwidth", "latency")
_MAX_TEXT = 2**18
_MAX_DIMENSIONS = 16
_MAX_LINKS = 2**20


def recognises(text: str) -> bool:
    """Return whether a text has a line ``topology:`` and one of the other keys at the beginning of lines."""
    start = text[:65536]
    return bool(re.search(r"^topology\s*:", start, re.MULTILINE)) and bool(
        re.search(r"^(npus_count|bandwidth|latency)\s*:", start, re.MULTILINE)
    )


def read(source: Source) -> Topology:
    """Return the topology of a file.

    Raises
    ------
    FormatError
        No such YAML, a key that is missing or there twice, a value that is no number (``tbd``), another number of
        values than of dimensions.
    """
    values = _values(source)
    missing = [key for key in _KEYS if key not in values]
    if missing:
        raise source.error(f"has no {missing[0]}; expected the keys {', '.join(_KEYS)}")
    unknown = [key for key in values if key not in _KEYS]
    source.dropped("keys that say nothing of a network", unknown)
    dimensions = len(values["topology"])
    if not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise source.error(f"topology has {dimensions} dimensions; expected 1 to {_MAX_DIMENSIONS}")
    for key in _KEYS:
        if len(values[key]) != dimensions:
            raise source.error(f"{key} has {len(values[key])} values, topology {dimensions}; expected as many")
    letters = ""
    for word in values["topology"]:
        if word.lower() not in BLOCKS:
            raise source.error(f"topology is {shortened(word)!r}; expected Ring, FullyConnected or Switch")
        letters += BLOCKS[word.lower()]
    sizes = [int(_number(source, "npus_count", text, whole=True)) for text in values["npus_count"]]
    npus = math.prod(sizes)
    links = npus * sum(size - 1 if letter == "f" else 2 for letter, size in zip(letters, sizes, strict=True))
    if links > _MAX_LINKS:
        raise source.error(f"{npus} NPUs and {links} links; expected at most {_MAX_LINKS} links")
    bandwidths = [_number(source, "bandwidth", text) * 2**30 / 1e9 for text in values["bandwidth"]]
    latencies = [_number(source, "latency", text) / 1000 for text in values["latency"]]
    try:
        return product(letters, sizes, bandwidths, latencies)
    except TopologyError as error:
        raise source.error(shortened(str(error), 300)) from None


def _number(source: Source, key: str, text: str, whole: bool = False) -> float:
    """Return a value of a key as a number."""
    form = r"[0-9]{1,9}" if whole else r"[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,2})?"
    if not re.fullmatch(form, text, re.ASCII) or not re.match(r"\.?[0-9]", text, re.ASCII):
        wanted = "a whole number of at most nine digits" if whole else "a number"
        raise source.error(f"{key} is {shortened(text, 40)!r}; expected {wanted} for each dimension: fill it in")
    return float(text)


def _values(source: Source) -> dict[str, list[str]]:
    """Return key → its values as they stand; one level of lists, so that nothing deep is ever built."""
    import yaml

    if len(source.text) > _MAX_TEXT:
        raise source.error(f"is longer than {_MAX_TEXT} characters; expected a network file of ASTRA-sim")
    found: dict[str, list[str]] = {}
    key: str | None = None
    depth, documents = 0, 0
    try:
        for event in yaml.parse(source.text, Loader=yaml.SafeLoader):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise source.error("has several documents; expected one", line)
            elif isinstance(event, yaml.AliasEvent):
                raise source.error("has an alias (*name); expected values in their place", line)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                depth += 1
                if (
                    depth > 2
                    or isinstance(event, yaml.MappingStartEvent) != (depth == 1)
                    or (depth == 2 and key is None)
                ):
                    raise source.error("is nested otherwise than expected: keys with a value or a list of values", line)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                depth -= 1
                key = None
            elif isinstance(event, yaml.ScalarEvent):
                if depth == 0:
                    raise source.error("is no mapping; expected keys with values", line)
                if key is None:
                    key = event.value
                    if key in found:
                        raise source.error(f"{shortened(key, 40)!r} stands twice; expected once", line)
                    found[key] = []
                else:
                    found[key].append(event.value)
                    key = key if depth == 2 else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise source.error(f"not YAML: {error.problem or error.context}", mark.line + 1 if mark else 1) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise source.error(f"not YAML: {shortened(' '.join(str(error).split()), 200)}") from None
    return found
