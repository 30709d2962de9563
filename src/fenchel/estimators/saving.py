"""Estimators of structured outputs to files and back."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.models.file import load, save
from fenchel.models.structured import StructuredModel, as_tuples, dual_point_of, facts_of
from fenchel.result import Result


class Saving(ABC):
    """`save` and `load` of a fitted estimator, as a `fenchel.StructuredModel` in a file with nothing executable in it.

    A subclass says which model it is a shell of, what there is to say of the fitted one (labels, attributes), and how its own
    parameters and attributes follow from a StructuredModel.
    """

    _saved_as: ClassVar[type]
    _facts: dict[str, Any]
    coef_: Any
    dual_point_: Any
    regularizer_: Any

    def to_model(self) -> StructuredModel:
        """The fitted model without the estimator around it: what `save` writes."""
        check_is_fitted(self)
        return StructuredModel(coef=self.coef_, dual_point=self.dual_point_, **self._facts, **as_tuples(self._about()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file; `fenchel.load` and the `load` of its class read it.

        Kept are the coefficients, the dual point, the certificate, labels and attributes, which must be strings or numbers,
        and the problem; not the options of the solver and the history of the solve.
        """
        save(path, self.to_model())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """The fitted estimator of a file: predicts as before, and can be the warm start of another fit."""
        model = load(path)
        if not isinstance(model, StructuredModel) or type(model.loss) is not cls._saved_as:
            kind = type(model.loss).__name__
            raise InputError(
                f"{os.fsdecode(path)!r} is a model of {kind}, which is no {cls.__name__}: use fenchel.load"
            )
        parameters = {**cls._parameters_of(model), "regularizer": model.regularizer, "tol": model.tol}
        estimator: Any = cls(**parameters)
        estimator._restore(model)
        return estimator

    def _keep_facts(self, result: Result) -> None:
        """The dual point, and what else a file says of the solve; the data are not held on to."""
        self._facts, self.dual_point_ = facts_of(result), dual_point_of(result)

    def _restore(self, model: StructuredModel) -> None:
        self._facts = {name: getattr(model, name) for name in FACTS}
        self.coef_ = model.coef.copy()
        self.dual_point_ = model.dual_point
        self.regularizer_ = model.regularizer
        certificate = model.certificate
        self.certificate_, self.status_, self.solver_ = certificate, model.status, model.solver
        self.converged_ = model.status.name == "CERTIFIED"
        self.objective_, self.dual_objective_, self.dual_gap_ = certificate.primal, certificate.dual, certificate.gap
        self.n_iter_, self.history_ = 0, ()
        self._restore_own(model)

    def _about(self) -> dict[str, Any]:
        """Labels and attributes."""
        return {}

    @staticmethod
    @abstractmethod
    def _parameters_of(model: StructuredModel) -> dict[str, Any]:
        """Parameters of the estimator that the model tells."""

    @abstractmethod
    def _restore_own(self, model: StructuredModel) -> None:
        """Fitted attributes of the subclass."""


FACTS = (
    "loss", "regularizer", "shape", "places", "n", "certificate", "status", "tol", "solver", "digest", "weighted"
)  # fmt: skip
