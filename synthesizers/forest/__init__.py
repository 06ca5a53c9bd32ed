"""ForestColl: throughput-optimal trees on any network, and their schedules (Zhao et al., arXiv 2402.06787)."""

from synthesizers.forest.root_shares import root_share_trees
from synthesizers.forest.spanning import spanning_trees
from synthesizers.forest.synthesizer import Forest, ForestOptions
from synthesizers.forest.trees import Trees

__all__ = ["Forest", "ForestOptions", "Trees", "root_share_trees", "spanning_trees"]
