"""Every fitted estimator as a model, to a file and back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.models.base import BaseModel
from fenchel.models.file import load, save
from fenchel.result import Certificate, Result, Status, TracePoint

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

M = TypeVar("M", bound=BaseModel)


class Report(NamedTuple):
    """How one problem was solved, as a fitted estimator shows it."""

    certificate: Certificate
    status: Status
    solver: str
    n_iter: int = 0
    trace: tuple[TracePoint, ...] = ()


class Saving(Generic[M]):
    """`to_model`, `save` and `load` of a fitted estimator: its model in a file with nothing executable in it.

    A subclass says which class of models it is a shell of, which of those models it can be, and how its own parameters and
    fitted attributes follow from one.
    """

    _model_class: ClassVar[type[BaseModel]]

    def to_model(self) -> M:
        """The fitted model without the estimator around it: what `save` writes."""
        check_is_fitted(self)
        return self._to_model()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file; `fenchel.load` and the `load` of its class read it.

        Kept are the coefficients, the dual point, the certificate, labels and names, which must be strings or numbers, and the
        problem; not the options of the solver and the history of the solve.
        """
        save(path, self.to_model())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The fitted estimator of a file: predicts as before, to the last bit, and can be the warm start of another fit."""
        model = load(path)
        if not issubclass(type(model), cls._model_class) or not cls._is_own(model):
            what = getattr(model, "content", None) or f"a model of {type(model.loss).__name__}"
            raise InputError(f"{os.fsdecode(path)!r} is {what}, which is no {cls.__name__}: use fenchel.load")
        estimator = cls(**cls._parameters_of(model))
        estimator._restore(model)
        return estimator

    def _to_model(self) -> M:
        """The model of an estimator that is known to be fitted."""
        raise NotImplementedError("abstract: an estimator says how its model is made")

    @classmethod
    def _is_own(cls, model: M) -> bool:
        """Whether such a model may have come from this estimator."""
        raise NotImplementedError("abstract: an estimator says which models are its own")

    @classmethod
    def _parameters_of(cls, model: M) -> dict[str, Any]:
        """Parameters of the estimator that the model tells."""
        raise NotImplementedError("abstract: an estimator says which parameters a model tells")

    def _restore(self, model: M) -> None:
        """Fitted attributes."""
        raise NotImplementedError("abstract: an estimator says how it is restored")

    def _restore_names(self, names: Sequence[str] | None, features: int) -> None:
        """What scikit-learn says of the features."""
        self.n_features_in_ = features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _restore_reports(self, model: Any) -> None:
        """What a model says of its solves."""
        names = (part for part in vars(model) if part in FACTS)
        self._facts = {name: getattr(model, name) for name in names}
        self._work: list[Any] = []
        reports = zip(model.certificates, model.statuses, model.solvers, strict=True)
        keep_reports(self, [Report(*report) for report in reports])


FACTS = {
    "certificate", "certificates", "digest", "digests", "fit_intercept", "loss", "n", "offset", "places", "regularizer",
    "shape", "solver", "solvers", "status", "statuses", "tol", "weighted",
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
    """What a page says of each solve beside its certificate; nothing of the data is held on to."""
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
