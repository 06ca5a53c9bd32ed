"""The kinds of collectives: their names, what they do, and what they have in common."""

from __future__ import annotations

#: Kinds in the order in which they are listed, each with one line for a user.
KINDS = {
    "all_gather": "every rank ends with the shards of all",
    "reduce_scatter": "rank r ends with the sum of everyone's shard r",
    "all_reduce": "every rank ends with the sum of all buffers",
    "all_to_all": "rank r sends its shard d to rank d",
    "broadcast": "every rank ends with the root's buffer",
    "reduce": "the root ends with the sum of all buffers",
    "gather": "the root ends with the shards of all",
    "scatter": "rank r ends with the root's shard r",
    "send_recv": "a list of (source, destination) pairs, one buffer each",
    "custom": "given by pre- and postconditions",
}

#: The collective that undoes each kind on the reversed network.
REVERSED = {
    "all_gather": "reduce_scatter", "reduce_scatter": "all_gather", "broadcast": "reduce", "reduce": "broadcast",
    "scatter": "gather", "gather": "scatter", "all_to_all": "all_to_all", "send_recv": "send_recv",
}  # fmt: skip

#: Kinds with a root.
ROOTED = ("broadcast", "reduce", "gather", "scatter")
#: Kinds whose buffer may be cut into any number of shards.
SHARDED = ("all_reduce", "broadcast", "reduce")
#: Kinds that are given otherwise than by groups, and the field that gives them.
PLACES = {"send_recv": "pairs", "custom": "conditions"}
#: Kinds that add contributions up.
REDUCING = ("reduce_scatter", "all_reduce", "reduce")
