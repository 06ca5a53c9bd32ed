"""Discovery: synthesizers are found through the entry-point group ``collbench.synthesizers``, the built-in ones too.

A plugin that cannot be imported, never finishes importing, or is not a synthesizer, is listed with its error and harms
nobody else.
"""

from __future__ import annotations

import difflib
import re
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from synthesizers.base import OptionsBase, Synthesizer
from synthesizers.import_limit import import_limit
from topologies.exceptions import CollbenchError, OptionError

GROUP = "collbench.synthesizers"

#: The distribution that ships the built-in ones.
OURS = "collbench"

#: What the name of a file's algorithm begins with.
FILE = "file:"


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
    return {name: _plugin(entry, taken) for name, (entry, taken) in _entries().items()}


def names() -> list[str]:
    """Return the names of all plugins, broken or not, without importing any."""
    return list(_entries())


def require_known(name: str) -> None:
    """Refuse a name that no plugin has, without importing any.

    Raises
    ------
    OptionError
        No such plugin; the nearest name is given.
    """
    if name not in names():
        raise _unknown(name, names())


def load(name: str) -> Plugin:
    """Return one plugin without importing the others, which may be slow or worse; ``file:PATH`` is that of a file.

    Raises
    ------
    OptionError
        No such plugin; the nearest name is given.
    """
    if name.startswith(FILE):
        return _of_file(name)
    require_known(name)
    return _plugin(*_entries()[name])


def _entries() -> dict[str, tuple[EntryPoint, str | None]]:
    """Return the entry point of each name, and who has taken its name if somebody has."""
    found: dict[str, tuple[EntryPoint, str | None]] = {}
    # The package that ships the built-in ones comes first, so nobody can take their names.
    entries = sorted(entry_points(group=GROUP), key=lambda entry: (_source(entry) != OURS, _source(entry)))
    for entry in entries:
        if entry.name not in found:
            found[entry.name] = (entry, None)
        elif (owner := _source(found[entry.name][0])) != _source(entry):
            found[f"{entry.name} ({_source(entry)})"] = (entry, owner)
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
    plugins = discover() if not name.startswith(FILE) else {name: _of_file(name)}
    if name not in plugins:
        raise _unknown(name, list(plugins))
    plugin = plugins[name]
    if plugin.synthesizer is None:
        raise OptionError(f"synthesizer {name!r} cannot be used: {plugin.error}")
    return plugin.synthesizer


def _unknown(name: str, there: list[str]) -> OptionError:
    """Return the error for a name that no plugin has."""
    near = difflib.get_close_matches(name.lower(), there, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return OptionError(f"unknown synthesizer {name!r}{hint} There are: {', '.join(there)}")


def _source(entry: EntryPoint) -> str:
    """Return the distribution that an entry point comes from."""
    return entry.dist.name if entry.dist is not None else "unknown"


def _of_file(name: str) -> Plugin:
    """Return the algorithm of a file as a plugin."""
    from synthesizers.outside import Outside

    try:
        return Plugin(name, "a file", Outside(name.removeprefix(FILE)))
    except CollbenchError as error:
        return Plugin(name, "a file", None, str(error))


def _plugin(entry: EntryPoint, taken: str | None) -> Plugin:
    """Return the plugin of an entry point; one whose name somebody has taken is not loaded."""
    if taken is None:
        return _load(entry)
    reason = f"the name {entry.name!r} is taken by {taken}; rename this plugin"
    return Plugin(f"{entry.name} ({_source(entry)})", _source(entry), None, reason)


def _load(entry: EntryPoint) -> Plugin:
    """Return the plugin of an entry point, whatever happens inside it."""
    try:
        # What a plugin prints while it is imported is no answer of a command.
        with import_limit(), redirect_stdout(sys.stderr):
            return Plugin(entry.name, _source(entry), _synthesizer(entry))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may fail in any way, even with SystemExit
        reason = re.sub(r"\s+", " ", f"{type(error).__name__}: {error}").strip()
        return Plugin(entry.name, _source(entry), None, reason)


def _synthesizer(entry: EntryPoint) -> Synthesizer:
    """Return the synthesizer of an entry point; anything may be raised."""
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
    return synthesizer
