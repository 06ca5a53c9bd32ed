"""Groups and pairs of NPUs as text: ``0,1;2,3`` and ``0-1,2-3``, in files, on the command line and in results."""

from __future__ import annotations

from collections.abc import Iterable

from topologies import CollectiveError

Groups = tuple[tuple[int, ...], ...]
Pairs = tuple[tuple[int, int], ...]


def groups_text(groups: Groups) -> str:
    """Return groups as an experiment file writes them: ``0,1;2,3``; ``all`` for all NPUs."""
    return ";".join(",".join(map(str, group)) for group in groups) or "all"


def pairs_text(pairs: Pairs) -> str:
    """Return pairs as the command line takes them: ``0-1,2-3``."""
    return ",".join(f"{source}-{target}" for source, target in pairs)


def groups_of(text: str) -> Groups:
    """Return the groups of ``0,1;2,3``; nothing for ``all``.

    Raises
    ------
    CollectiveError
        Another form.
    """
    return () if text == "all" else tuple(_npus(part, ",", text) for part in text.split(";"))


def pairs_of(text: str) -> Pairs:
    """Return the pairs of ``0-1,2-3``; nothing for an empty text.

    Raises
    ------
    CollectiveError
        Another form.
    """
    found = [_npus(part, "-", text) for part in text.split(",")] if text else []
    if any(len(pair) != 2 for pair in found):
        _npus("", "-", text)
    return tuple((pair[0], pair[1]) for pair in found)


def _npus(text: str, separator: str, whole: str) -> tuple[int, ...]:
    """Return the NPUs of a part of a text."""
    parts: Iterable[str] = [part.strip() for part in text.split(separator)]
    if not all(part.isdecimal() and part.isascii() and len(part) < 18 for part in parts):
        form = "NPUs in rank order, such as 0,1,2,3 or 0,1;2,3" if separator == "," else "pairs, such as 0-1,2-3"
        raise CollectiveError(f"found {whole!r}; expected {form}")
    return tuple(int(part) for part in parts)
