"""The tuning numbers of `KernelAscent`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: working sets, steps on one of them, shrinking, rounding."""

    # A working set has this many rows if the loss is smooth, when each step is expensive.
    smooth_set_rows = 128
    # A working set has this many rows if the loss is nonsmooth, when steps are inexpensive.
    nonsmooth_set_rows = 1024

    # The working set is left when its best gain has fallen to this fraction of the first one.
    min_gain_ratio = 0.03
    # At most this many steps per row of the working set are taken.
    max_steps_per_row = 10
    # A working set that contains every violating row is left at this fraction: no other row can be chosen.
    min_complete_gain_ratio = 1e-14
    # Such a set may take this many steps per row ...
    max_complete_steps_per_row = 500
    # ... as long as steps times rows, which is the work, are at most this number.
    max_complete_work = 2e6

    # All rows are checked, and P and D evaluated, once in this many working sets.
    sets_per_evaluation = 8
    # A row without a violation in this many successive working sets is shrunk until all rows are checked again.
    max_idle_sets = 3

    # All scores are recomputed after this many working sets, to remove the rounding errors of updates.
    sets_per_score_refresh = 1000
    # K counts as indefinite if c'Kc / 2 is below minus this fraction of sum |c_i (Kc)_i|: rounding alone is smaller.
    indefinite_ratio = 1e-8


SETTINGS = Settings()
