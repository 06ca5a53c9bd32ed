"""The code that a result can come from, as a hash: when it changes a run is done again, and two machines compare it.

It is a module with all that it imports, anywhere in it and so on, as far as that is collbench's or of the same package.
Import statements are read for it, nothing is imported. Other libraries, compiled modules and data files are not in it.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

from synthesizers import Synthesizer

#: Packages whose code makes and scores schedules; tables, plots and the runner itself change no result.
_OURS = frozenset({"topologies", "schedules", "simulator", "synthesizers"})


@cache
def scoring_code() -> str:
    """Return the hash of the code that verifies and scores schedules."""
    return _hash({"experiments.evaluate"}, _OURS)


@cache
def code_behind(module: str, apart: frozenset[str] = frozenset()) -> str:
    """Return the hash of the code of a module and of all of ours that it imports.

    Parameters
    ----------
    module : str
    apart : frozenset of str
        Modules that do not count, nor what only they import: those of packages that hand on names that are not used.
    """
    return _hash({module}, _OURS | {"experiments"}, apart)


def code_of(synthesizer: Synthesizer) -> str:
    """Return the hash of the code of a synthesizer: of its class and of the classes that this one extends."""
    return _code_of(type(synthesizer))


@cache
def _code_of(kind: type) -> str:
    """Return the hash of the code of a class; kept, because every run asks for it."""
    modules = {each.__module__ for each in kind.__mro__ if _top(each.__module__) not in sys.stdlib_module_names}
    return _hash(modules, _OURS | {_top(name) for name in modules})


def _hash(modules: set[str], packages: frozenset[str], apart: frozenset[str] = frozenset()) -> str:
    """Return the hash of modules and of what they import from some top-level packages."""
    lines = sorted(f"{name} {_read(name)[0]}" for name in reached(modules, packages, apart))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def reached(modules: set[str], packages: frozenset[str], apart: frozenset[str] = frozenset()) -> set[str]:
    """Return modules and all that they import from some top-level packages, directly or not.

    Parameters
    ----------
    modules : set of str
        Names of modules; one that is not written in Python is left out.
    packages : frozenset of str
    apart : frozenset of str
        Modules that are left out, and not looked into.
    """
    seen, todo = set(modules), list(modules)
    while todo:
        found = {name for name in _read(todo.pop())[1] if _top(name) in packages} - seen - apart
        seen |= found
        todo += found
    return {name for name in seen if _read(name)[0]}


@cache
def _read(name: str) -> tuple[str, frozenset[str]]:
    """Return the hash of a module's file and the names that may be modules which it imports; nothing of no module."""
    spec = _spec(name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return "", frozenset()
    try:
        content = Path(spec.origin).read_bytes()
        tree = ast.parse(content)
    except (OSError, SyntaxError, ValueError):
        return "", frozenset()
    package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
    # Each package around a module is imported before it.
    imports = {around for found in [name, *_imports(tree, package)] for around in _with_packages(found)}
    return hashlib.sha256(content).hexdigest(), frozenset(imports)


@cache
def _spec(name: str) -> ModuleSpec | None:
    """Return where a module is, without importing it; None if there is none of that name."""
    package = name.rpartition(".")[0]
    if not package:
        try:
            return find_spec(name)
        except (ImportError, ValueError):  # it has none, as __main__
            return None
    around = _spec(package)
    places = around.submodule_search_locations if around is not None else None
    return None if places is None else PathFinder.find_spec(name, list(places))


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield what a module of a package imports; a name imported from a package may be a module or not."""
    statements: list[ast.AST] = [tree]
    while statements:
        statement = statements.pop()
        if isinstance(statement, ast.Import):
            yield from (name.name for name in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            around = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
            source = ".".join([*around, *([statement.module] if statement.module else [])])
            yield from (f"{source}.{name.name}" for name in statement.names)
        else:  # expressions hold no import
            statements += (child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.expr))


def _with_packages(name: str) -> Iterator[str]:
    """Yield ``a``, ``a.b`` and ``a.b.c`` of ``a.b.c``."""
    parts = name.split(".")
    return (".".join(parts[: count + 1]) for count in range(len(parts)))


def _top(name: str) -> str:
    """Return the top-level package of a module."""
    return name.partition(".")[0]
