"""The base of the solvers' tuning numbers."""

from __future__ import annotations


class Tuning:
    """Numbers that a solver was tuned to, one attribute each, with its meaning and reason in the comment above it.

    A solver reads them from one object. Other values are for experiments and tests:

    >>> class Settings(Tuning):
    ...     # A line search ends after so many trials.
    ...     max_trials = 60
    ...     # It ends where the slope is at most this fraction of the first one.
    ...     max_slope_ratio = 0.9
    >>> Settings().max_trials, Settings(max_trials=5)
    (60, Settings(max_trials=5))
    """

    def __init__(self, **changes: object):
        for name in changes:
            if not hasattr(type(self), name):
                raise TypeError(f"{type(self).__module__} has no tuning number {name!r}")
        self.__dict__.update(changes)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"tuning numbers do not change; make another object: Settings({name}={value!r})")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"
