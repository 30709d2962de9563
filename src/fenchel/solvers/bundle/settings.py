"""The tuning numbers of `Bundle`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: planes and master problems, levels, L1, penalties with a prox, proximal centre, regularizers known
    by values, quadratic programs."""

    # Room for so many planes is reserved at first.
    min_reserved_planes = 16
    # A master problem is solved to this fraction of the gap of the outer method.
    master_gap_ratio = 0.02
    # For a penalty that is known by values the master problem is solved to a gap smaller by this factor, as the gain that it
    # predicts decides whether the centre moves.
    proximal_master_gap_ratio = 0.1

    # A plane without weight is dropped after so many iterations where the minimum of the model is the next point.
    patience = 10
    # With level steps, whose quadratic programs cost little. Precision at k on w8a to 1e-2, alpha 1e-4: 314 iterations, 381
    # with 10.
    level_patience = 30
    # A level step ends where the model is between these fractions of the gap above the lower bound. Of fits to the ROC area,
    # precision at k and the break-even point, lower levels take more iterations in some and higher ones in others.
    min_level = 0.6
    # The upper end; a level near the best value makes short steps.
    max_level = 0.9
    # The quadratic programs of a level step are solved to this fraction of the gap.
    level_gap_ratio = 0.002
    # At most this many weights mu are tried for a level; two are usual, because the level's mu changes little.
    max_level_trials = 6
    # While mu has no bracket it is multiplied or divided by this factor.
    level_weight_growth = 4.0
    # Below this multiple of alpha (L2) mu hardly matters, and the search ends.
    min_level_weight_ratio = 1e-3
    # The same for other penalties, relative to the first mu, which is that of steps as long as they may have to be.
    min_proximal_weight_ratio = 1e-10
    # The minima of the model are the next points as long as the gap falls in so many steps...
    judged_steps = 3
    # ...by this factor for each, which level steps reach. Of 42 fits (logistic, exponential, hinge, measures; alpha 1 to 1e-3)
    # none took more than 5 % longer on average than with the better of the two; level steps alone took twice as long.
    quick_gap_ratio = 0.8

    # The simplex method for L1 takes at most so many pivots; after a new plane 1 to 30 are usual...
    min_pivots = 100
    # ...and so many more for each plane.
    pivots_per_plane = 10
    # The limits of a general linear program are tightened by this fraction, which is above the tolerance of its solver.
    program_tolerance = 1e-6

    # The bound for a penalty with a prox comes from at most so many proximal points an iteration.
    max_proximal_points = 2
    # They end where the bound is within this fraction of the gap from the value of the model...
    max_bound_lag = 0.1
    # ...and else go on with mu multiplied by this factor.
    proximal_weight_fall = 0.3
    # It does not fall below this multiple of the first one: sorted L1 then needs many Newton steps.
    least_proximal_weight_ratio = 1e-4

    # The centre moves to a point that gains at least this fraction of what the model predicted (a serious step).
    min_serious_step_gain_ratio = 0.1
    # A gain of at least this fraction shows that the model is good enough for a smaller proximal weight.
    min_good_step_gain_ratio = 0.5
    # After a good step the proximal weight mu is multiplied by this factor: longer steps.
    good_step_weight_ratio = 0.3
    # After a null step (one that is not serious) mu is multiplied by this factor: shorter steps.
    null_step_weight_growth = 1.15
    # A second lower bound is computed with mu times this factor, nearly without a proximal term; the higher one is used.
    bound_weight_ratio = 1e-3

    # A conjugate that is finite at random points of these multiples of alpha counts as finite everywhere.
    conjugate_probe_ratios = (3.0, 10.0, 100.0)
    # Differences of the gradient of a conjugate change v by this fraction of its largest entry.
    hessian_difference_ratio = 1e-4
    # A point just outside the domain of R moves towards R's starting point by this fraction, times the growth below.
    domain_shift_ratio = 1e-13
    # The shift is multiplied by this factor until R is finite.
    domain_shift_growth = 10.0
    # A step that leaves the domain of R is multiplied by this factor until R is finite.
    domain_backtrack_ratio = 0.5
    # Backtracking into the domain ends when this fraction of the step is left.
    min_domain_step_ratio = 1e-9
    # A plane of R without weight is dropped after this many iterations.
    max_idle_regularizer_plane_steps = 20

    # The warm active-set method takes at most this many steps for each plane; a few are usual, because a new plane changes
    # little, and twice the number of planes are enough from a vertex.
    active_set_steps_per_plane = 10
    # A factor that has drifted is recomputed, at most this many times in total.
    max_active_set_factors = 2
    # The least square of a pivot of that factor, relative to the mean diagonal of the Gram matrix.
    face_ridge_ratio = 1e-13
    # An interior-point solution drops weights up to the first of these thresholds that leaves its gap as it is.
    sparsity_thresholds = (1e-4, 1e-6, 1e-8)
    # The interior-point method on one simplex takes at most this many steps.
    max_interior_point_steps = 60
    # The interior-point method on two simplices takes at most this many steps.
    max_two_simplex_steps = 80
    # Interior points end with complementarity and residual of at most this fraction of the wanted gap.
    interior_point_gap_ratio = 0.1
    # A step goes this fraction of the way to the boundary, so that the next point is in the interior.
    boundary_step_ratio = 0.995
    # Weights on two simplices up to this value are zero, since interior points never reach zero themselves.
    max_zero_weight = 1e-12

    # A smooth master problem takes at most this many Newton steps.
    max_newton_steps = 50
    # The quadratic program of a Newton step is solved to this fraction of the present gap.
    newton_gap_ratio = 0.1
    # The line search of a Newton step tries at most this many lengths.
    max_search_trials = 50
    # The line search multiplies the step by this factor after a failure.
    search_backtrack_ratio = 0.3
    # After a full step the damping of the Hessian is multiplied by this factor.
    damping_fall = 0.1
    # A sufficient decrease is this fraction of what the first derivative promises (Armijo).
    armijo_ratio = 1e-4
    # A slope up to this fraction of the objective is rounding; the step then goes towards the best vertex.
    rounding_ratio = 1e-15
    # A change of the objective up to this many such fractions is rounding; the gap then decides about the step.
    unchanged_objective_roundings = 4

    # In the linear programs of L1, a weight may fall this far below 0, and a coordinate above its limit, relative to it.
    simplex_rounding = 1e-10
    # Their pivots are larger than this, relative to the limit of their coordinate.
    min_pivot_ratio = 1e-9


SETTINGS = Settings()
