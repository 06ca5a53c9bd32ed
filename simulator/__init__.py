"""Link models, the alpha-beta simulator, its timeline, lower bounds and metrics."""

from simulator.link_model import LATENCIES, SWITCHINGS, LinkModel
from simulator.simulate import hop_times, simulate_ps, simulate_us

__all__ = ["LATENCIES", "SWITCHINGS", "LinkModel", "hop_times", "simulate_ps", "simulate_us"]
