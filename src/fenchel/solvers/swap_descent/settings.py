"""The tuning numbers of `SwapDescent`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order in which the solver meets them: the bound, Newton steps, swaps, smoothed losses."""

    # The convex problem of the bound is solved until its own gap is this fraction of the distance between both problems ...
    relaxation_gap_ratio = 1e-3
    # ... or for so many iterations.
    max_relaxation_iterations = 400
    # A model of the problem has at most so many columns: those in use and those with the largest gradients. It is dense.
    max_columns = 600
    # The columns are chosen anew at most so often.
    max_column_sets = 6
    # A model keeps its Hessian while curvatures change by at most this fraction, in the mean: on 2000 x 3000 values, with the
    # squared loss, Hessians took four fifths of the time.
    same_curvature_ratio = 0.02
    # Newton steps from one starting point, at most.
    max_steps = 60
    # They end when a step decreases the objective by less than this fraction of it.
    min_decrease_ratio = 1e-10
    # Curvatures are raised to this fraction of the largest possible one after a step that did not decrease the objective, then
    # by the factor until the fraction is the last number.
    first_damping, damping_growth, max_damping = 0.03, 6.0, 300.0
    # Sweeps of coordinate descent on a model before the first swap, and after each.
    max_sweeps = 300
    # A sweep ends the descent on a model if it changes no gradient by more than this fraction of the largest.
    sweep_accuracy = 1e-9
    # Swaps on one model.
    max_swaps = 200
    # Rounds of swaps that are tried on the objective itself.
    max_swap_rounds = 50
    # Local minima at these multiples of alpha are starting points, too: on 100 x 2000 normal columns one was 0.8 % better.
    neighbouring_strengths = (0.25, 0.5, 2.0, 4.0)
    # A loss that is not differentiable is replaced by its Moreau envelopes with these gamma, in units of the median score.
    smoothings = (0.3, 0.1, 0.03, 0.01)
    # Iterations of the convex fit of the coefficients in use, for such losses.
    max_refit_iterations = 60
    # Its gap, relative to the objective.
    refit_gap = 1e-9


SETTINGS = Settings()
