"""Discovery: synthesizers are found through the entry-point group ``collbench.synthesizers``, the built-in ones too.

A plugin that cannot be imported, or is not a synthesizer, is listed with its error and harms nobody else.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from synthesizers.base import OptionsBase, Synthesizer
from topologies.exceptions import OptionError

GROUP = "collbench.synthesizers"


@dataclass(frozen=True)
class Plugin:
    """What discovery found under one name: a synthesizer, or the reason why there is none."""

    name: str
    source: str
    synthesizer: Synthesizer | None
    error: str | None = None


@cache
def discover() -> dict[str, Plugin]:
    """Return every plugin by name, in alphabetical order; broken ones carry their error."""
    found: dict[str, Plugin] = {}
    # The package that ships the built-in ones comes first, so nobody can take their names.
    entries = sorted(entry_points(group=GROUP), key=lambda entry: (_source(entry) != "collbench", _source(entry)))
    for entry in entries:
        if entry.name not in found:
            found[entry.name] = _load(entry)
        elif found[entry.name].source != _source(entry):
            taken = f"{entry.name} ({_source(entry)})"
            reason = f"the name {entry.name!r} is taken by {found[entry.name].source}; rename this plugin"
            found[taken] = Plugin(taken, _source(entry), None, reason)
    return dict(sorted(found.items()))


def available() -> dict[str, Synthesizer]:
    """Return the synthesizers that work, by name."""
    return {name: plugin.synthesizer for name, plugin in discover().items() if plugin.synthesizer is not None}


def find(name: str) -> Synthesizer:
    """Return the synthesizer of that name.

    Raises
    ------
    OptionError
        No such synthesizer (the nearest name is given), or a broken plugin (its error is given).
    """
    plugins = discover()
    if name not in plugins:
        near = difflib.get_close_matches(name.lower(), plugins, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise OptionError(f"unknown synthesizer {name!r}{hint} There are: {', '.join(plugins)}")
    plugin = plugins[name]
    if plugin.synthesizer is None:
        raise OptionError(f"synthesizer {name!r} cannot be used: {plugin.error}")
    return plugin.synthesizer


def _source(entry: EntryPoint) -> str:
    """Return the distribution that an entry point comes from."""
    return entry.dist.name if entry.dist is not None else "unknown"


def _load(entry: EntryPoint) -> Plugin:
    """Return the plugin of an entry point, whatever happens inside it."""
    try:
        loaded = entry.load()
        if not (isinstance(loaded, type) and issubclass(loaded, Synthesizer)):
            raise TypeError(f"{entry.value} is not a subclass of synthesizers.base.Synthesizer")
        synthesizer = loaded()
        name = getattr(synthesizer, "name", None)
        if name != entry.name:
            raise TypeError(f"its entry point is called {entry.name!r}, its class {name!r}")
        if not isinstance(getattr(synthesizer, "reference", None), str):
            raise TypeError("it has no reference: say which paper it follows")
        if not (isinstance(synthesizer.Options, type) and issubclass(synthesizer.Options, OptionsBase)):
            raise TypeError("its Options is not a subclass of synthesizers.base.OptionsBase")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may fail in any way, even with SystemExit
        reason = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}").strip()
        return Plugin(entry.name, _source(entry), None, reason)
    return Plugin(entry.name, _source(entry), synthesizer)
