"""ForestColl: throughput-optimal trees on any network, and their schedules (Zhao et al., arXiv 2402.06787)."""

from synthesizers.forest.synthesizer import Forest, ForestOptions

__all__ = ["Forest", "ForestOptions"]
