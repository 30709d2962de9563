"""The section on the regularization path: weights and scores against the strength, with the chosen point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.errors import InputError
from fenchel.estimators.path import Path
from fenchel.estimators.strength_range import CertifiedPath
from fenchel.report.chart import STYLES, Axes, Curve, chart, legend
from fenchel.report.markup import Markup, element, inside, more, number, shown, table
from fenchel.report.weights import feature
from fenchel.report.words import status_pill

BOUNDS = 241  # strengths at which the bound of a certified path is drawn
LOWEST_BOUND = 1e-16  # that is drawn: the scale is logarithmic


@dataclass(frozen=True)
class PathChoice:
    """A regularization path with the chosen strength and the scores it was chosen by.

    Attributes
    ----------
    path : fenchel.Path
    chosen : the chosen strength; None if none was chosen.
    scores, errors : a score for every strength, such as a mean over folds, and its standard error; None if there are none.
    score_name : the name of the score.
    certified : a fenchel.CertifiedPath, whose bound is shown for every strength in its range; None if there is none.

    Examples
    --------
    >>> import fenchel
    >>> problem = fenchel.Problem([[0.0], [1.0], [2.0]], [-1, -1, 1], loss="logistic", fit_intercept=True)
    >>> PathChoice(fenchel.path(problem, [0.1, 1.0]), chosen=0.1).place
    0
    """

    path: Path
    chosen: float | None = None
    scores: Sequence[float] | None = None
    errors: Sequence[float] | None = None
    score_name: str = "score"
    certified: CertifiedPath | None = None

    def __post_init__(self) -> None:
        for name in ("scores", "errors"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.path):
                raise InputError(f"{name} must have one entry per strength ({len(self.path)}), got {len(values)}")
        if self.chosen is not None and self.place is None:
            raise InputError(f"chosen={self.chosen!r} is not one of the strengths of the path")

    @property
    def place(self) -> int | None:
        """The index of the chosen strength in the path."""
        if self.chosen is None:
            return None
        near = np.flatnonzero(np.isclose(self.path.alphas, self.chosen, rtol=1e-9, atol=0.0))
        return int(near[0]) if near.size else None


def section(choice: PathChoice, names: Sequence[str] | None, tables: dict[str, Any], charts: dict[str, Any]) -> Markup:
    """The section; numbers are added to `tables`, data for the script to `charts`."""
    order = np.argsort(choice.path.alphas, kind="stable")
    tables["path"] = {"alpha": choice.path.alphas[order].tolist(), **_columns(choice, order)}
    figures = [_weights(choice, order, names, tables, charts), _scores(choice, tables, charts)]
    figures.append(_bounds(choice, tables, charts))
    intro = f"{len(choice.path)} strengths, {sum(r.converged for r in choice.path)} of them certified"
    if choice.chosen is not None:
        intro += f"; chosen: alpha = {shown(float(choice.chosen), 6)} (the dashed line)"
    text = element("p", intro, ". Every point has its own certificate.")
    return inside([text, element("div", figures, class_="grid"), _numbers(choice, order)])


def _columns(choice: PathChoice, order: np.ndarray) -> dict[str, list[float]]:
    results = [choice.path[int(k)] for k in order]
    columns = {
        "relative_gap": [float(r.certificate.relative_gap) for r in results],
        "nonzero": [float(np.count_nonzero(np.atleast_2d(r.coef).any(axis=0))) for r in results],
    }
    if choice.scores is not None:
        columns["score"] = [float(choice.scores[int(k)]) for k in order]
        if choice.errors is not None:
            wide = [float(choice.errors[int(k)]) for k in order]
            columns["low"] = [s - e for s, e in zip(columns["score"], wide, strict=True)]
            columns["high"] = [s + e for s, e in zip(columns["score"], wide, strict=True)]
    return columns


def _weights(
    choice: PathChoice, order: np.ndarray, names: Sequence[str] | None, tables: dict[str, Any], charts: dict[str, Any]
) -> Markup | None:
    """The largest weights at the chosen point (else at the weakest penalty)."""
    problem = choice.path[0].problem
    if problem.is_vector or not problem.is_linear:
        return None
    coefs = choice.path.coefs[order]
    at = choice.path.coefs[choice.place if choice.place is not None else order[0]]
    kept = [int(j) for j in np.argsort(-np.abs(at), kind="stable")[:STYLES] if at[j] != 0.0]
    for style, j in enumerate(kept):
        tables["path"][f"weight{style}"] = coefs[:, j].tolist()
    curves = [Curve(feature(names, j), style, "path", "alpha", f"weight{style}") for style, j in enumerate(kept)]
    axes = Axes("alpha (strength of the penalty)", "weight", x_log=True, mark=choice.chosen)
    title = f"Weights along the path: the {len(kept)} largest at the {'chosen' if choice.chosen else 'weakest'} penalty"
    return _figure("path-weights", title, curves, axes, tables, charts)


def _scores(choice: PathChoice, tables: dict[str, Any], charts: dict[str, Any]) -> Markup | None:
    if choice.scores is None:
        return None
    curves = [Curve(choice.score_name, 0, "path", "alpha", "score")]
    if choice.errors is not None:
        curves += [Curve("one standard error below", 4, "path", "alpha", "low")]
        curves += [Curve("one standard error above", 5, "path", "alpha", "high")]
    axes = Axes("alpha (strength of the penalty)", choice.score_name, x_log=True, mark=choice.chosen)
    return _figure("path-scores", f"{choice.score_name} along the path", curves, axes, tables, charts)


def _bounds(choice: PathChoice, tables: dict[str, Any], charts: dict[str, Any]) -> Markup | None:
    """The relative gap proven at every strength of a range, beside the one that was asked for."""
    path = choice.certified
    if path is None:
        return None
    alphas = np.geomspace(path.low, path.high, BOUNDS)
    alphas[0], alphas[-1] = path.low, path.high
    bounds = np.maximum([path.bound(alpha) for alpha in alphas.tolist()], LOWEST_BOUND)
    tables["path-bounds"] = {"alpha": alphas.tolist(), "bound": bounds.tolist(), "eps": [path.eps] * BOUNDS}
    curves = [Curve("proven gap", 0, "path-bounds", "alpha", "bound"), Curve("eps", 4, "path-bounds", "alpha", "eps")]
    axes = Axes("alpha (strength of the penalty)", "relative gap", x_log=True, y_log=True, mark=choice.chosen)
    state = "certified" if path.converged else "not certified everywhere"
    title = (
        f"Relative gap at every alpha from {shown(path.low, 6)} to {shown(path.high, 6)}: {state}, {len(path)} solves"
    )
    return _figure("path-gaps", title, curves, axes, tables, charts)


def _figure(
    key: str, title: str, curves: Sequence[Curve], axes: Axes, tables: dict[str, Any], charts: dict[str, Any]
) -> Markup | None:
    picture = chart(key, curves, tables, axes) if curves else None
    if picture is None:
        return None
    charts[key] = picture.about
    entries: list[tuple[int | str, str]] = [(curve.style, curve.name) for curve in curves]
    entries += [("goal", "chosen")] if axes.mark is not None else []
    return element("figure", element("figcaption", title), legend(entries), picture.svg)


def _numbers(choice: PathChoice, order: np.ndarray) -> Markup:
    columns, rows = _columns(choice, order), []
    for at, k in enumerate(order):
        result = choice.path[int(k)]
        mark = " ◀ chosen" if choice.place == int(k) else ""
        cells = [
            number(result.certificate.primal, 8),
            number(result.certificate.relative_gap, 3),
            status_pill(result.status),
        ]
        cells.append(number(int(columns["nonzero"][at]), 9))
        cells += [number(columns["score"][at], 5)] if "score" in columns else []
        rows.append([inside([number(float(choice.path.alphas[k]), 6, "alpha"), mark]), *cells])
    heads = ["alpha", "primal", "relative gap", "status", "features used"]
    heads += [choice.score_name] if "score" in columns else []
    return more(f"Numbers for all {len(rows)} strengths", table(heads, rows, "The regularization path"))
