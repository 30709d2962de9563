"""The part of the independent checker (`independent.py`) for structured outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.certificates.independent_sums import Plane, Risk, exact_sum, mixed, towards_zero, weighted_sum
from fenchel.problems.structured import StructuredProblem
from fenchel.structured import Gibbs, Marginals, Pool
from fenchel.structured.marginals import parts_of
from fenchel.structured.parts import add_cliques, recover_cliques
from fenchel.structured.protocol import (
    add_label,
    begin_pass,
    best_label,
    label_cost,
    label_margin,
    log_partition,
    part_scores,
    plane_ceiling,
    plane_factor,
    score_size,
)


def structured_hinge(problem: StructuredProblem, w: np.ndarray, b: float, point: Any) -> tuple[Risk, Plane]:
    model, p, first = problem.model, problem.weights, problem.first
    best = np.zeros(int(first[-1]), dtype=np.int32)
    S, losses, sizes = np.empty(model.workspace_size), [], 0.0
    for i in range(problem.n):
        y = best[first[i] : first[i + 1]]
        part_scores(model, w, i, S)
        best_label(model, w, S, i, y)
        cost = float(label_cost(model, i, y))
        margin = float(plane_factor(model, cost) * label_margin(model, w, S, i, y))
        losses.append(max(cost + margin, float(plane_ceiling(model, w, S, i)), 0.0))
        sizes += float(p[i]) * (cost + abs(margin))
    total, size = weighted_sum(p, losses)
    risk = Risk(total, (size + sizes) * math.log2(2.0 + problem.d))
    if isinstance(point, Marginals):
        return risk, _marginal_plane(problem, point)
    if not isinstance(point, Pool):
        edges = np.arange(problem.n + 1, dtype=np.int64)
        point = Pool(edges, np.ones(problem.n), np.concatenate([[0], np.cumsum(np.diff(first))]), best)
    gains, g, spread = [], np.zeros(problem.d), np.zeros(problem.d)
    for i in range(problem.n):
        of_example = range(point.start[i], point.start[i + 1])
        for k, a in zip(of_example, mixed(point.weights[of_example.start : of_example.stop], True), strict=True):
            y, psi = point.labels[point.offsets[k] : point.offsets[k + 1]], np.zeros(problem.d)
            cost = float(label_cost(model, i, y))
            add_label(model, i, y, float(p[i] * a * plane_factor(model, cost)), psi)
            gains.append(float(p[i] * a) * cost)
            g += psi
            spread += np.abs(psi)
    return risk, _weighed(problem, gains, g, spread)


def _marginal_plane(problem: StructuredProblem, point: Marginals) -> Plane:
    """The same for probabilities of parts, which are first converted to marginals of a distribution."""
    parts, g, gains = parts_of(problem.model), np.zeros(problem.d), []
    values = np.clip(np.nan_to_num(np.array(point.values, dtype=float)), 0.0, 1.0)
    S, spread, scale = np.empty(parts.workspace_size), np.zeros(problem.d), min(max(float(point.scale), 0.0), 1.0)
    for i in range(problem.n):
        mu, change = values[point.start[i] : point.start[i + 1]], np.zeros(problem.d)
        recover_cliques(parts, i, mu)
        gains.append(
            scale * float(problem.weights[i] * add_cliques(parts, i, mu, scale * problem.weights[i], S, change))
        )
        g += change
        spread += np.abs(change)
    return _weighed(problem, gains, g, spread)


def _weighed(problem: StructuredProblem, gains: list[float], g: np.ndarray, spread: np.ndarray) -> Plane:
    constant, size = exact_sum(gains), sum(map(abs, gains))
    return Plane(constant, size, -g, math.log2(2.0 + problem.n) * spread, towards_zero(constant, size))


def structured_log(problem: StructuredProblem, w: np.ndarray, b: float, point: Any) -> tuple[Risk, Plane]:
    height, size, _ = _log_partitions(problem, w)
    weights, coefs = point if isinstance(point, Gibbs) else (np.ones(1), w[None])
    constant, sizes, slope_mixed = 0.0, 0.0, np.zeros(problem.d)
    for a, at in zip(mixed(weights, True), coefs, strict=True):
        there, terms, g = _log_partitions(problem, at)
        constant += a * (there - math.fsum(g * at))
        sizes += a * (terms + float(np.abs(g) @ np.abs(at)))
        slope_mixed += a * g
    long = math.log2(2.0 + problem.n + problem.d)
    plane = Plane(
        constant, long * sizes, -slope_mixed, long * np.abs(slope_mixed), towards_zero(constant, long * sizes)
    )
    return Risk(height, long * size), plane


def _log_partitions(problem: StructuredProblem, w: np.ndarray) -> tuple[float, float, np.ndarray]:
    """(sum p log-loss, its size, its gradient) at w."""
    model, p, g, w = problem.model, problem.weights, np.zeros(problem.d), np.ascontiguousarray(w, dtype=float)
    S, terms, size = np.zeros(model.workspace_size), [], 0.0
    begin_pass(model, w, S)
    for i in range(problem.n):
        part_scores(model, w, i, S)
        size += float(p[i] * score_size(model, S, i))
        terms.append(float(log_partition(model, w, S, i, p[i], g)))
    total, more = weighted_sum(p, terms)
    return total, size + more, g
