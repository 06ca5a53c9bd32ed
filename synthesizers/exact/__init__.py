"""The exact optimum of tiny problems in the simulator's own model, by OR-Tools CP-SAT."""

from synthesizers.exact.synthesizer import Exact, ExactOptions

__all__ = ["Exact", "ExactOptions"]
