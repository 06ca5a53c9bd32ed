"""AllToAll by the multi-commodity flow LP: flows that load the links least, cut into whole pieces."""

from synthesizers.alltoall_lp.synthesizer import AllToAllLp, AllToAllLpOptions

__all__ = ["AllToAllLp", "AllToAllLpOptions"]
