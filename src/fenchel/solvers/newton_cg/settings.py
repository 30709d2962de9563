"""Tuning numbers of `NewtonCG`."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Costs of the passes; steps and linear systems for losses of one score; the same for losses of several scores."""

    # Costs of passes over the data, one score per row
    # ------------------------------------------------
    # A Hessian-vector product takes so many nanoseconds per stored value of dense rows. Only the ratios of such costs matter,
    # and those only roughly.
    dense_product_ns_per_value = 0.6
    # A Hessian-vector product takes so many nanoseconds per stored value of sparse rows.
    sparse_product_ns_per_value = 1.7
    # A Hessian-vector product takes so many nanoseconds per feature, for its vectors of length d.
    product_ns_per_feature = 2.0
    # A Gram matrix of dense rows takes so many nanoseconds per product of two values of a row.
    dense_gram_ns_per_product = 0.055
    # A Gram matrix of sparse rows takes so many nanoseconds per product of two values of a row.
    sparse_gram_ns_per_product = 0.9
    # A Gram matrix of dense rows takes so many nanoseconds per value in addition, because each value is scaled once.
    dense_gram_ns_per_value = 0.6
    # A Hessian product of a measure takes so many nanoseconds per row in addition, for the sweeps over sorted scores.
    measure_product_ns_per_row = 30.0
    # A Cholesky factorization takes so many nanoseconds for each of its d^3 / 3 products.
    factor_ns_per_product = 0.15
    # With more features than this there is no Cholesky factor.
    max_factored_features = 5000
    # With more features than this there is no factor if the rows are on workers, because a Gram matrix has d^2 numbers to send.
    max_remote_factored_features = 500
    # With at most so many features a Gram matrix is summed block by block, as on a cluster: adding the d x d matrices of 32
    # blocks then takes less than a tenth of the time that their products take.
    max_block_gram_features = 128
    # With more features than this a factor may not be much larger than the data, and a Gram matrix is summed in fewer parts.
    max_small_features = 1000
    # Such a factor may have so many times the stored values of the data.
    max_factor_size_ratio = 4
    # A Gram matrix is summed in at most so many parts, whatever the number of threads, because each has a d x d matrix.
    max_gram_parts = 4
    # A Gram matrix of many features is summed in at most so many parts.
    max_large_gram_parts = 2
    # A part of a Gram matrix takes at least so many nanoseconds.
    min_gram_part_ns = 4.5e5
    # The rows keep their scores at the last so many points: where a step fails, another one is tried from the point before it.
    kept_points = 3
    # Rows that are mapped from disk are released after so many stored values.
    stored_values_per_release = 1 << 22

    # Newton steps, one score per row
    # -------------------------------
    # A step must lower the objective by this fraction of what its initial slope promises.
    min_decrease_ratio = 1e-4
    # A step may not end where the objective still falls by more than this fraction of its initial slope.
    max_slope_ratio = 0.6
    # The objective may rise by this fraction of itself, which is what rounding can hide.
    value_rounding = 1e-13
    # A line search ends after so many evaluations on stored scores.
    max_line_search_trials = 60
    # A secant trial is at least this fraction of the bracket from its lower end.
    min_bracket_fraction = 0.05
    # A secant trial is at most this fraction of the bracket from its lower end.
    max_bracket_fraction = 0.95
    # As long as every trial was too long, bisection is replaced by this factor: a gradient step can be too long by any factor.
    too_long_cut = 0.01
    # After a step shorter than this the next system takes curvatures averaged over the full step, which was too long.
    max_secant_step = 0.1
    # Averaged curvatures are taken at most so many times: where the slope of a loss is not differentiable, only the plain ones
    # make steps exact.
    max_secant_steps = 5
    # A sample of the rows is left at a squared Newton decrement of this, relative to the value and to features per row, if all
    # rows have curvature.
    sample_decrement_ratio = 1.0
    # A sample is left at this multiple if some rows have no curvature: which rows these are is much of the solution, and a
    # sample determines it less accurately.
    flat_sample_decrement_ratio = 4.0

    # Linear systems, one score per row
    # ---------------------------------
    # The residual of a system, relative to the gradient, is at most this.
    max_residual_ratio = 0.1
    # After a step whose quadratic model was wrong, the residual is at most this.
    max_wrong_model_residual_ratio = 0.7
    # A system ends where the relative gap to expect is this multiple of 1e-3, 1e-6, 1e-9, ..., the usual tolerances.
    tolerance_fraction = 0.3
    # Those tolerances are the powers of this number.
    tolerance_base = 1e-3
    # A factor is renewed when the products since it was made have cost this multiple of what it costs.
    renewal_cost_ratio = 0.75
    # A factor that costs at most so many products is made before the first of them.
    max_inexpensive_factor_products = 10.0
    # Conjugate gradients take at most so many steps.
    max_cg_steps = 250
    # A factor no longer fits if the last system took so many products.
    min_products_of_old_factor = 2
    # A new factor saves about so many products with all rows.
    products_saved_by_factor = 3.0

    # Smoothing, several scores per row
    # ---------------------------------
    # After an inner solve, gamma is multiplied by this.
    gamma_shrink = 0.3
    # After a long inner solve, gamma is multiplied by this.
    slow_gamma_shrink = 0.5
    # With free intercepts gamma shrinks less, by this factor, because every change of gamma upsets their balance.
    free_gamma_shrink = 0.5
    # With free intercepts, after a long inner solve, gamma is multiplied by this.
    slow_free_gamma_shrink = 0.7
    # An inner solve of more Newton steps than this is long.
    max_quick_newton_steps = 6
    # An inner solve ends when its error is at most this multiple of the error that smoothing makes.
    inner_error_ratio = 1.0
    # A max hinge begins with so many epochs of block dual ascent, which are as expensive as two Newton steps.
    initial_dual_epochs = 8
    # The first gamma is found with so many rows.
    first_gamma_rows = 1000
    # At this gamma a proximal step hardly leaves the point where it begins.
    max_gamma = 1e6
    # The search for the first gamma takes at most so many halvings or doublings.
    max_first_gamma_trials = 60
    # At most so many Newton steps are made on the intercepts alone before each iterate.
    max_balancing_steps = 10
    # Intercepts are balanced when no entry of sum p u exceeds this.
    max_imbalance = 1e-13

    # Newton steps and linear systems, several scores per row
    # -------------------------------------------------------
    # The line search ends where the derivative is at most this fraction of the first one, if the loss is differentiable.
    vector_max_slope_ratio = 0.9
    # The line search ends at this fraction if the loss is smoothed.
    smoothed_max_slope_ratio = 0.3
    # The residual of a linear system, relative to the gradient, is this far from the optimum.
    vector_max_residual_ratio = 0.3
    # The residual of a linear system, relative to the gradient, is this near the optimum.
    vector_min_residual_ratio = 0.1
    # A preconditioner needs eigenvectors, which are worth their cost up to so many features.
    max_preconditioned_features = 1500
    # The eigenvectors of a preconditioner cost so many products, times the cube of the number of features.
    eigenvector_products = 1.5
    # A free intercept has no curvature in R'', but the preconditioner needs some: this fraction of that in the risk.
    intercept_curvature_ratio = 1e-3
    # Rows with curvature are copied if they are less than this fraction of all rows.
    max_copied_row_fraction = 0.6
    # A block of rows takes at least so many products: some tenths of a millisecond, above the cost of starting a task.
    min_products_per_block = 1 << 22
    # The rows are divided into at most so many blocks.
    max_blocks = 32
    # A thread takes at least so many scores at a time.
    min_scores_per_block = 1 << 14


SETTINGS = Settings()
