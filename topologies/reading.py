"""The content of files that users name, or one line that says why it cannot be had."""

from __future__ import annotations

import os

from topologies.exceptions import FormatError


def read_bytes(path: str | os.PathLike[str], most: int | None = None) -> bytes:
    """Return what is in a file; of one longer than `most` bytes, one byte more than that.

    Raises
    ------
    FormatError
        It cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return file.read() if most is None else file.read(most + 1)
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}") from error
