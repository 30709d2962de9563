"""The tuning numbers of `WorkingSet`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order in which the solver meets them: the working set, Newton steps, line search, models."""

    # Up to this many columns of X all of them are the working set: choosing among so few saves nothing.
    max_columns_without_selection = 200
    # The first working set has at least this many columns; for sparse rows exactly so many.
    min_first_set_columns = 100
    # The first working set of dense rows has at most this many columns.
    max_first_set_columns = 400
    # For dense rows the squared size of the first set is this many times the number of columns: larger first sets took
    # longer to solve than they saved in passes over all columns.
    first_set_square_per_column = 5.0
    # A working set may hold this many columns per column of the support.
    set_columns_per_support = 1.5
    # The same ratio, if the support has filled the last working set, which was therefore too small.
    full_set_columns_per_support = 2.0
    # A working set counts as full if the support is more than this fraction of it.
    full_set_support_ratio = 0.9
    # A column may enter if its |gradient| is below lam by at most this fraction of lam, near the solution ...
    min_entry_margin_ratio = 0.01
    # ... and far from it by at most this fraction; in between the margin is the largest violation relative to lam.
    max_entry_margin_ratio = 0.2
    # A set with more than this fraction of all columns is replaced by all columns, which need no copy.
    max_copied_column_ratio = 0.8
    # The solver ends after more than this many successive working sets on which no step could be made.
    max_idle_sets = 3

    # The rows are divided into blocks with at least this many stored values, so that a block is worth a thread.
    min_values_per_block = 1 << 17
    # There are at most this many blocks of rows, because each needs a partial Gram matrix of its own.
    max_row_blocks = 8

    # At most this many Newton steps are taken on one working set.
    max_steps_per_set = 8
    # A working set is left when its violation has fallen to this fraction of that of all columns before.
    target_violation_ratio = 0.1
    # The next step uses the same Hessian if one step has reduced the violation to this fraction or less.
    hessian_reuse_violation_ratio = 0.02
    # Models with up to this many columns are solved through their Gram matrix, larger ones on the columns.
    max_gram_columns = 1500
    # For sparse rows the Gram matrix is not worth its size if it has more entries per stored value of the columns.
    max_gram_entries_per_value = 2.0
    # A model may leave at most this fraction of the violation, far from the solution.
    max_model_violation_ratio = 0.3
    # A model solved on its columns need not leave less than this fraction of the violation.
    min_model_violation_ratio = 1e-2
    # A factorization is expensive if it costs more than this fraction of a Hessian-vector product with all rows; models far
    # from the solution are then solved inexactly.
    max_factorization_cost_ratio = 0.25
    # After this many sets that the allowed steps did not solve, all models are solved exactly.
    max_unsolved_sets = 2
    # While steps are long, the Hessian is estimated from this many rows per column.
    sampled_rows_per_column = 20
    # Sampling begins with this many columns, from which on a Gram matrix costs more than the other passes.
    min_sampled_columns = 50
    # All rows are used if the sample would hold more than this fraction of those with curvature.
    max_sampled_row_ratio = 0.5
    # So many fixed-point rounds scale the inclusion probabilities, at most 1 each, until they sum to the sample size.
    probability_rounds = 3
    # A step is long, and the solution far, if the objective falls by more than this fraction of its value.
    long_step_decrease_ratio = 1e-3
    # A weighted mean curvature up to this value counts as zero, and is replaced by damping.
    max_zero_curvature = 1e-8
    # This multiple of the largest diagonal entry is added to the diagonal of a Hessian, since columns may coincide.
    hessian_ridge_ratio = 1e-12

    # A search accepts a point whose directional derivative is at most this fraction of the first one in size.
    max_slope_ratio = 0.3
    # After this many trials the search accepts the best point with a sufficient decrease.
    max_trials_after_decrease = 5
    # After this many trials without a sufficient decrease the search fails.
    max_search_trials = 60
    # A sufficient decrease is this fraction of what the first derivative promises (Armijo).
    armijo_ratio = 1e-4
    # Differences of the objective up to this fraction of its value are rounding, and count as no increase.
    objective_rounding_ratio = 1e-15
    # A trial point is at least this fraction of the bracket away from its lower end ...
    min_bracket_ratio = 0.1
    # ... and at most this fraction, so that brackets shrink by a tenth or more.
    max_bracket_ratio = 0.9

    # A step shortened to less than this fraction calls for more damping.
    short_step_ratio = 0.2
    # A short step multiplies the damping by this factor.
    short_step_damping_growth = 4.0
    # A short step leaves at least this multiple of the mean curvature as damping.
    short_step_damping_per_curvature = 1e-3
    # A search that fails multiplies the damping by this factor.
    failed_search_damping_growth = 10.0
    # A full step multiplies the damping by this factor.
    full_step_damping_ratio = 0.2
    # After a full step, damping up to this multiple of the mean curvature is dropped.
    max_dropped_damping_per_curvature = 1e-5

    # With a Gram matrix a round is at most so many sweeps of coordinate descent, which find most of the support.
    max_gram_sweeps = 30
    # Inexact solutions may take so many sweeps, since they may then do without a factorization.
    max_inexact_gram_sweeps = 100
    # Sweeps end when no coordinate changes its gradient by more than this fraction of what the model may leave.
    gram_sweep_tolerance_ratio = 1e-3
    # At most this many Newton steps on the support are taken per model.
    max_support_steps = 60
    # The model is solved exactly when its violation is this fraction of the first one: the gap of an L1 problem is of
    # first order in the gradient's error, so that the certificate follows exact solutions only.
    exact_violation_ratio = 1e-3
    # A truncated support step is accepted if the model falls by this fraction of what its slope promises.
    truncated_step_decrease_ratio = 0.1
    # A truncated step is tried up to the point where one in so many of the changing signs has changed, for each in turn.
    crossing_divisors = (2, 8)
    # A coordinate that would end within this fraction of its value from zero is set to zero: rounding must not keep it.
    zero_coordinate_ratio = 1e-12
    # The first ridge of a factorization is this multiple of the largest diagonal entry: columns may be copies of each other.
    factorization_ridge_ratio = 1e-12
    # A factorization that fails is repeated with the ridge multiplied by this factor.
    factorization_ridge_growth = 100.0
    # After this many failures there is no factorization.
    max_factorization_attempts = 5

    # A model on its columns is solved by at most this many rounds of sweeps and support steps.
    max_column_rounds = 20
    # An inexact solution of such a model takes at most this many rounds, of sweeps only.
    max_inexact_column_rounds = 2
    # Between two sweeps over all coordinates there are at most so many over the nonzero ones.
    max_support_sweeps_per_round = 8
    # These end when no coordinate changes its gradient by more than this fraction of what the model may leave.
    column_sweep_tolerance_ratio = 0.1
    # A round has at most this many support steps by conjugate gradients.
    max_support_steps_per_round = 20
    # The residual of conjugate gradients is reduced to this fraction of the violation that the model may leave.
    cg_tolerance_ratio = 0.3
    # At most this many steps of conjugate gradients are taken per support step.
    max_cg_steps = 200
    # This multiple of the largest entry is added to the diagonal, so that coordinate descent never divides by zero.
    column_ridge_ratio = 1e-12


SETTINGS = Settings()
