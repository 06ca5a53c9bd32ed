"""XML as a tree of small elements, safe to read from anybody.

A document type, and with it every entity, is refused where it stands; so are deep nesting and endless elements, before
anything is made of them. Namespaces are left out: formats are told apart by the names of their elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from topologies.exceptions import FormatError
from topologies.readers.source import Source

_MAX_DEPTH = 64
_MAX_ELEMENTS = 2**22


@dataclass
class Element:
    """An element: its name, attributes, the line that it begins on, what is inside."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def walk(self) -> Iterator[Element]:
        """Yield the element and all inside, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


def first_element(text: str) -> str | None:
    """Return the name of the first element, after comments, instructions and a document type; None before one."""
    # Possessive: what has been passed over is not tried again, so that hostile starts cost no time.
    before = r"(?>\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*+(\[.*?\]\s*+)?>)*+"
    found = re.match(rf"{before}<(?P<name>\w++)", text, re.DOTALL)
    return found["name"] if found else None


def parse_xml(source: Source) -> Element:
    """Return the root element of a file.

    Raises
    ------
    FormatError
        It is not well formed, holds a document type, or is nested or long beyond any topology; names the line.
    """
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    root: list[Element] = []
    stack: list[Element] = []
    texts: list[list[str]] = []  # of the elements that are open
    count = 0

    def refuse(message: str) -> NoReturn:
        raise source.error(message, parser.CurrentLineNumber)

    def doctype(*_: object) -> None:
        refuse("has a document type (<!DOCTYPE>); expected none: no topology needs one")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) >= _MAX_DEPTH:
            refuse(f"elements are nested more than {_MAX_DEPTH} deep")
        if count > _MAX_ELEMENTS:
            refuse(f"more than {_MAX_ELEMENTS} elements")
        element = Element(name.rpartition(":")[2], attributes, parser.CurrentLineNumber)
        (stack[-1].children if stack else root).append(element)
        stack.append(element)
        texts.append([])

    def end(_: str) -> None:
        # Joined once: a text that grows piece by piece would be copied as often as it has pieces.
        stack.pop().text = "".join(texts.pop())

    def characters(text: str) -> None:
        if texts:
            texts[-1].append(text)

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    try:
        parser.Parse(source.text.encode(), True)
    except FormatError:
        raise
    except expat.ExpatError as error:
        raise source.error(f"malformed XML: {expat.ErrorString(error.code)}", error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        raise source.error(f"malformed XML: {error}") from None
    return root[0]
