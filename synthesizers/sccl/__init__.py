"""SCCL: exact synthesis by (chunks, steps, rounds) on small networks (Cai et al., PPoPP 2021, arXiv 2008.08708)."""

from synthesizers.sccl.pareto import Frontier, Point, frontier
from synthesizers.sccl.rounds import satisfiable
from synthesizers.sccl.synthesizer import Sccl, ScclOptions

__all__ = ["Frontier", "Point", "Sccl", "ScclOptions", "frontier", "satisfiable"]
