"""The effort of a search: counted, not timed, so that it ends and the same arguments give the same rings.

The unit is a deterministic second of CP-SAT, which takes one to three seconds on a core of 2020; other work is charged
at a rate measured against that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Effort:
    """What is left of the effort of a search.

    Attributes
    ----------
    left : float
        Deterministic seconds.
    scale : float
        How much larger than usual the network is; the limits of single steps grow with it.
    undecided : bool
        Whether a solver stopped at its limit, so that what it did not find may still exist.
    """

    left: float
    scale: float = 1.0
    undecided: bool = False

    def solved(self, model, limit: float, seed: int = 0):
        """Return a CP-SAT solver that has solved a model, or None where it found no solution.

        Parameters
        ----------
        model : CpModel
        limit : float
            Deterministic seconds at most, for a network of usual size.
        seed : int
            Another one gives another solution.
        """
        from ortools.sat.python import cp_model

        limit = min(limit * self.scale, self.left)
        if limit <= 0:
            self.undecided = True
            return None
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        # Else it puts the default handler in place of the program's, and Ctrl-C kills without a word.
        solver.parameters.catch_sigint_signal = False
        solver.parameters.random_seed = seed
        solver.parameters.max_deterministic_time = limit
        status = solver.solve(model)
        self.left -= solver.response_proto.deterministic_time
        self.undecided |= status == cp_model.UNKNOWN
        return solver if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
