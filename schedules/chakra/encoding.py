"""Chakra execution traces as bytes: the few messages of `et_def.proto` that a collective needs, in protobuf's encoding.

A file is a sequence of messages, each behind its length as a varint: one GlobalMetadata, then Nodes (MLCommons Chakra;
Sridharan et al., 2023). Fields are a varint of (number, wire type) and a value: wire type 0 is a varint, 2 is a length
and so many bytes. An id of 0 is left out, as proto3 does with defaults; an attribute's value of 0 is not.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Types of nodes, as numbered by the schema.
COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7

#: Version of the schema that the metadata names.
VERSION = "0.0.4"

#: The fields of an attribute's value, by the type that it has there.
_VALUES = {"int32": 7, "int64": 9, "bool": 27}


def metadata() -> bytes:
    """Return the message that opens a file."""
    return _framed(_bytes(1, VERSION.encode()))


def node(
    number: int, name: str, kind: int, after: Sequence[int] = (), attributes: Sequence[tuple[str, str, int]] = ()
) -> bytes:
    """Return a node.

    Parameters
    ----------
    number : int
        Its id, of this file.
    name : str
    kind : int
        One of `COMPUTE`, `SEND`, `RECEIVE` and `COLLECTIVE`.
    after : sequence of int
        Nodes of this file that it waits for.
    attributes : sequence of (str, str, int)
        Name, type (``int32``, ``int64`` or ``bool``) and value; not negative.
    """
    body = [_number(1, number)] if number else []
    body += [_bytes(2, name.encode()), _number(3, kind)]
    if after:
        body.append(_bytes(5, b"".join(map(varint, after))))  # repeated numbers are packed
    for label, form, value in attributes:
        body.append(_bytes(10, _bytes(1, label.encode()) + _number(_VALUES[form], value)))
    return _framed(b"".join(body))


def varint(value: int) -> bytes:
    """Return a number that is not negative as seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    """Return a field that is a varint."""
    return varint(field << 3) + varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    """Return a field that is text, a message, or packed numbers."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def _framed(message: bytes) -> bytes:
    """Return a message behind its length."""
    return varint(len(message)) + message
