"""Tuning numbers of dual coordinate ascent. None of them changes what a solve converges to, only how long it takes."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """A `_ratio` is relative to what its comment names, gaps are relative duality gaps, "values" are stored entries of X."""

    # --- Epochs for general mirror maps (`solver.py`) ---

    # A row whose dual variable has not changed for so many epochs is left out of the active set.
    max_idle_epochs = 3
    # Weight of a free intercept in a row's curvature, relative to that of the features of a typical row.
    epoch_intercept_ratio = 1.0
    # The lazily updated sums of a mirror map are recomputed after an epoch over more than 1 / 8 of the rows.
    renewal_rows_divisor = 8

    # --- Regularizers and changes of variables (`mirror_form.py`, `whitening.py`) ---

    # Statistics of rows are computed for so many rows at a time, so that temporary arrays stay small beside X.
    rows_per_statistics_block = 1024
    # A dense Cholesky factor of K is computed for at most so many features (128 MB).
    max_whitened_features = 4000

    # --- Copies of active rows (`active_rows.py`) ---

    # Columns are renumbered by frequency from this many on: the weights of fewer columns fit into the nearest cache anyway.
    min_renumbered_columns = 2048
    # Frequencies of columns are distinguished up to about so many rows, which bounds the counting sort's table.
    max_column_frequencies = 1024
    # Dense rows are copied so many values at a time, so that rows which move up in place are read before they are overwritten.
    values_per_dense_copy = 1 << 17

    # --- Phases for L2, Quadratic and ElasticNet (`phases.py`): when the gap is evaluated ---

    # Epochs over all rows before the gap is first evaluated, for differentiable and for nonsmooth losses.
    first_epochs_smooth = 4
    first_epochs_nonsmooth = 3
    # The gap is evaluated so many times on all rows before the active ones are copied.
    max_evaluations_before_copy = 3
    # Epochs between two evaluations of the gap are at most so many.
    max_epochs_per_evaluation = 10
    # The largest gap to aim at; on the way there, nonsmooth losses need more epochs, so that an earlier target is useful.
    max_target_gap_smooth = 1e-3
    max_target_gap_nonsmooth = 1e-2
    # Epochs are planned for this fraction of the target gap, so that it is reached when it is evaluated.
    target_margin_ratio = 0.9
    # From a gap of at most this many times tol, tol itself is the next target instead of the next power of ten.
    jump_to_tol_ratio = 30.0
    # The same for gaps below `newton_max_gap`.
    jump_to_tol_ratio_near = 1e3
    # The log of the gap is taken to fall by at least this per epoch, which avoids a division by zero.
    min_log_gap_fall_per_epoch = 1e-9
    # P - D in units of what an epoch adds to D, until it is measured, and the least that is believed of a measurement: 0.5 to 4
    # were seen with differentiable losses.
    gap_per_gain = 0.8
    # The most that is believed of a measurement.
    max_gap_per_gain = 20.0
    # An epoch over the high-gain rows alone divides the gap by about this.
    high_gain_epoch_gap_ratio = 2.0
    # No copy is made if so few epochs over all rows are expected to finish the solve.
    max_finishing_epochs = 4
    # The rate at which the log of the gap falls is expected to drop to this fraction of the measured one.
    finishing_rate_ratio = 0.8

    # --- Phases: the active rows ---

    # All rows are evaluated after at most so many rounds on the active ones.
    max_rounds_per_full_evaluation = 4
    # If the gap of all rows exceeds that of the active ones by this factor, rows outside have begun to move.
    max_full_gap_ratio = 2.0
    # A copy pays if it has less than this fraction of the rows.
    max_copied_rows_ratio = 0.7
    # A row is active if its dual variable would move after its score has changed by a margin: this fraction of the largest
    # violation of a row, or this multiple of the mean one, whichever is less.
    margin_per_max_violation = 0.5
    margin_per_mean_violation = 15.0
    # At most so many values are visited between two iterates, so that limits of time are kept.
    max_values_per_iterate = 1e8

    # --- Phases: the free intercept ---

    # Least weight of the intercept relative to the features of a row: with much more it oscillates.
    intercept_ratio = 0.1
    # The intercept's proximal term allows steps of this many times the curvature of the loss's conjugate: with less it
    # converges slowly.
    intercept_per_conjugate_curvature = 10.0

    # --- Newton steps on free rows (`free_newton.py`) ---

    # Newton steps are tried below this gap, ...
    newton_max_gap = 1e-3
    # ... and only where the log of the gap falls by less than this per epoch.
    newton_max_log_gap_fall_per_epoch = 0.5
    # Epochs after a Newton step; with a free intercept fewer, because they disturb its balance.
    epochs_per_newton_step = 4
    epochs_per_newton_step_free_intercept = 2
    # The conjugate is probed by dual steps with so many times the row's own q, and with twice that.
    newton_probe_ratio = 16.0
    # A probed curvature below this fraction of the probe is rounding.
    newton_min_curvature_ratio = 1e-6
    # A relative change by the projection onto the domain below this is rounding.
    newton_rounding_ratio = 1e-6
    # The damping at the start and its range, relative to the mean q of the rows.
    newton_first_damping_ratio = 0.03
    newton_min_damping_ratio = 1e-12
    newton_max_damping_ratio = 1e3
    # A step that was cut raises the least damping to at most this.
    newton_max_damping_floor_ratio = 0.1
    # A step of which less than this fraction was taken counts as cut, ...
    newton_cut_step_fraction = 0.5
    # ... and multiplies the damping by this.
    newton_cut_damping_factor = 3.0
    # A step after which the gap is below this fraction of the gap before is good, ...
    newton_good_gap_ratio = 0.25
    # ... and multiplies the damping by this.
    newton_good_damping_factor = 0.1
    # Any other step of which more than this fraction was taken counts as full, ...
    newton_full_step_fraction = 0.9
    # ... and multiplies the damping by this.
    newton_full_damping_factor = 0.3
    # A step solves at most so many linear systems, each with the rows held that the last solution moved out of their piece.
    newton_max_solves_per_step = 4
    # Conjugate gradient steps per system; few if they would visit more than `newton_max_values_per_solve`.
    newton_max_cg_steps = 200
    newton_min_cg_steps = 10
    newton_max_values_per_solve = 1e8
    # Conjugate gradients stop at this residual, relative to that at the start of the first system.
    newton_cg_residual_ratio = 0.5
    # The line search halves a step at most so many times, ...
    newton_max_halvings = 20
    # ... until D rises by this fraction of what its slope promises.
    newton_min_rise_ratio = 0.1

    # --- Initial epochs for Newton's method (`initial_epochs.py`) ---

    # With a free intercept the gain of an epoch does not tell the gap, so that the number of epochs is fixed.
    initial_epochs_free_intercept = 4
    # Without one there are at most so many epochs.
    initial_max_epochs = 20
    # Epochs end if the tolerance seems further away than this many more of them: then Newton steps are faster.
    initial_patience_epochs = 6.0
    # Every epoch over more than so many values, some tenths of a second, is followed by an iterate.
    initial_max_values_per_iterate = 1 << 24
    # Weight of a free intercept in a row's curvature, relative to that of the features of a typical row.
    initial_intercept_ratio = 0.05
    # With more rows per feature, rows are so redundant that steps on single ones make little progress.
    initial_max_rows_per_feature = 20.0


SETTINGS = Settings()
