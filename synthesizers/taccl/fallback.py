"""What is returned where the time limit comes before TACCL has a plan of its own: the cheapest schedule of others."""

from __future__ import annotations

from contextlib import suppress

from schedules import Schedule
from synthesizers.direct import Direct
from synthesizers.problem import Problem
from synthesizers.tacos import Tacos, TacosOptions
from synthesizers.tuning import Pieces, fastest
from topologies.exceptions import CollbenchError

#: Pairs of chunk and NPU above which one schedule has to do: that of TACOS, if there is one.
_MOST_COMPARED = 50_000


def fallback(problem: Problem, pieces: Pieces) -> tuple[str, Schedule]:
    """Return (name, schedule) of one trial of TACOS or of a direct exchange, whichever is faster.

    Parameters
    ----------
    problem : Problem
    pieces : int or "auto"
        How often each chunk is cut; ``auto``: not at all, as there is no time to choose.
    """
    cut = 1 if pieces == "auto" else pieces
    small = problem.collective.num_chunks * cut * problem.topology.num_npus <= _MOST_COMPARED
    found: dict[str, Schedule] = {}
    tacos, direct = Tacos(), Direct()
    if tacos.supports(problem) is None:
        with suppress(CollbenchError):
            found[tacos.name] = tacos.synthesize(problem, TacosOptions(trials=1, threads=1, pieces=cut))
    if small or not found:
        options = Direct.Options(order="auto" if small else "farthest", routes="balanced", pieces=cut)
        try:
            found[direct.name] = direct.synthesize(problem, options)
        except CollbenchError:  # its routes may take too long to be compared where one by TACOS does not
            if not found:
                raise
    best = fastest(problem, list(found.values()))
    return next((name, schedule) for name, schedule in found.items() if schedule is best)
