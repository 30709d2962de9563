"""Steps on dual variables where w follows by a soft threshold: w = shrink soft(v - step pull direction, threshold)."""

from __future__ import annotations

from fenchel.compile.dispatch import helper

# The search for a step ends where the slope is this fraction of the first one, or after so many trials.
FLAT, SEARCHES = 0.2, 12


@helper
def soft(x, threshold, shrink):
    """x moved towards 0, and scaled."""
    return shrink * (max(x - threshold, 0.0) + min(x + threshold, 0.0))


@helper
def slope_at(v, direction, pull, threshold, shrink, step):
    """<direction, w> after a step: what the slope of the dual has, but for costs."""
    total = 0.0
    for j in range(v.size):
        total += direction[j] * soft(v[j] - step * pull * direction[j], threshold, shrink)
    return total


@helper
def thresholded_step(v, direction, pull, threshold, shrink, slope, most):
    """A step up to `most` at which the dual, whose slope is piecewise linear, still increases, but little."""
    cost = slope - slope_at(v, direction, pull, threshold, shrink, 0.0)
    low, at_low, high = 0.0, slope, most
    at_high = cost + slope_at(v, direction, pull, threshold, shrink, most)
    if at_high >= 0.0:
        return most
    for _ in range(SEARCHES):
        middle = low + (high - low) * min(max(at_low / (at_low - at_high), 0.05), 0.95)
        value = cost + slope_at(v, direction, pull, threshold, shrink, middle)
        if value >= 0.0:
            low, at_low = middle, value
            if value <= FLAT * slope:
                break
        else:
            high, at_high = middle, value
    return low
