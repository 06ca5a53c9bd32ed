"""Tables of links, and matrices of link counts."""

from __future__ import annotations

import pytest

from tests.topologies.readers.samples import MATRIX, TABLE
from topologies import FormatError, fully_connected, ring

HEAD = "src,dst,bandwidth_gbps,latency_us\n"


class TestTable:
    def test_units_and_order(self, reading):
        """The header or the value says the unit; NPUs are ranked by the numbers in their names."""
        topology = reading(TABLE)
        assert topology.node_names == ("0", "2", "10", "switch 0")
        assert topology.bandwidth_gbps.tolist() == [50, 50, 25, 25, 50, 50]
        assert topology.latency_us.tolist() == [0.5] * 4 + [1] * 2

    @pytest.mark.parametrize("text", [
        "Source;Target;Bandwidth [GB/s];Delay (us)\n0;1;50;0.5\n1;0;50;0.5\n",
        "from\tto\tcapacity\tlatency\n0\t1\t400Gbps\t500ns\n1\t0\t400Gbps\t500ns\n",
        '"src","dst","bandwidth_gbps","latency_us"\n"0","1",50,0.5\n# a remark\n\n1,0,50,0.5\n',
    ], ids=["semicolons", "tabs", "quotes"])  # fmt: skip
    def test_forms(self, reading, text):
        """Other delimiters, names of columns and quotes are taken too."""
        assert reading(text) == ring(2)

    def test_cables(self, reading):
        """A line is one link, or a cable where that is said; what is not in the table is given."""
        text = "src,dst\n0,1\n1,2\n2,0\n"
        assert reading(text, bandwidth="50GB/s", latency="0.5us").num_links == 3
        assert reading(text, bandwidth="50GB/s", latency="0.5us", cables="yes").num_links == 6

    @pytest.mark.parametrize(("text", "says"), [
        (HEAD + "0,1,50\n", "line 2: 3 values, the header has 4"),
        (HEAD + "0,,50,1\n", "line 2: a link without one of its ends"),
        (HEAD + "0,1,x,1\n", "line 2: the link: 'x' is no number"),
        ("src,dst,bandwidth,latency_us\n0,1,50,1\n", "has no unit.*--unit"),
        ("src,dst,bandwidth (parsecs),latency_us\n0,1,50,1\n", "unknown unit 'parsecs'"),
        ("src,dst,to\n0,1,2\n", "the column 'dst' is there twice"),
        ("src,dst,ba nd\n0,1,2\n", "column 'ba nd'"),
        (HEAD, "0 nodes"),
        (HEAD + "switch 0,switch 1,50,1\n", "2 nodes, 2 of them switches"),
    ])  # fmt: skip
    def test_faults(self, reading, text, says):
        """A line that does not fit is refused with its number."""
        with pytest.raises(FormatError, match=says):
            reading(text)


def test_comments_before_the_header(reading):
    """Comments and empty lines may stand before the header, and line numbers are those of the file."""
    text = "# links of a lab\n\nsrc,dst,bandwidth_gbps,latency_us\n0,1,50,1\n# back\n1,0,50,1\n"
    assert reading(text).num_links == 2
    with pytest.raises(FormatError, match="line 6: 3 values, the header has 4"):
        reading(text.replace("1,0,50,1", "1,0,50"))


def test_links_without_a_latency(reading):
    """Every link that takes the default is counted, also those that are alike."""
    reading("src,dst,bandwidth_gbps,latency_us\n0,1,50,\n1,0,50,\n1,2,50,1\n2,1,50,1\n2,0,25,\n0,2,50,\n")
    assert reading.said[0].startswith("file.txt: 4 links without a latency have 0.5 us, the default")


class TestMatrix:
    def test_counts(self, reading):
        """Row i, column j counts links from NPU i to NPU j; the diagonal is left out and named."""
        assert reading("0,1,1\n1,0,1\n1,1,0\n", bandwidth="25GB/s", latency="1us") == fully_connected(3, 25.0, 1.0)
        assert reading(MATRIX, gpu="MI250").num_links == 8
        reading("2,1\n1,0,\n", gpu="MI250")
        assert reading.said == ["file.txt: left out links from an NPU to itself (1): NPU 0 ×2"]

    @pytest.mark.parametrize(("text", "says"), [
        (MATRIX, "does not say what a link carries.*--gpu MI250"),
        ("0,1,1\n1,0,1\n", "3 values in a matrix of 2 rows"),
        ("0,1\n1,0\nx,1\n", "line 1: 2 values in a matrix of 3 rows"),
        ("0,1\n9999,0\n", "'9999'; expected a number of links"),
        ("0,1,0\n1,0,0\n0,0,0\n", "no link to another GPU has NPU 2"),
    ])  # fmt: skip
    def test_faults(self, reading, text, says):
        """A matrix that is not square, absurd or leaves an NPU alone is refused."""
        with pytest.raises(FormatError, match=says):
            reading(text)
