"""How the program ends: one line on standard error for every mistake, an exit status, and never a traceback.

Exit status 0: done; 1: the work failed; 2: wrong usage; 130: interrupted. ``COLLBENCH_TRACEBACK=1`` lets errors
through, for whoever looks for a defect.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from experiments.interruption import Terminated, ending, signalled, watch

TRACEBACK = "COLLBENCH_TRACEBACK"


class Failure(click.ClickException):
    """The work failed: one line, exit status 1."""

    exit_code = 1


class WrongInput(click.ClickException):
    """A file that the user wrote is wrong: one line that says where, exit status 2."""

    exit_code = 2


class Ended(click.ClickException):
    """Ctrl-C or SIGTERM has ended the program; says what there is."""

    def __init__(self, kind: type[BaseException], what: str = "nothing was written") -> None:
        word, status = ending(kind)
        super().__init__(f"{word}; {what}")
        self.exit_code = status  # type: ignore[misc]  # click reads it of the instance


class Commands(click.Group):
    """A group that shows its help, as wrong usage, when no command follows, and suggests the nearest one."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **settings})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments left over; without any, the help is the answer."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, self.commands, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


class Program(Commands):
    """The outermost group: turns whatever happens into a line and an exit status."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,  # noqa: ARG002  the same name, however it was started
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program and exit, or without `standalone_mode` return what the command returns."""
        if not standalone_mode:
            return super().main(args, "collbench", complete_var, standalone_mode=False, **extra)
        return sys.exit(self._status(args, complete_var, extra))

    def _status(self, args: Sequence[str] | None, complete_var: str | None, extra: dict[str, Any]) -> int:
        """Return the exit status of a run; what went wrong has been said."""
        # A stream that was closed (``>&-``) is None; what would have gone there is wanted by nobody.
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  until the end
        sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  until the end
        for stream in (sys.stdout, sys.stderr):
            # What a terminal, or a file's name, has no letters for is written as its code.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        if threading.current_thread() is threading.main_thread():
            watch()
        try:
            with _warnings_in_a_line():
                status = super().main(args, "collbench", complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx is not None else "collbench"
            return _say(f"{path}: {_closed(error.format_message())} See: {path} --help", 2)
        except click.ClickException as error:
            return _say(f"collbench: {error.format_message()}", error.exit_code)
        except BrokenPipeError:
            return _hang_up()
        except (KeyboardInterrupt, Terminated) as error:  # before or after the command itself
            end = Ended(type(error))
            return _say(f"collbench: {end.format_message()}", end.exit_code)
        except MemoryError:
            return _say("collbench: out of memory; give a smaller problem", 1)
        except OSError as error:
            if _wants_traceback():
                raise
            where = f" {error.filename}" if error.filename else ""
            return _say(f"collbench: the system refused{where}: {error.strerror or error}", 1)
        except Exception as error:
            if _wants_traceback():
                raise
            fault = f"{type(error).__name__}: {error}".rstrip(": ")
            return _say(f"collbench: a defect of collbench ({fault}); please report it, with {TRACEBACK}=1 set", 1)
        return status if isinstance(status, int) else 0

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that collbench raises on purpose become one line."""
        try:
            return super().invoke(ctx)
        except Ended:
            raise
        except BaseException as error:
            # Here and not in `main`: click would write an empty line first.
            if (kind := signalled(error)) is not None:
                raise Ended(kind) from None
            if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort):
                raise
            # Imported here: the package is slow to import, and --help does not need it.
            from topologies.exceptions import CollbenchError

            if not isinstance(error, CollbenchError) or _wants_traceback():
                raise
            raise Failure(str(error)) from error


def _wants_traceback() -> bool:
    """Return whether the user asked for tracebacks."""
    return os.environ.get(TRACEBACK, "") not in ("", "0")


def _closed(message: str) -> str:
    """Return a message that ends like a sentence, so that another may follow."""
    return message if message.endswith((".", "?", "!")) else f"{message}."


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Say in a line what readers of files leave out; other warnings stay as they are."""
    from topologies.exceptions import TopologyWarning

    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, TopologyWarning):
                _say(f"collbench: {message}", 0)
            else:
                shown(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _say(message: str, status: int) -> int:
    """Write one line on standard error and return the exit status."""
    click.echo(" ".join(message.split()), err=True)
    return status


def _hang_up() -> int:
    """Give up standard output, whose reader has gone, so that nothing is flushed to it at exit."""
    with suppress(OSError, ValueError):  # standard output is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
