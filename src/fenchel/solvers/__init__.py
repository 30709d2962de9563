"""Fitting algorithms, one per file or folder. Each is a frozen dataclass whose `iterates` is a generator."""

from __future__ import annotations

import re

from fenchel.errors import InputError, UnknownNameError
from fenchel.solvers.augmented_lagrangian.solver import AugmentedLagrangian
from fenchel.solvers.base import Solver, Start
from fenchel.solvers.block_ascent.solver import BlockAscent
from fenchel.solvers.block_frank_wolfe.solver import BlockFrankWolfe
from fenchel.solvers.bundle.solver import Bundle
from fenchel.solvers.cocoa import Cocoa
from fenchel.solvers.cutting_plane.solver import CuttingPlane
from fenchel.solvers.dual_ascent.solver import DualAscent
from fenchel.solvers.extragradient.solver import Extragradient
from fenchel.solvers.frank_wolfe.solver import FrankWolfe
from fenchel.solvers.lbfgs.solver import LBFGS
from fenchel.solvers.newton_cg.solver import NewtonCG
from fenchel.solvers.pairwise_ascent import PairwiseAscent
from fenchel.solvers.pegasos import Pegasos
from fenchel.solvers.pragam.solver import Pragam
from fenchel.solvers.projected_subgradient import ProjectedSubgradient
from fenchel.solvers.proximal_gradient.solver import ProximalGradient
from fenchel.solvers.proximal_point_newton.solver import ProximalPointNewton
from fenchel.solvers.semismooth_newton.solver import SemismoothNewton
from fenchel.solvers.working_set.solver import WorkingSet

__all__ = [
    "LBFGS",
    "SOLVERS",
    "AugmentedLagrangian",
    "BlockAscent",
    "BlockFrankWolfe",
    "Bundle",
    "Cocoa",
    "CuttingPlane",
    "DualAscent",
    "Extragradient",
    "FrankWolfe",
    "NewtonCG",
    "PairwiseAscent",
    "Pegasos",
    "Pragam",
    "ProjectedSubgradient",
    "ProximalGradient",
    "ProximalPointNewton",
    "SemismoothNewton",
    "Solver",
    "Start",
    "WorkingSet",
    "make",
]


def _snake(name: str) -> str:
    return name.lower() if name.isupper() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


_CLASSES: list[type[Solver]] = [
    AugmentedLagrangian,
    BlockAscent,
    BlockFrankWolfe,
    Bundle,
    Cocoa,
    CuttingPlane,
    DualAscent,
    Extragradient,
    FrankWolfe,
    LBFGS,
    NewtonCG,
    PairwiseAscent,
    Pegasos,
    Pragam,
    ProjectedSubgradient,
    ProximalGradient,
    ProximalPointNewton,
    SemismoothNewton,
    WorkingSet,
]
SOLVERS: dict[str, type[Solver]] = {_snake(cls.__name__): cls for cls in _CLASSES}


def make(spec: object) -> Solver:
    """A solver from a name or an object.

    >>> make("lbfgs")
    LBFGS(memory=20)
    """
    if isinstance(spec, str):
        if spec not in SOLVERS:
            raise UnknownNameError("solver", spec, [*SOLVERS, "auto"])
        return SOLVERS[spec]()
    if isinstance(spec, type) and issubclass(spec, Solver):
        return spec()
    if not isinstance(spec, Solver):
        raise InputError(f"solver must be a name or a solver object, got {spec!r}")
    return spec
