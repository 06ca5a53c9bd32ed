"""Where ``collbench`` starts: signals are watched before anything that takes long is imported."""

from __future__ import annotations

import sys

from experiments.interruption import ending, raise_if_interrupted, signalled, watch


def main() -> int:
    """Run the command line and exit, or return the exit status of a program that a signal ended before it ran."""
    watch()
    try:
        from experiments.cli import main as command

        raise_if_interrupted()  # an import may have swallowed it
        command()
    except SystemExit:
        raise
    except BaseException as error:
        if (kind := signalled(error)) is None:
            raise
        word, status = ending(kind)
        print(f"collbench: {word}; nothing was written", file=sys.stderr)
        return status
    return 0
