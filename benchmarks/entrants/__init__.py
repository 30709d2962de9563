"""Who takes part: one small class each, `fit(task, tol) -> (coef, intercept)`.

An entrant says what it can solve (`handles`), which tolerances it is to be tried with, loosest first, and what it needs
to be installed (`module`). What it claims about its accuracy is never asked. Time includes everything that a user who
holds the matrix would wait for: conversions, the solve, and for Fenchel the certificate.
"""

from benchmarks.entrants.base import Answer, Entrant
from benchmarks.entrants.compiled import Cyanure, LiblinearDual, LiblinearPrimal, ReHLine, Snap
from benchmarks.entrants.linear_program import HiGHS
from benchmarks.entrants.ours import Fenchel
from benchmarks.entrants.scikit import (
    LBFGS,
    CoordinateDescent,
    LinearSVC,
    LinearSVCL1,
    LinearSVCPrimal,
    LinearSVR,
    NewtonCG,
    NewtonCholesky,
    PoissonLBFGS,
    PoissonNewton,
    QuantileHiGHS,
    Saga,
    SklearnLiblinear,
)
from benchmarks.entrants.sparse import Celer, Glum, Skglm

__all__ = ["ENTRANTS", "Answer", "Entrant", "Fenchel"]

ENTRANTS: list[type[Entrant]] = [
    Fenchel, LinearSVC, LinearSVCPrimal, LinearSVR, LBFGS, NewtonCholesky, NewtonCG, Saga, SklearnLiblinear,
    CoordinateDescent, PoissonLBFGS, PoissonNewton, LiblinearDual, LiblinearPrimal, Cyanure, ReHLine, Snap, Skglm,
    Celer, Glum, LinearSVCL1, QuantileHiGHS, HiGHS,
]  # fmt: skip
