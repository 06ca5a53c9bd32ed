"""The player as text: its script and style, for a page that holds players, and a page of its own.

The script is written in parts, one idea each. Together they are one function, so that a page gets one new name only.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

_FOLDER = Path(__file__).parent

#: In the order in which they build on each other.
_PARTS = ("text", "model", "theme", "canvas", "topology", "gantt", "controls", "lists", "pointer", "player")


def _read(name: str) -> str:
    """Return a file of this package."""
    return (_FOLDER / name).read_text(encoding="utf-8")


#: Defines ``collbenchPlayer(element, data)``; see `player.js`.
SCRIPT = (
    'var collbenchPlayer = (() => {\n"use strict";\n\n'
    + "\n".join(_read(f"{part}.js") for part in _PARTS)
    + "\nreturn collbenchPlayer;\n})();\n"
)

#: All rules are for what is inside an element of class ``player``.
STYLE = _read("player.css")


def script_json(content: object) -> str:
    """Return JSON that may stand in a script element: nothing in it can end the element."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def standalone(data: Mapping[str, Any]) -> str:
    """Return a page that holds a player and nothing else; it needs no other file and no network.

    Parameters
    ----------
    data : mapping
        What `player_data` returns.
    """
    title = " · ".join(filter(None, (data["name"], data["title"])))
    return Template(_read("page.html.template")).substitute(
        title=html.escape(title), style=STYLE, script=SCRIPT, data=script_json(data)
    )
