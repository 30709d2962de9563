"""Solvers, one per file or folder. Each is a frozen dataclass whose `iterates` is a generator of iterates.

May import oracles, kernels, problems and lower layers. Stopping, time limits and certificates belong to `solving`.
"""

from __future__ import annotations

from fenchel.registry import Registry, classes_in, public_names
from fenchel.solvers.augmented_lagrangian.solver import AugmentedLagrangian as AugmentedLagrangian
from fenchel.solvers.base import Solver, Start
from fenchel.solvers.block_ascent.solver import BlockAscent as BlockAscent
from fenchel.solvers.block_frank_wolfe.solver import BlockFrankWolfe as BlockFrankWolfe
from fenchel.solvers.bundle.solver import Bundle as Bundle
from fenchel.solvers.cocoa import Cocoa as Cocoa
from fenchel.solvers.cutting_plane.solver import CuttingPlane as CuttingPlane
from fenchel.solvers.dual_ascent.solver import DualAscent as DualAscent
from fenchel.solvers.extragradient.solver import Extragradient as Extragradient
from fenchel.solvers.frank_wolfe.solver import FrankWolfe as FrankWolfe
from fenchel.solvers.lbfgs.solver import LBFGS as LBFGS
from fenchel.solvers.newton_cg.solver import NewtonCG as NewtonCG
from fenchel.solvers.pairwise_ascent import PairwiseAscent as PairwiseAscent
from fenchel.solvers.pegasos import Pegasos as Pegasos
from fenchel.solvers.pragam.solver import Pragam as Pragam
from fenchel.solvers.projected_subgradient import ProjectedSubgradient as ProjectedSubgradient
from fenchel.solvers.proximal_frank_wolfe.solver import ProximalFrankWolfe as ProximalFrankWolfe
from fenchel.solvers.proximal_gradient.solver import ProximalGradient as ProximalGradient
from fenchel.solvers.proximal_point_newton.solver import ProximalPointNewton as ProximalPointNewton
from fenchel.solvers.semismooth_newton.solver import SemismoothNewton as SemismoothNewton
from fenchel.solvers.swap_descent.solver import SwapDescent as SwapDescent
from fenchel.solvers.working_set.solver import WorkingSet as WorkingSet

SOLVERS: Registry[Solver] = Registry("solver", classes_in(globals(), Solver), base=Solver)
__all__ = public_names(SOLVERS, "SOLVERS", Solver, Start, "make")


def make(spec: object) -> Solver:
    """A solver from a name or an object.

    >>> make("lbfgs")
    LBFGS(memory=20)
    """
    if isinstance(spec, type) and issubclass(spec, Solver):
        return spec()
    return SOLVERS.make(spec, also=["auto"])
