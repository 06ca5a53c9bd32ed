"""BFB: breadth-first broadcast trees with loads balanced exactly (Zhao et al., arXiv 2202.03356)."""

from synthesizers.bfb.synthesizer import Bfb, BfbOptions

__all__ = ["Bfb", "BfbOptions"]
