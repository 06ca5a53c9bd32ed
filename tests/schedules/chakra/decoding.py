"""Protobuf's encoding read back, for tests: fields by number, and the nodes of a trace by Chakra's schema."""

from __future__ import annotations

from types import SimpleNamespace


def number(data, at):
    """Return (value, position behind it) of a varint."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Return [(field number, value)] of a message."""
    found, at = [], 0
    while at < len(data):
        key, at = number(data, at)
        value, at = number(data, at)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        found.append((key >> 3, value))
    assert at == len(data)
    return found


def numbers(data):
    """Return packed varints."""
    found, at = [], 0
    while at < len(data):
        value, at = number(data, at)
        found.append(value)
    return found


def trace(path):
    """Return (version, nodes) of a file; a node has id, name, kind, after and its attributes."""
    data, at, messages = path.read_bytes(), 0, []
    while at < len(data):
        length, at = number(data, at)
        assert at + length <= len(data)
        messages.append(fields(data[at : at + length]))
        at += length
    ((one, version),) = messages[0]
    assert one == 1
    return version.decode(), [_node(message) for message in messages[1:]]


def _node(message):
    """Return one node."""
    single = {key: value for key, value in message if key in (1, 2, 3)}
    attributes = {}
    for key, value in message:
        if key == 10:
            (_, name), (form, content) = fields(value)
            assert form == {"is_cpu_op": 27, "comm_size": 9, "comm_type": 9}.get(name.decode(), 7)
            attributes[name.decode()] = content
    after = [dep for key, value in message if key == 5 for dep in numbers(value)]
    return SimpleNamespace(id=single.get(1, 0), name=single[2].decode(), kind=single[3], after=after, **attributes)
