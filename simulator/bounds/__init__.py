"""Lower bounds that no schedule can beat: latency, single NPUs, cuts, AllReduce's volume, and whole chunks.

`bound` holds for everything; `quantised_bound_us` and `rsag_bound_us` hold for schedules of their sort and are columns
of their own. Sources: ForestColl (arXiv 2402.06787) for cuts, TACOS (arXiv 2304.05301) for whole chunks.
"""

from simulator.bounds.combined import Bound, allgather_bound_gbps, bound, quantised_bound_us, rsag_bound_us
from simulator.bounds.cuts import Cut, densest_cut

__all__ = [
    "Bound",
    "Cut",
    "allgather_bound_gbps",
    "bound",
    "densest_cut",
    "quantised_bound_us",
    "rsag_bound_us",
]
