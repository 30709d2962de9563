"""The base of the estimators: from parameters to problems and solves, from results to fitted attributes and warnings."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel import regularizers, solvers
from fenchel.data.accept import accept_matrix, accept_vector
from fenchel.data.deviations import column_deviations
from fenchel.engines import Local
from fenchel.errors import InputError
from fenchel.estimators.budget import Budget
from fenchel.estimators.callbacks import CallbackSupportMixin, Tasks, View, with_callbacks
from fenchel.estimators.plain_state import PlainState
from fenchel.estimators.saving import M, Saving
from fenchel.models.parts import linear_scores
from fenchel.problems.scalar import Problem
from fenchel.result import Result, Status
from fenchel.solving.solve import solve

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import ArrayLike

log = logging.getLogger("fenchel.estimators")


class Along(NamedTuple):
    """The problems of an estimator for every strength: functions alpha -> Problem, and one that sets the fitted attributes from
    their results at an alpha."""

    makes: Sequence[Callable[[float], Problem]]
    keep: Callable[[list[Result], float], None]
    classes: np.ndarray | None = None


class SolvingEstimator(Saving[M], PlainState, CallbackSupportMixin, BaseEstimator):
    """Base of the estimators with coefficients: their parameters, their rows, and how their problems are solved."""

    # Parameters of every subclass.
    regularizer: Any
    alpha: float | None
    C: float | None
    l1_ratio: float
    tol: float
    solver: Any
    max_iter: int | None
    max_time: float | None
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    verbose: int
    checkpoint: Any
    engine: Any
    standardize: bool = False  # of those that have it

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _training_rows(self, X: ArrayLike | sp.csr_matrix, **with_y: Any) -> Any:
        """X, or (X, y), validated by scikit-learn, without a copy if the kernels can use X as it is.

        Finiteness is checked by `accept_matrix`, whose error names the row and the column.
        """
        found = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", ensure_all_finite=False, **with_y
        )
        return (accept_matrix(found[0])[0], found[1]) if with_y else accept_matrix(found)[0]

    def _raw_scores(self, X: ArrayLike | sp.csr_matrix) -> np.ndarray:
        """<x_i, w> + b for every row and every row of coef_: shape (n,) or (n, k)."""
        return self._scores_of(self._new_rows(X))

    def _new_rows(self, X: ArrayLike | sp.csr_matrix) -> Any:
        """Rows to predict, validated against those of the fit."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
        )
        return accept_matrix(X)[0]

    def _scores_of(self, X: np.ndarray | sp.csr_matrix) -> np.ndarray:
        """The same for rows that have been validated."""
        return linear_scores(X, self.coef_, self.intercept_)

    def _regularizer(self, total_weight: float) -> Any:
        """The regularizer object given by the parameters; alpha = 1 / (C * sum of weights)."""
        alpha, C = self.alpha, self.C
        if alpha is not None and C is not None:
            raise InputError(f"give alpha or C, not both (alpha = 1 / (C * sum of weights)): got {alpha=}, {C=}")
        if C is not None:
            if not (isinstance(C, Real) and not isinstance(C, bool) and 0.0 < float(C) < np.inf):
                raise InputError(f"C must be > 0 and finite, got {C!r}")
            alpha = 1.0 / (float(C) * total_weight)
        if alpha is not None and isinstance(self.regularizer, regularizers.Regularizer):
            name = "alpha" if C is None else "C"
            raise InputError(f"{name} is given, but the regularizer object {self.regularizer!r} has its own alpha")
        return self._named_regularizer(alpha)

    def _named_regularizer(self, alpha: float | None) -> Any:
        if isinstance(self.regularizer, str) and self.regularizer == "elastic_net" and alpha != 0.0:
            strength = regularizers.DEFAULT_ALPHA if alpha is None else alpha
            return regularizers.ElasticNet(strength, self.l1_ratio)
        return regularizers.make(self.regularizer, alpha)

    def _standardized(self, regularizer: Any, X: Any, weights: np.ndarray | None = None) -> Any:
        """The regularizer as if the columns of X had unit variance, if that is asked for."""
        return regularizer.standardized(column_deviations(X, weights)) if self.standardize else regularizer

    def _with_strength(self, alpha: float) -> Any:
        """The regularizer with another alpha, for paths."""
        if isinstance(self.regularizer, regularizers.Regularizer):
            return self.regularizer.scaled(alpha)
        return self._named_regularizer(alpha)

    def _options(self) -> dict[str, Any]:
        """The arguments of every solve of this estimator."""
        return {"solver": self._solver(), "tol": self.tol, "engine": self._engine(), "callback": self._watcher()}

    def _solver(self) -> Any:
        """The solver; one that shuffles rows gets its seed from random_state, unless that is None."""
        if isinstance(self.solver, str) and self.solver == "auto":
            return "auto"
        solver = solvers.make(self.solver)
        if self.random_state is None or not any(field.name == "seed" for field in fields(solver)):
            return solver
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return replace(solver, seed=seed)  # type: ignore[call-arg]

    def _engine(self) -> Any:
        if self.engine is not None:
            if not hasattr(self.engine, "blocks") and not hasattr(self.engine, "oracle"):
                raise InputError(f"engine must be None or one of fenchel.engines, got {self.engine!r}")
            return self.engine
        try:
            return Local(threads=int(effective_n_jobs(self.n_jobs)))
        except (TypeError, ValueError) as error:
            raise InputError(f"n_jobs must be None, -1 or a number of threads, got {self.n_jobs!r}: {error}") from None

    def _watcher(self) -> Callable[[Any], bool] | None:
        """A callback that logs and never stops the solve: one line a second, or all of them if verbose > 1."""
        if not self.verbose:
            return None
        last = [-np.inf]

        def watch(state: Any) -> bool:
            now = time.perf_counter()
            if self.verbose > 1 or now - last[0] >= 1.0:
                last[0] = now
                log.info(
                    "%s iteration %d, %.1f passes, %.2f s: primal %.8g, dual %.8g, gap %.3g",
                    state.solver, state.iteration, state.passes, state.seconds, state.primal, state.dual, state.gap,
                )  # fmt: skip
            return False

        return watch

    def _fit_problems(
        self, problems: Sequence[Callable[[], Problem]], starts: Sequence[Any], view: View | None = None
    ) -> list[Result]:
        """Solve the problems within a common time limit, and warn about those that are not certified."""
        results = self._solve_all(problems, starts, view)
        self._warn(results)
        return results

    @with_callbacks
    def _solve_all(
        self, problems: Sequence[Callable[[], Problem]], starts: Sequence[Any], view: View | None
    ) -> list[Result]:
        """The results; scikit-learn's callbacks are called for every solve and iteration."""
        budget, options = Budget(len(problems), self.max_iter, self.max_time), self._options()
        tasks, watch = Tasks(self, len(problems), view), options.pop("callback")
        places, results = self._checkpoints(len(problems)), []
        for make, start, place in zip(problems, starts, places, strict=True):
            problem = make()
            keep = {"checkpoint": place, "resume": True}
            with tasks.solve(problem, watch) as told:
                found = solve(problem, start=start, callback=told, **keep, **options, **budget.next())
                results.append(budget.note(found))
        tasks.close()
        return results

    def _checkpoints(self, count: int) -> Sequence[Any]:
        """The checkpoint of each solve."""
        if self.checkpoint is None:
            return [None] * count
        from fenchel.solving.checkpoint import checkpoints

        return checkpoints(self.checkpoint, count)

    def _warn(self, results: Sequence[Result]) -> None:
        """One ConvergenceWarning for the worst of the solves that are not certified, though they could be."""
        open_gaps = [result for result in results if not result.converged and result.status is not Status.BOUNDED]
        if not open_gaps:
            return
        worst = max(open_gaps, key=lambda result: result.certificate.relative_gap)
        self._warn_of(worst, f" in {len(open_gaps)} of {len(results)} problems, at worst" if len(results) > 1 else "")

    def _warn_of(self, worst: Result, which: str) -> None:
        warnings.warn(
            f"{type(self).__name__} did not reach its tolerance{which}: certified relative gap "
            f"{worst.certificate.relative_gap:.3g}, target tol={self.tol:.3g}, status {worst.status.name} "
            f"({worst.solver}). {worst.advice}",
            ConvergenceWarning,
            stacklevel=5,
        )


def total_weight(weights: np.ndarray | None, n: int) -> float:
    """The sum of the weights: n when there are none."""
    with np.errstate(over="ignore"):  # an overflow matters only with C, and then the strength 0 is rejected
        return float(n) if weights is None else float(weights.sum())


def accept_weights(sample_weight: ArrayLike | None, n: int) -> np.ndarray | None:
    """None, or one finite weight >= 0 per row, not all of them zero; a number means the same weight for all."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight)
    weights = accept_vector(sample_weight, n, "sample_weight", column=False)
    if (weights < 0.0).any():
        row = int(np.argmax(weights < 0.0))
        raise InputError(f"sample_weight of row {row} is {float(weights[row])!r}: weights must be at least 0")
    if not weights.any():
        raise InputError("sample_weight is zero everywhere: at least one weight must be positive")
    return weights
