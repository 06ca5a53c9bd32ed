"""What the tests of all readers share: a text read, and what its reader said of it."""

from __future__ import annotations

import warnings

import pytest

from topologies import TopologyWarning
from topologies.readers import read_source
from topologies.readers.source import Source


class Reading:
    """Reads texts and keeps what is said of the last one."""

    def __init__(self):
        self.said = []

    def __call__(self, text, **given):
        """Return the topology of a text, with what is given beside it."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return read_source(Source("folder/file.txt", text, given))
            finally:
                self.said = [str(warning.message) for warning in caught if warning.category is TopologyWarning]


@pytest.fixture
def reading():
    """Give a function that reads a text; `said` of it is what its reader said."""
    return Reading()
