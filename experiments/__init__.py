"""Experiments: runs, tables, plots, the command line, and the scripts that redo a paper's evaluation."""
