"""TACCL: sketch-guided synthesis with open solvers (arXiv 2111.04867, NSDI'23)."""

from synthesizers.taccl.sketch import Sketch, read_sketch
from synthesizers.taccl.synthesizer import Taccl, TacclOptions
from topologies.readers.taccl_profile import Profile, profile_topology, read_profile

__all__ = ["Profile", "Sketch", "Taccl", "TacclOptions", "profile_topology", "read_profile", "read_sketch"]
