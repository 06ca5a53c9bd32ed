"""Synthesizers: the plugin contract, discovery, and one module (or folder) per algorithm."""

from synthesizers.base import OptionsBase, Synthesizer, parse_options
from synthesizers.problem import Problem
from synthesizers.registry import available, discover, find

__all__ = ["OptionsBase", "Problem", "Synthesizer", "available", "discover", "find", "parse_options"]
