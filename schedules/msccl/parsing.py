"""Reading MSCCL XML, from whomever: the text becomes an `Algorithm`, or one line says what is wrong and on which line.

The parser keeps nothing but the elements that it knows; a document type (and with it every entity), deep nesting,
endless attributes and counts that no machine has are refused where they stand, before anything is made of them. Files
in the wild lack attributes and hold elements of other tools: what is missing has a default where one is safe, what is
unknown is passed over.
"""

from __future__ import annotations

import os
import re
from xml.parsers import expat

from schedules.msccl.algorithm import (
    COLLECTIVES,
    MAX_CHUNKS,
    RECEIVES,
    SENDS,
    SPELLINGS,
    TYPES,
    Algorithm,
    Gpu,
    Step,
    Threadblock,
)
from topologies.exceptions import FormatError
from topologies.readers.xml_tree import first_element
from topologies.reading import read_bytes

#: Most of each thing that is read: far past what a GPU runs, so that whatever is refused here is damage.
MAX_BYTES = 2**28
MAX_GPUS = 2**14
MAX_MOVED = 2**21
_MAX_DEPTH = 16

#: What may hold what.
_PARENT = {"gpu": "algo", "tb": "gpu", "step": "tb"}


class MscclFormatError(FormatError):
    """A file that is no algorithm; `line` is where.

    Attributes
    ----------
    line : int
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


#: Bytes in which the first element of a file begins, comments before it included.
_START = 2**16


def is_msccl_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like MSCCL XML, whole or not."""
    try:
        with open(path, "rb") as file:
            return looks_like_msccl(file.read(_START))
    except OSError:
        return False


def looks_like_msccl(start: bytes) -> bool:
    """Return whether a text's start is that of MSCCL XML: its first element, after comments, is ``algo``."""
    return first_element(start.decode("utf-8", "replace").removeprefix("\ufeff")) == "algo"


def load_msccl(path: str | os.PathLike[str]) -> Algorithm:
    """Return the algorithm of a file.

    Raises
    ------
    FormatError
        The file cannot be read, or says something that no algorithm can; the message names file and line.
    """
    text = read_bytes(path, MAX_BYTES)
    try:
        return parse_msccl(text)
    except MscclFormatError as error:
        named = MscclFormatError("", error.line)
        named.args = (f"{path}, {error}",)
        raise named from None


