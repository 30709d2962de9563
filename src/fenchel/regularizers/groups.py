"""Groups of features: a partition, Euclidean norms over its groups, and the penalty sum_g bound_g |w_g| with its dual."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.regularizers.feature_weights import checked_vector, checked_weights
from fenchel.regularizers.jacobian import ProxJacobian, with_clusters
from fenchel.regularizers.numerics import Vector, quiet, round_into

Labels = np.ndarray  # the number of every feature's group


def checked_groups(given: Any) -> Labels:
    """The group number of every feature, from such numbers or from lists of features; InputError unless it is a partition.

    >>> checked_groups([0, 0, 1]), checked_groups([[0, 1], [2]])
    (array([0, 0, 1]), array([0, 0, 1]))
    """
    if isinstance(given, (str, bytes)) or not np.iterable(given):
        raise InputError(f"groups must be the group number of every feature, or lists of features, got {given!r}.")
    given = list(given)
    nested = [np.iterable(entry) for entry in given]
    if any(nested):
        if not all(nested):
            raise InputError("groups mixes numbers and lists: give a group number per feature, or a list per group.")
        labels = _from_lists([_whole(f"groups[{g}]", members) for g, members in enumerate(given)])
    else:
        labels = _whole("groups", given)
        absent = np.setdiff1d(np.arange(labels.max() + 1), labels)
        if absent.size:
            raise InputError(f"no feature is in group {absent[0]}: number the groups 0, 1, 2, ... without gaps.")
    labels.flags.writeable = False
    return labels


def _whole(name: str, given: Any) -> Labels:
    numbers = checked_vector(name, list(given))
    bad = np.flatnonzero((numbers != np.floor(numbers)) | (numbers < 0.0) | (numbers >= 2.0**31))
    if bad.size:
        raise InputError(f"{name} must hold whole numbers >= 0; entry {bad[0]} is {numbers[bad[0]]}.")
    return numbers.astype(np.intp)


def _from_lists(members: list[Labels]) -> Labels:
    listed = np.concatenate(members)
    labels = np.full(int(listed.max()) + 1, -1, dtype=np.intp)
    for g, features in enumerate(members):
        for j in features:
            if labels[j] >= 0:
                where = f"groups {labels[j]} and {g}" if labels[j] != g else f"group {g} twice"
                raise InputError(f"feature {j} is in {where}: groups must not overlap.")
            labels[j] = g
    if (labels < 0).any():
        raise InputError(f"feature {int(np.argmin(labels))} is in no group: put every feature into one.")
    return labels


def checked_group_weights(weights: Any, labels: Labels) -> Vector | None:
    """None, or a read-only array of one number > 0 per group; InputError otherwise."""
    found = checked_weights(weights)
    if found is None:
        return None
    count = int(labels.max()) + 1
    if found.size != count:
        raise InputError(f"weights has {found.size} entries but there are {count} groups; give one per group.")
    if not found.all():
        raise InputError(f"weights[{int(np.argmin(found))}] is 0: give every group a weight > 0.")
    return found


class Groups:
    """A partition of the features, with the norms of its groups.

    >>> groups = Groups(np.array([0, 1, 0]))
    >>> groups.sizes, groups.norms(np.array([3.0, -2.0, 4.0]))
    (array([2, 1]), array([5., 2.]))
    """

    def __init__(self, labels: Labels):
        self.labels = labels
        self.order = np.argsort(labels, kind="stable")
        self.sizes = np.bincount(labels)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    @quiet
    def norms(self, x: Vector) -> Vector:
        """|x_g| for every group, without overflow or underflow of the squares."""
        sizes = np.abs(x[self.order])
        top = np.maximum.reduceat(sizes, self.starts)
        ratios = sizes / np.repeat(np.where(top > 0.0, top, 1.0), self.sizes)
        return top * np.sqrt(np.add.reduceat(ratios * ratios, self.starts))


class GroupPenalty:
    """N(w) = sum_g bounds_g |w_g|, whose conjugate is 0 where |v_g| <= bounds_g for all g, else inf."""

    def __init__(self, labels: Labels, bounds: Vector):
        self.groups, self.bounds = Groups(labels), bounds

    @quiet
    def value(self, w: Vector) -> float:
        """N(w)."""
        return float(self.bounds @ self.groups.norms(w))

    def contains(self, v: Vector) -> bool:
        """Whether |v_g| <= bounds_g for all g, without tolerance."""
        return bool(np.all(self.groups.norms(v) <= self.bounds))

    @quiet
    def scale_into(self, v: Vector) -> float:
        """The largest c in [0, 1] whose c v is contained, in floats too."""
        norms = self.groups.norms(v)
        outside = norms > self.bounds
        if not outside.any():
            return 1.0
        return round_into(float(np.min(self.bounds[outside] / norms[outside])), lambda c: self.contains(c * v))

    @quiet
    def shrinkage(self, w: Vector, step: float) -> tuple[Vector, Vector]:
        """(max(1 - step bounds_g / |w_g|, 0), |w_g|) for every group."""
        norms = self.groups.norms(w)
        thresholds = step * self.bounds
        return np.where(norms > thresholds, 1.0 - thresholds / np.where(norms > 0.0, norms, 1.0), 0.0), norms

    def prox(self, w: Vector, step: float) -> Vector:
        """Every group shortened by step bounds_g, to 0 if it is not longer."""
        return w * self.shrinkage(w, step)[0][self.groups.labels]

    @quiet
    def prox_jacobian(self, w: Vector, step: float, moves: Vector | float = 1.0) -> ProxJacobian:
        """f_g diag(moves) + (1 - f_g) q_g q_g' for every group with f_g = 1 - step bounds_g / |w_g| > 0, q_g = w_g / |w_g|."""
        factors, norms = self.shrinkage(w, step)
        labels = self.groups.labels
        active = factors[labels] > 0.0
        numbers = np.cumsum(factors > 0.0) - 1
        directions = np.where(active, w / np.where(active, norms[labels], 1.0), 0.0)
        rows = np.where(active & (directions != 0.0), numbers[labels], -1)
        return with_clusters(factors[labels] * moves, rows, directions, 1.0 - factors[factors > 0.0])
