"""Quantities with units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies import (
    UnitError,
    format_bandwidth,
    format_bytes,
    format_time,
    parse_bandwidth,
    parse_bytes,
    parse_per_dimension,
    parse_time,
)


class TestParseBytes:
    @pytest.mark.parametrize(
        ("text", "size"),
        [("1GiB", 2**30), ("256MB", 256 * 10**6), ("0B", 0), ("1.5KiB", 1536), ("1e3 B", 1000), ("1kB", 1000)],
    )
    def test_values(self, text, size):
        """Decimal and binary prefixes are exact."""
        assert parse_bytes(text) == size

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("12", "size '12' has no unit: expected one such as 1GiB"),
            ("GiB", "expected a number with a unit"),
            ("1GX", "unknown unit 'GX'; expected one of B, GB"),
            ("8b", "unknown unit 'b'"),
            ("-1B", "is negative: expected 0B or more"),
            ("0.5B", "is not a whole number of bytes"),
            ("1e30GB", "is too large"),
            ("1e999999999B", "size '1e999999999B': unknown unit"),
            ("9" * 5000 + "B", "expected a number with a unit|unknown unit"),
        ],
    )
    def test_refusals(self, text, message):
        """The message names the text and what was expected, and no text takes long."""
        with pytest.raises(UnitError, match=message):
            parse_bytes(text)


class TestParseBandwidth:
    @pytest.mark.parametrize(
        ("text", "gbps"),
        [("50GB/s", 50.0), ("50GiB/s", 53.6870912), ("400Gbps", 50.0), ("8bps", 1e-9), ("1e3 MB/s", 1.0)],
    )
    def test_values(self, text, gbps):
        """GB/s is 1e9 bytes per second, GiB/s 2^30, and bits are an eighth."""
        assert parse_bandwidth(text) == gbps

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("50", "bandwidth '50' has no unit"),
            ("50GB", "unknown unit 'GB'"),
            ("8b/s", "unknown unit 'b/s'"),
            ("0GB/s", "expected more than zero"),
            ("1e400GB/s", "is too large: expected at most 1e9GB/s"),
        ],
    )
    def test_refusals(self, text, message):
        """Bits written as b/s are not taken for bytes."""
        with pytest.raises(UnitError, match=message):
            parse_bandwidth(text)

    @given(st.floats(1e-9, 1e9))
    def test_format_round_trip(self, gbps):
        """A formatted bandwidth parses back to the same float."""
        assert parse_bandwidth(format_bandwidth(gbps)) == gbps


class TestParseTime:
    @pytest.mark.parametrize(
        ("text", "us"), [("0.5us", 0.5), ("500ns", 0.5), ("2ms", 2000.0), ("1µs", 1.0), ("3ps", 3e-6)]
    )
    def test_values(self, text, us):
        """All units give microseconds."""
        assert parse_time(text) == us

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1", "time '1' has no unit"),
            ("1min", "unknown unit 'min'"),
            ("-1us", "is negative"),
            ("1e400s", "is too long: expected at most 1e12us"),
        ],
    )
    def test_refusals(self, text, message):
        """The message names the text and what was expected."""
        with pytest.raises(UnitError, match=message):
            parse_time(text)

    @given(st.floats(0, 1e12))
    def test_format_round_trip(self, us):
        """A formatted time parses back to the same float."""
        assert parse_time(format_time(us)) == us


class TestParsePerDimension:
    def test_one_unit_or_one_each(self):
        """The last unit serves the parts that have none."""
        assert parse_per_dimension("50x75GB/s", parse_bandwidth, "bandwidth") == [50.0, 75.0]
        assert parse_per_dimension("50GB/s x 400Gbps", parse_bandwidth, "bandwidth") == [50.0, 50.0]
        assert parse_per_dimension("1e1x2GB/s", parse_bandwidth, "bandwidth") == [10.0, 2.0]

    @pytest.mark.parametrize("text", ["", "x", "50xGB/s", "50x"])
    def test_refuses_missing_numbers(self, text):
        """A part without a number is refused."""
        with pytest.raises(UnitError, match="bandwidth '.*': expected numbers joined by x"):
            parse_per_dimension(text, parse_bandwidth, "bandwidth")

    def test_refuses_missing_units(self):
        """Numbers without any unit are refused."""
        with pytest.raises(UnitError, match="bandwidth '50' has no unit"):
            parse_per_dimension("50x75", parse_bandwidth, "bandwidth")


class TestFormatBytes:
    @given(st.integers(0, 2**62))
    def test_round_trip(self, size):
        """A formatted size parses back to the same number."""
        assert parse_bytes(format_bytes(size)) == size

    def test_values(self):
        """The largest unit that divides is taken."""
        assert [format_bytes(size) for size in (0, 17, 2**30, 10**9)] == ["0B", "17B", "1GiB", "1GB"]
