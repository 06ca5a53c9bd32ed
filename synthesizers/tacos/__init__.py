"""TACOS: topology-aware greedy synthesis by time-expanded matching (arXiv 2304.05301, MICRO'24)."""

from synthesizers.tacos.synthesizer import Tacos, TacosOptions

__all__ = ["Tacos", "TacosOptions"]
