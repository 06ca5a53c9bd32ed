"""Random damage to files that readers take: each is read or refused in one line, never with a crash, a hang or worse.

``python tests/fuzz.py SECONDS [READER…]`` goes on for so long, shared by the readers that are registered here, and
prints how many files it tried; ``make fuzz`` does it for ten minutes. The suite tries a few for each. A reader is added
with a line in `READERS`: the texts that it starts from, and what is to be called.
"""

from __future__ import annotations

import random
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from topologies.exceptions import CollbenchError

#: Seconds after which a file counts as a hang.
HANG_S = 10

#: Pieces that are put in: what breaks parsers.
TOKENS = [
    b"", b"-1", b"0", b"1", b"2", b"255", b"65536", b"2147483648", b"99999999999999999999", b"1e308", b"nan", b"1.5",
    b'"', b"'", b"<", b">", b"/>", b"&", b"&amp;", b"&#0;", b"&#x10ffff;", b"&x;", b"<!--", b"-->", b"<![CDATA[",
    b"]]>",
    b"<!DOCTYPE x [<!ENTITY x 'xx'>]>", b"<?xml version='1.0' encoding='utf-7'?>", b"<a>" * 200, b"[" * 200, b"{" * 200,
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", "é∞".encode(), b"\n", b"\r", b"\t", b" " * 100, b"custom", b"nop",
    b"null", b"true",
]  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A reader under test.

    Attributes
    ----------
    seeds : callable
        Returns the texts that are damaged: files that the reader takes.
    read : callable
        Reads a text; may raise `CollbenchError` with a message of one line.
    """

    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes], object]


def mutated(text: bytes, chosen: random.Random) -> bytes:
    """Return a text with one to four random faults."""
    for _ in range(chosen.randint(1, 4)):
        a, b = sorted(chosen.randrange(len(text) + 1) for _ in range(2))
        near = min(len(text), a + chosen.randint(1, 12))
        what = chosen.randrange(9)
        if what == 0:  # cut off
            text = text[:a]
        elif what == 1:  # a byte
            text = text[:a] + bytes([chosen.randrange(256)]) + text[a + 1 :]
        elif what == 2:  # something lost
            text = text[:a] + text[near:]
        elif what == 3:  # something twice
            text = text[:b] + text[a : min(b, a + 2000)] + text[b:]
        elif what == 4:  # something put in
            text = text[:a] + chosen.choice(TOKENS) + text[a:]
        elif what == 5:  # something instead
            text = text[:a] + chosen.choice(TOKENS) + text[near:]
        elif what == 6:  # another number
            digits = [i for i in range(a, min(len(text), a + 300)) if text[i : i + 1].isdigit()]
            for i in digits[:1]:
                text = text[:i] + chosen.choice(TOKENS[1:12]) + text[i + 1 :]
        else:  # lines lost, or moved
            lines = text.split(b"\n")
            i, j = (chosen.randrange(len(lines)) for _ in range(2))
            line = lines.pop(i)
            text = b"\n".join(lines if what == 7 else [*lines[:j], line, *lines[j:]])
    return text


def attempt(reader: Reader, text: bytes) -> str:
    """Return how a reader refuses a text, nothing if it takes it; AssertionError for all but one line of a refusal."""
    try:
        with _limit():
            reader.read(text)
        return ""
    except CollbenchError as error:
        message = str(error)
    assert message
    assert "\n" not in message
    assert len(message) < 1000, message
    return message


@contextmanager
def _limit():
    """Raise TimeoutError in what takes too long, where the system can."""

    def late(*_):
        raise TimeoutError(f"not done after {HANG_S} s")

    previous = signal.signal(signal.SIGALRM, late)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def _msccl_seeds() -> list[bytes]:
    """Return exported algorithms, one by hand, and public files where they are."""
    from schedules.msccl import export_msccl
    from tests.schedules.msccl.samples import BY_HAND, CASES, made

    public = [path.read_bytes() for path in sorted(CASES.glob("*.xml"))] if CASES.is_dir() else []
    small = [export_msccl(made("ring", "ring:4", kind), "x").encode() for kind in ("all_reduce", "reduce_scatter")]
    return [BY_HAND.encode(), *small, *public]


def _read_msccl(text: bytes) -> None:
    """Read an algorithm, judge it, and take it over as a schedule if it is right."""
    from schedules import verify
    from schedules.msccl import judge, parse_msccl, schedule_of
    from topologies import fully_connected

    algorithm = parse_msccl(text)
    verdict = judge(algorithm)
    assert "\n" not in verdict.reason
    if verdict.status == "valid" and len(algorithm.gpus) > 1:
        verify(schedule_of(algorithm, fully_connected(len(algorithm.gpus))))


def _teccl_seeds() -> list[bytes]:
    """Return flows with a demand and without."""
    from tests.schedules.teccl.samples import RING, TEXT, flows_file

    return [TEXT.encode(), flows_file(RING).encode()]


def _read_teccl(text: bytes) -> None:
    """Read flows, and take them over as a schedule if they are right."""
    from schedules import verify
    from schedules.teccl import connections_of, parse_teccl, schedule_of

    flows = parse_teccl(text)
    if len(flows.gpus) < 100:
        verify(schedule_of(flows, connections_of(flows)))


def _topology_seeds() -> list[bytes]:
    """Return a file of each format, and public files where they are."""
    from tests.topologies.readers.samples import CASES, SAMPLES

    public = [path.read_bytes() for path in sorted(CASES.glob("*"))] if CASES.is_dir() else []
    return [text.encode() for texts in SAMPLES.values() for text, _ in texts] + public


def _read_topology(text: bytes) -> None:
    """Read a topology file, with what it may not say."""
    from topologies import TopologyWarning
    from topologies.readers import FORMATS, read_source
    from topologies.readers.source import Source, decoded

    known = decoded("x", text)
    given = {
        "gpu": "MI250",
        "latency": "1us",
        "bandwidth": "25GB/s",
        "unit": "Gbps",
        "machine": "ndv2",
        "boxes": "2",
        "nic": "25GB/s",
    }
    keys = next((form.keys for form in FORMATS if form.part("recognises")(known)), frozenset())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TopologyWarning)
        read_source(Source("x", known, {key: given[key] for key in given.keys() & keys}))


#: Every reader of files that others write.
READERS = {
    "topologies": Reader(_topology_seeds, _read_topology),
    "msccl": Reader(_msccl_seeds, _read_msccl),
    "teccl": Reader(_teccl_seeds, _read_teccl),
}


def main(seconds: float, names: list[str]) -> int:
    """Fuzz each reader for its share of the time; return an exit status."""
    chosen = names or list(READERS)
    for name in chosen:
        reader, seeds = READERS[name], READERS[name].seeds()
        end, tried, taken = time.monotonic() + seconds / len(chosen), 0, 0
        while time.monotonic() < end:
            text = mutated(random.Random(f"{name} {tried}").choice(seeds), random.Random(tried))
            try:
                taken += not attempt(reader, text)
            except BaseException:
                where = Path(f"fuzz-{name}-{tried}")
                where.write_bytes(text)
                print(f"{name}: file {tried} is not read or refused in one line; it is {where}", file=sys.stderr)
                raise
            tried += 1
        print(f"{name}: {tried} files, {taken} read, {tried - taken} refused in one line")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 30, sys.argv[2:]))