def parse_msccl(text: bytes | str) -> Algorithm:
    """Return the algorithm of a text.

    Raises
    ------
    MscclFormatError
        The text is no well-formed XML, or says something that no algorithm can.
    """
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise MscclFormatError(f"the file is longer than {MAX_BYTES} bytes, which no algorithm needs", 1)
    reading = _Reading()
    try:
        reading.parser.Parse(raw, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        if what == "junk after document element":
            what = "a second root element, or text, after the end of <algo>"
        raise MscclFormatError(f"malformed XML: {what}", error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        if isinstance(error, MscclFormatError):
            raise
        raise MscclFormatError(f"malformed XML: {error}", 1) from None
    if reading.algorithm is None:
        raise MscclFormatError("expected <algo> as the root element", 1)
    return reading.algorithm


class _Reading:
    """The state of one reading: what is open, and what has been closed."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.algorithm: Algorithm | None = None
        self._open: list[str] = []
        self._attributes: dict[str, tuple[_Attributes, int]] = {}
        self._gpus: dict[int, Gpu] = {}
        self._blocks: dict[int, Threadblock] = {}
        self._steps: list[Step] = []
        self._moved = 0

    @property
    def _line(self) -> int:
        """The line that the parser is at."""
        return self.parser.CurrentLineNumber

    def _doctype(self, *_: object) -> None:
        """Refuse a document type: it is the only way to entities."""
        raise MscclFormatError("has a document type (<!DOCTYPE>); expected none: no algorithm needs one", self._line)

    def _start(self, element: str, attributes: dict[str, str]) -> None:
        """Note an element that begins."""
        if not self._open and element != "algo":
            raise MscclFormatError(f"expected <algo> as the root element, found <{element:.40}>", self._line)
        if len(self._open) >= _MAX_DEPTH:
            raise MscclFormatError(f"elements are nested more than {_MAX_DEPTH} deep", self._line)
        parent = self._open[-1] if self._open else ""
        if element in _PARENT and parent != _PARENT[element]:
            raise MscclFormatError(
                f"<{element}> stands in <{parent:.40}>; expected in <{_PARENT[element]}>", self._line
            )
        self._open.append(element)
        if element == "algo" and parent:
            raise MscclFormatError("<algo> stands in another element; expected it as the root", self._line)
        if element in _PARENT or element == "algo":
            self._attributes[element] = _Attributes(element, attributes, self._line), self._line

    def _end(self, element: str) -> None:
        """Make what an element that ends is."""
        self._open.pop()
        if element == "step":
            self._steps.append(self._step())
        elif element == "tb":
            given, line = self._attributes["tb"]
            number = given.number("id")
            if number in self._blocks:
                raise MscclFormatError(f"threadblock {number} of this gpu is there twice", line)
            self._blocks[number] = Threadblock(
                given.number("send", -1), given.number("recv", -1), given.number("chan", 0), tuple(self._steps), line
            )
            self._steps = []
        elif element == "gpu":
            given, line = self._attributes["gpu"]
            number = given.number("id")
            if number in self._gpus:
                raise MscclFormatError(f"gpu {number} is there twice", line)
            into, out, scratch = (given.number(name, 0, 0, MAX_CHUNKS) for name in ("i_chunks", "o_chunks", "s_chunks"))
            blocks = _in_order(self._blocks, f"threadblocks of gpu {number}", line)
            self._gpus[number] = Gpu(into, out, scratch, blocks, line)
            self._blocks = {}
        elif element == "algo":
            self.algorithm = self._whole()

    def _step(self) -> Step:
        """Return the step that ends."""
        given, line = self._attributes["step"]
        kind = given.text("type")
        if kind not in TYPES:
            raise MscclFormatError(f"step of type {kind!r:.40}; expected one of {', '.join(TYPES)}", line)
        if given.number("s", len(self._steps)) != len(self._steps):
            raise MscclFormatError(
                f"step s={given.number('s')} stands where step {len(self._steps)} is expected: steps are numbered from "
                "0 in the order in which they stand", line,
            )  # fmt: skip
        nothing = kind == "nop"
        count = given.number("cnt", 0 if nothing else None, 0 if nothing else 1, MAX_CHUNKS)
        count = 0 if nothing else count  # some write 1, and mean nothing by it
        self._moved += count
        if self._moved > MAX_MOVED:
            raise MscclFormatError(f"the steps move more than {MAX_MOVED} chunks in all, which is not read", line)
        # Offsets that a type of step does not use mean nothing and may be missing.
        return Step(
            kind, given.text("srcbuf", "i"), given.number("srcoff", -1), given.text("dstbuf", "o"),
            given.number("dstoff", -1), count, given.number("depid", -1), given.number("deps", -1),
            given.number("hasdep", 0, 0, 1) == 1, line,
        )  # fmt: skip

    def _whole(self) -> Algorithm:
        """Return the algorithm whose root element ends."""
        given, line = self._attributes["algo"]
        collective = given.text("coll")
        collective = SPELLINGS.get(collective, collective)
        if collective not in COLLECTIVES:
            known = ", ".join(COLLECTIVES)
            raise MscclFormatError(f"coll is {collective!r:.40}; expected one of {known}", line)
        count = given.number("ngpus", None, 1, MAX_GPUS)
        gpus = _in_order(self._gpus, "gpus", line)
        if len(gpus) != count:
            raise MscclFormatError(f"ngpus is {count}; found {len(gpus)} <gpu> elements", line)
        in_place = given.number("inplace", 0, 0, 1) == 1
        result = Algorithm(
            given.text("name", ""), given.text("proto", "Simple"), collective,
            given.number("nchannels", 1 + max((b.channel for gpu in gpus for b in gpu.threadblocks), default=0), 1),
            given.number("nchunksperloop", None, 1, MAX_CHUNKS), in_place,
            given.number("outofplace", int(not in_place), 0, 1) == 1, gpus,
            given.number("root", -1, -1, count - 1) if "root" in given.values else None,
            given.number("minBytes", 0, 0, 2**62), given.number("maxBytes", 0, 0, 2**62),
        )  # fmt: skip
        _check_peers(result)
        return result


class _Attributes:
    """The attributes of one element, read with their types."""

    def __init__(self, element: str, values: dict[str, str], line: int) -> None:
        self.values = values
        self._element = element
        self._line = line

    def text(self, name: str, default: str | None = None) -> str:
        """Return an attribute as it stands."""
        value = self.values.get(name, default)
        if value is None:
            raise MscclFormatError(f"<{self._element}> has no attribute {name!r}; expected one", self._line)
        return value

    def number(self, name: str, default: int | None = None, least: int = -1, most: int = 10**9) -> int:
        """Return an attribute as a number within limits."""
        text = self.text(name, None if default is None else str(default))
        digits = 19 if most > 10**9 else 9
        if not re.fullmatch(rf"\s*-?[0-9]{{1,{digits}}}\s*", text, re.ASCII) or not least <= int(text) <= most:
            raise MscclFormatError(
                f"{name} of <{self._element}> is {text!r:.40}; expected a whole number from {least} to {most}",
                self._line,
            )
        return int(text)


def _in_order(found: dict, what: str, line: int) -> tuple:
    """Return what was found by number, which must go from 0 without a gap."""
    for number in range(len(found)):
        if number not in found:
            raise MscclFormatError(f"the {what} are not numbered from 0 without a gap: {number} is missing", line)
    return tuple(found[number] for number in range(len(found)))


def _check_peers(algorithm: Algorithm) -> None:
    """Refuse peers and channels that are not there, and steps that send or receive where nothing is to be."""
    for number, gpu in enumerate(algorithm.gpus):
        for index, block in enumerate(gpu.threadblocks):
            where = f"gpu {number} tb {index}"
            for name, peer in (("send", block.send), ("recv", block.recv)):
                if peer >= len(algorithm.gpus) or peer == number:
                    raise MscclFormatError(
                        f"{where}: {name} is {peer}; expected another of the {len(algorithm.gpus)} gpus, or -1",
                        block.line,
                    )
            if not 0 <= block.channel < algorithm.channels:
                raise MscclFormatError(
                    f"{where}: chan is {block.channel}; nchannels is {algorithm.channels}", block.line
                )
            for position, step in enumerate(block.steps):
                for name, kinds, peer in (("send", SENDS, block.send), ("recv", RECEIVES, block.recv)):
                    if step.kind in kinds and peer < 0:
                        raise MscclFormatError(
                            f"{where} step {position} ({step.kind}): its threadblock has {name}=\"-1\", no gpu to "
                            f"{'send to' if name == 'send' else 'receive from'}", step.line,
                        )  # fmt: skip
