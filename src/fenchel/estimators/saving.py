"""Conversion of fitted estimators to models, and saving and loading."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.extension_points import provider
from fenchel.models.base import BaseModel
from fenchel.models.file import load, save
from fenchel.result import Certificate, Result, Status, TracePoint

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

M = TypeVar("M", bound=BaseModel)


class Report(NamedTuple):
    """How one problem was solved, for the report on a fitted estimator."""

    certificate: Certificate
    status: Status
    solver: str
    n_iter: int = 0
    trace: tuple[TracePoint, ...] = ()


class Saving(Generic[M]):
    """`to_model`, `save` and `load` of a fitted estimator: its model in a file without executable code.

    A subclass defines its class of models, which of those models it can load, and how its parameters and fitted attributes
    follow from a model.
    """

    _model_class: ClassVar[type[BaseModel]]

    def to_model(self) -> M:
        """The fitted model without the estimator, as `save` writes it."""
        check_is_fitted(self)
        return self._to_model()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file; `fenchel.load` and the `load` of its class read it.

        The file contains the coefficients, the dual point, the certificate, the problem, and labels and names, which must be
        strings or numbers; it does not contain solver options and the history of the solve.
        """
        save(path, self.to_model())

    def report(
        self, path: str | os.PathLike[str], X: Any = None, y: Any = None, qid: Any = None, title: str | None = None
    ) -> None:
        """Write a self-contained HTML page: the problem, the certificate, the history, the largest weights.

        With rows X and targets y the page also shows how well the estimator predicts them; a ranking needs the query of
        each row, `qid`, too. `fenchel.report.write_page` has more options.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise InputError("report: pass both X and y, or neither")
        data = None if X is None else (X, y) if qid is None else (X, y, qid)
        provider("report").write_page(path, self, title or f"Fenchel: {type(self).__name__}", data=data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The fitted estimator from a file, with bit-identical predictions; it can also be the warm start of another fit."""
        model = load(path)
        if not issubclass(type(model), cls._model_class) or not cls._is_own(model):
            what = getattr(model, "content", None) or f"a model of {type(model.loss).__name__}"
            raise InputError(f"{os.fsdecode(path)!r} is {what}, not of {cls.__name__}: use fenchel.load")
        estimator = cls(**cls._parameters_of(model))
        estimator._restore(model)
        return estimator

    def _to_model(self) -> M:
        """The model of a fitted estimator."""
        raise NotImplementedError("abstract: an estimator defines its model")

    @classmethod
    def _is_own(cls, model: M) -> bool:
        """Whether the model can come from an estimator of this class."""
        raise NotImplementedError("abstract: an estimator defines which models it can load")

    @classmethod
    def _parameters_of(cls, model: M) -> dict[str, Any]:
        """The parameters of the estimator that follow from the model."""
        raise NotImplementedError("abstract: an estimator defines which parameters follow from a model")

    def _restore(self, model: M) -> None:
        """Fitted attributes."""
        raise NotImplementedError("abstract: an estimator defines how it is restored")

    def _restore_names(self, names: Sequence[str] | None, features: int) -> None:
        """Set n_features_in_ and feature_names_in_."""
        self.n_features_in_ = features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _restore_reports(self, model: Any) -> None:
        """Set the attributes of the solves from a model."""
        names = (part for part in vars(model) if part in FACTS)
        self._facts = {name: getattr(model, name) for name in names}
        self._work: list[Any] = []
        reports = zip(model.certificates, model.statuses, model.solvers, strict=True)
        keep_reports(self, [Report(*report) for report in reports])


FACTS = {
    "certificate", "certificates", "digest", "digests", "fit_intercept", "intercept_bounds", "loss", "n", "offset", "places",
    "regularizer", "shape", "solver", "solvers", "status", "statuses", "tol", "weighted",
}  # fmt: skip


def keep_reports(estimator: BaseEstimator, reports: Sequence[Result | Report]) -> None:
    """Certificates, statuses and counts as fitted attributes: lists or arrays where there are several problems."""
    estimator.converged_ = all(report.status is Status.CERTIFIED for report in reports)
    several = len(reports) > 1
    for name, values in _PER_PROBLEM.items():
        found = [values(report) for report in reports]
        listed = np.array(found) if isinstance(found[0], (float, int)) else found
        setattr(estimator, name, listed if several else found[0])


def work_of(results: Sequence[Result]) -> list[Any]:
    """Facts about each solve for the report, without references to the data."""
    return [(result.reason, result.passes, result.seconds, result.settings) for result in results]


_PER_PROBLEM: dict[str, Any] = {
    "n_iter_": lambda report: int(report.n_iter),
    "objective_": lambda report: report.certificate.primal,
    "dual_objective_": lambda report: report.certificate.dual,
    "dual_gap_": lambda report: report.certificate.gap,
    "certificate_": lambda report: report.certificate,
    "status_": lambda report: report.status,
    "solver_": lambda report: report.solver,
    "history_": lambda report: report.trace,
}
