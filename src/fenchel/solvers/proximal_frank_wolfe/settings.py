"""The tuning numbers of `ProximalFrankWolfe`, with the reason for each."""

from __future__ import annotations

from fenchel.solvers.tuning import Tuning


class Settings(Tuning):
    """Fields in the order: the length of proximal steps, the work on each, averages."""

    # The first sigma is this multiple of P(0) / |gradient beyond the L1 threshold|^2, the length of a gradient step that would
    # make the loss 0. Handwritten words: with 10 and 30 most time went by until sigma had grown; 400 to 20000 were alike.
    first_length_ratio = 1000.0
    # A gradient within the L1 threshold (w = 0 is optimal then) counts as beyond it by this multiple of the threshold.
    min_excess_ratio = 1e-2
    # sigma grows by `length_growth` where the inner gap is less than `low_share` of the whole gap, since the rest is due to the
    # proximal term, and is divided by `length_decay` where it is more than `high_share`.
    length_growth, length_decay = 2.0, 1.3
    low_share, high_share = 0.2, 0.5
    # sigma does not exceed this multiple of the first one, since rounding errors of w grow with it.
    max_length_ratio = 1e6

    # Epochs of a proximal step: at most so many, since a step need not be exact ...
    max_epochs = 20
    # ... and until the inner gap is this multiple of the proximal term, or of this fraction of the tolerance times P.
    inner_gap_ratio, inner_tol_share = 1.0, 0.2
    # In one of so many epochs every example is visited and its max-oracle is called.
    epochs_per_full_epoch = 6

    # P is also evaluated at an average of the w of the proximal steps, in which the last one has this weight.
    average_weight = 0.2


SETTINGS = Settings()
