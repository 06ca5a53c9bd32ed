"""HTML in which text stays text: names and reasons are anybody's, so whatever is not markup already is escaped."""

from __future__ import annotations

from html import escape

#: Elements that have no end tag.
_EMPTY = ("br", "hr", "input", "meta")


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
    *children : str
        `Markup` as it is, other text escaped.
    **attributes : str
        Underscores stand for hyphens, and one at the end is left out (``class_``).
    """
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    if name in _EMPTY:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{together(*children)}</{name}>")


def together(*children: str) -> Markup:
    """Return elements and text, one after the other."""
    return Markup("".join(child if isinstance(child, Markup) else escape(child) for child in children))
