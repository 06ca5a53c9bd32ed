"""Tables as text for a page: columns in binary, words once each, deflated, in base64.

A hundred thousand rows as JSON would be tens of megabytes to parse. As columns of numbers they are inflated into one
buffer, and each column is a typed array on it, for which nothing is copied; ``page/unpacking.js`` reads this form.

The bytes before deflation: the length of the head (uint32), the head (JSON), and the arrays that it points at, each
aligned to eight bytes, little-endian. Equal tables give equal text.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

_ALIGNED = 8

#: Types of arrays, and what JavaScript calls them.
_ARRAYS = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "i4": "Int32Array", "f8": "Float64Array"}


def packed(frames: Mapping[str, pd.DataFrame], meta: Mapping[str, Any] | None = None) -> str:
    """Return tables, and anything that JSON can say beside them, as text of base64.

    Parameters
    ----------
    frames : mapping of str to DataFrame
        Columns of numbers, truth values or text; what is missing is NaN or empty text in the page.
    meta : mapping, optional
        What JSON can hold, without NaN.
    """
    arrays: list[np.ndarray] = []
    head = {
        "meta": dict(meta or {}),
        "frames": {
            name: {"length": len(frame), "columns": {str(key): _column(frame[key], arrays) for key in frame}}
            for name, frame in frames.items()
        },
    }
    places, end = [], 0
    for array in arrays:
        places.append([end, len(array), _ARRAYS[array.dtype.str[1:]]])
        end += -(-array.nbytes // _ALIGNED) * _ALIGNED
    text = json.dumps({**head, "arrays": places}, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 4) % _ALIGNED)  # the arrays begin where the head ends
    parts = [len(text).to_bytes(4, "little"), text]
    for array in arrays:
        content = array.astype(array.dtype.newbyteorder("<")).tobytes()
        parts.append(content + bytes(-len(content) % _ALIGNED))
    return deflated(b"".join(parts))


def deflated(content: bytes) -> str:
    """Return bytes deflated (zlib) and in base64."""
    return base64.b64encode(zlib.compress(content, 6)).decode("ascii")


def _column(column: pd.Series, arrays: list[np.ndarray]) -> dict[str, Any]:
    """Return what the head says of a column, and add its array to the others."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        arrays.append(_narrow(column.to_numpy(float, na_value=np.nan)))
        return {"array": len(arrays) - 1}
    codes, different = pd.factorize(column)
    words = list(map(str, different))
    if (codes < 0).any():
        codes, words = np.where(codes < 0, len(words), codes), [*words, ""]
    arrays.append(_narrow(codes.astype(float)))
    return {"array": len(arrays) - 1, "words": words}


def _narrow(numbers: np.ndarray) -> np.ndarray:
    """Return numbers in the least type that holds them."""
    if len(numbers) and np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all():
        least, most = numbers.min(), numbers.max()
        for kind in ("u1", "u2", "u4", "i4"):
            limits = np.iinfo(kind)
            if limits.min <= least and most <= limits.max:
                return numbers.astype(kind)
    return numbers.astype("f8")
