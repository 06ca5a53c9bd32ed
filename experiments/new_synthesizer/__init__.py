"""A new synthesizer's package: a folder that pip installs, made from the templates beside this module.

It holds a working synthesizer, a test that runs the conformance suite over it, and the entry point through which every
command of collbench finds it.
"""

from __future__ import annotations

import keyword
import os
import re
import secrets
import shutil
from importlib.resources import files
from pathlib import Path
from string import Template

from topologies.exceptions import CollbenchError, OptionError

__all__ = ["require_name", "write_package"]

#: What each file of the package is called, and its template.
_FILES = {
    "pyproject.toml": "pyproject.toml.template",
    "README.md": "README.md.template",
    "collbench_${name}.py": "synthesizer.py.template",
    "test_${name}.py": "test.py.template",
}

#: Names of classes that the synthesizer imports, as a synthesizer would have to be called to get them.
_IMPORTED = {"schedule", "synthesizer", "options_base", "pieces"}


def require_name(name: str, taken: list[str]) -> None:
    """Refuse what is no name for a synthesizer.

    Parameters
    ----------
    name : str
    taken : list of str
        Names of the synthesizers that there are.

    Raises
    ------
    OptionError
        Not lower-case letters, digits and underscores, a word of Python, or a name that is taken.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).strip("_").lower()
        hint = f"such as {words!r}" if re.match(r"[a-z]", words) else "such as 'my_synthesizer'"
        raise OptionError(
            f"{name!r} is no name for a synthesizer; expected lower-case letters, digits and single underscores, {hint}"
        )
    if keyword.iskeyword(name) or keyword.iskeyword(_class_name(name)) or name in _IMPORTED:
        raise OptionError(f"{name!r} is a word that the code needs itself; choose another name, such as 'my_{name}'")
    if name in taken:
        raise OptionError(f"there is a synthesizer {name!r} already; choose another name, such as 'my_{name}'")


def write_package(name: str, parent: str | os.PathLike[str]) -> Path:
    """Write the package of a synthesizer into a new folder of its name, whole or not at all.

    Parameters
    ----------
    name : str
        One that `require_name` accepts.
    parent : path
        The folder to put it into; it must exist.

    Returns
    -------
    folder : Path

    Raises
    ------
    CollbenchError
        The new folder is there already (nothing is ever overwritten), or the other one is not, or is not writable.
    """
    folder = Path(parent) / name
    if not folder.parent.is_dir():
        raise CollbenchError(f"cannot write {folder}: the folder {folder.parent} does not exist; create it first")
    if os.path.lexists(folder):
        raise CollbenchError(f"{folder} is there already and is left as it is; choose another name, or another --out")
    words = {"name": name, "distribution": f"collbench-{name.replace('_', '-')}", "class_name": _class_name(name)}
    temporary = folder.with_name(f".{name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        temporary.mkdir()
        for target, source in _FILES.items():
            text = Template(files(__name__).joinpath(source).read_text(encoding="utf-8")).substitute(words)
            (temporary / Template(target).substitute(words)).write_text(text, encoding="utf-8")
        temporary.rename(folder)
    except OSError as error:
        raise CollbenchError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _class_name(name: str) -> str:
    """Return what Python code calls the synthesizer."""
    return "".join(word.capitalize() for word in name.split("_"))
