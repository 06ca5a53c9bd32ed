"""TE-CCL's output in small, in the forms that its solver prints."""

from __future__ import annotations

import json


def flows_file(flows, demand=None, **changes):
    """Return the text of a file: flows as (chunk, origin, source, target, epoch), demand by (origin, chunk)."""
    content = {"1-Epoch_Duration": 1e-6, "3-Epochs_Required": 1 + max(flow[4] for flow in flows)}
    if demand is not None:
        met: dict = {}
        for (origin, chunk), nodes in demand.items():
            for node in nodes:
                met.setdefault(f"GPU {origin}", {}).setdefault(f"GPU {node}", {})[f"Chunk {chunk}"] = 1e-6
        content["6-Demand_Met"] = met
    content["7-Flows"] = [f"Chunk {c} from {s} traveled over {i}->{j} in epoch {k}" for c, s, i, j, k in flows]
    return json.dumps(content | changes, indent=2)


#: AllGather around a ring of 3, whose GPUs are nodes 1 to 3 beside a switch 0 that nothing passes.
RING = [(0, 1, 1, 2, 0), (0, 2, 2, 3, 0), (0, 3, 3, 1, 0), (0, 1, 2, 3, 1), (0, 2, 3, 1, 1), (0, 3, 1, 2, 1)]
ALL_GATHER = {(1, 0): (2, 3), (2, 0): (1, 3), (3, 0): (1, 2)}
TEXT = flows_file(RING, ALL_GATHER)
