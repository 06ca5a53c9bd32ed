"""Files that appear whole or not at all: written beside their target, then renamed over it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from topologies.exceptions import CollbenchError


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the target's folder; on success it replaces the target, on failure it is removed.

    Parameters
    ----------
    target : path
        The file to write. Its folder must exist.

    Raises
    ------
    CollbenchError
        When the folder is missing or not writable, in one line.
    """
    target = Path(target)
    if target.is_dir():
        raise CollbenchError(f"cannot write {target}: expected a file name, found a folder")
    if not target.parent.is_dir():
        raise CollbenchError(f"cannot write {target}: the folder {target.parent} does not exist; create it first")
    # The suffix is kept: some writers choose their format by it.
    temporary = target.with_name(f".{target.stem}.{os.getpid()}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except OSError as error:
        raise CollbenchError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `target` as UTF-8, atomically."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
