"""Results as tables: rows of a results file, repeats brought together, tables to read, a ranking."""

from __future__ import annotations

from experiments.tables.rows import MEASURED, load_results, row_of, write_results

__all__ = ["MEASURED", "load_results", "row_of", "write_results"]
