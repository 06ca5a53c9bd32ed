"""The Parquet form: one typed, compressed column per schedule column; the header is file metadata.

Columns are written and read a row group at a time, so that a schedule of a billion hops needs little beside itself.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from schedules.files.header import COLUMNS, FORMAT, Header, header_of, parsed, rebuilt, refused
from schedules.schedule import Schedule

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAGIC = b"PAR1"

_ROWS = 2**22
#: The header of a large network is longer than the 100 MB that pyarrow would allow.
_MAX_HEADER = 2**31 - 1


def write_parquet(schedule: Schedule, path: Path) -> None:
    """Write a schedule to a new file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    header = header_of(schedule)
    fields = [pa.field(name, _arrow_type(dtype), nullable=False) for name, dtype in header["columns"].items()]
    schema = pa.schema(fields)
    with (
        open(path, "wb") as file,
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=False, column_encoding=dict.fromkeys(
            (name for name in schema.names if name != "reduce"), "DELTA_BINARY_PACKED"
        ), store_schema=False, write_page_checksum=True, write_statistics=False) as writer,
    ):  # fmt: skip
        for first in range(0, schedule.num_hops, _ROWS):
            part = [pa.array(getattr(schedule, name)[first : first + _ROWS]) for name in schema.names]
            writer.write_table(pa.Table.from_arrays(part, schema=schema), row_group_size=_ROWS)
        writer.add_key_value_metadata({FORMAT: json.dumps(header)})


def read_parquet(path: str | os.PathLike[str]) -> Schedule:
    """Return the schedule of a Parquet file.

    Raises
    ------
    FormatError
        A file that is truncated, damaged, foreign, edited or of another version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    damaged = (pa.ArrowException, OSError, ValueError, ArithmeticError, LookupError, TypeError, MemoryError)
    with open(path, "rb") as file:
        try:
            table = pq.ParquetFile(
                file, page_checksum_verification=True, thrift_string_size_limit=_MAX_HEADER, pre_buffer=False
            )
            metadata = table.metadata.metadata or {}
            names = table.schema_arrow.names
        except damaged as error:
            raise refused(path, f"truncated or damaged Parquet ({error}); write it again with save_schedule") from error
        if FORMAT.encode() not in metadata:
            raise refused(path, f"not a schedule of collbench: expected Parquet metadata {FORMAT!r}, found columns "
                                f"{', '.join(names):.80}")  # fmt: skip
        try:
            content = json.loads(metadata[FORMAT.encode()])
        except (ValueError, RecursionError) as error:
            raise refused(path, f"damaged header ({error}); write it again with save_schedule") from error
        header = parsed(path, content)
        _require_columns(path, header, table)
        try:
            columns = _columns(header, table)
        except damaged as error:
            raise refused(path, f"damaged columns ({error}); write it again with save_schedule") from error
    return rebuilt(path, header, columns)


def _require_columns(path: str | os.PathLike[str], header: Header, table: pq.ParquetFile) -> None:
    """Refuse columns that are missing, of another type, or not as many rows as the header says."""
    schema = table.schema_arrow
    for name, dtype in header.columns.items():
        if name not in schema.names:
            raise refused(path, f"the column {name!r} is missing; write it again with save_schedule")
        found = schema.field(name).type
        if found != _arrow_type(dtype):
            raise refused(path, f"column {name!r} holds {found}, expected {dtype}; write it again with save_schedule")
    extra = [name for name in schema.names if name not in header.columns]
    if extra:
        raise refused(path, f"has a column {extra[0]!r:.40}, expected {', '.join(header.columns)} only")
    groups = [table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)]
    # Before anything is allocated by these numbers: a damaged footer may say anything.
    if table.metadata.num_rows != header.hops or sum(groups) != header.hops or min(groups, default=0) < 0:
        raise refused(path, f"has {sum(groups)} rows, expected {header.hops}; write it again with save_schedule")


def _columns(header: Header, table: pq.ParquetFile) -> dict[str, np.ndarray]:
    """Return the columns as numpy arrays."""
    columns = {name: np.empty(header.hops, header.columns[name]) for name in COLUMNS if name in header.columns}
    first = 0
    for group in range(table.num_row_groups):
        part = table.read_row_group(group)
        for name, column in columns.items():
            if part.column(name).null_count:
                raise ValueError(f"column {name!r} has empty cells")
            column[first : first + part.num_rows] = part.column(name).to_numpy()
        first += part.num_rows
    return columns


def _arrow_type(dtype: str) -> Any:
    """Return the Arrow type of a numpy type."""
    import pyarrow as pa

    return pa.from_numpy_dtype(np.dtype(dtype))
