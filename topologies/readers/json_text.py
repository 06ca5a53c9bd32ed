"""JSON from anybody: the content of a file, or one line that says what is wrong with it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from topologies.readers.source import Source


def parse_json(source: Source) -> Any:
    """Return the content of a file.

    Raises
    ------
    FormatError
        It is no JSON, is nested too deeply, or has a number that JSON does not.
    """

    def constant(word: str) -> NoReturn:
        raise source.error(f"{word} is no number of JSON; expected a finite one")

    try:
        return json.loads(source.text, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise source.error(f"not JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise source.error("nested too deeply; expected a topology") from None
    except ValueError as error:  # FormatError of a constant is one, digits without end are another
        if str(error).startswith(source.path):
            raise
        raise source.error("not JSON: a number of too many digits") from None
