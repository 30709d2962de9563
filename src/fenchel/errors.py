"""The exception tree.

FenchelError
├── InputError (ValueError)      an argument is wrong: which, where, what to do
│   ├── NoMinimumError           the losses fall for ever along unpenalised coefficients: which, and what to do
│   └── UnknownNameError         an unknown name, with the nearest known one
├── IncompatibleError (ValueError)   a solver does not support the problem: what is missing, why, which solvers do
├── SolveError (RuntimeError)    user code failed in the middle of a solve; `.result` keeps the best iterate
│   └── OwnerRefusal             a data owner refuses a request, or its responses cannot be correct
├── ReadError (ValueError)       a data file is malformed: file, line, column, what was expected
├── ModelFileError (ValueError)  a model file is truncated, tampered with or of another version
└── CheckpointError (ValueError) a checkpoint belongs to another problem or solver
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any


class FenchelError(Exception):
    """The base class of all errors that Fenchel raises."""


class InputError(FenchelError, ValueError):
    """An argument is invalid; the message names it, says where it is wrong and what to do."""


class NoMinimumError(InputError):
    """A problem without a minimum; along (coef, intercept), which is verified exactly, the objective falls for ever."""

    def __init__(self, message: str, coef: Any = None, intercept: float = 0.0):
        super().__init__(message)
        self.coef, self.intercept = coef, intercept


class UnknownNameError(InputError):
    """A name that is not registered; the nearest known name is suggested."""

    def __init__(self, what: str, name: str, known: Iterable[str]):
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = called_elsewhere(str(name), names) or (f" Did you mean {near[0]!r}?" if near else "")
        super().__init__(f"unknown {what} {name!r}.{hint} Known: {', '.join(names)}.")


ELSEWHERE = {  # what other packages call it: the names here, the first one that is among those asked for
    "l1": "absolute", "mae": "absolute", "absolute_error": "absolute", "lad": "absolute",
    "mse": "squared", "squared_error": "squared", "least_squares": "squared", "squared_loss": "squared", "gaussian": "squared",
    "pinball": "quantile", "log": "logistic", "log_loss": "logistic", "logit": "logistic", "bce": "logistic",
    "binary_crossentropy": "logistic", "cross_entropy": "logistic softmax", "crossentropy": "logistic softmax",
    "categorical_crossentropy": "softmax", "multinomial": "softmax", "crammer_singer": "max_hinge", "svm": "hinge",
    "svc": "hinge", "linear_svc": "hinge", "linearsvc": "hinge", "svr": "epsilon_insensitive",
    "squared_epsilon_insensitive": "epsilon_insensitive", "modified_huber": "smoothed_hinge", "one_class": "novelty",
    "one_class_svm": "novelty", "poisson_deviance": "poisson", "adaboost": "exponential",
    "ridge": "l2 squared", "tikhonov": "l2", "weight_decay": "l2", "squared_l2": "l2", "l2_squared": "l2",
    "lasso": "l1 squared",
    "elasticnet": "elastic_net squared", "enet": "elastic_net", "l1_l2": "elastic_net", "none": "no_penalty",
    "fused_lasso": "total_variation", "tv": "total_variation", "sorted_l1": "slope", "group": "group_lasso",
    "trace_norm": "nuclear_norm", "nuclear": "nuclear_norm",
    "auc": "roc_area", "roc_auc": "roc_area", "f1": "f_beta", "f1_score": "f_beta", "fbeta": "f_beta",
    "lambdarank": "ndcg_pairs",
    "average_precision": "map_pairs", "map": "map_pairs", "prec_at_k": "precision_at_k",
    "newton": "newton_cg", "newton_cholesky": "newton_cg", "sdca": "dual_ascent", "liblinear": "dual_ascent",
    "bmrm": "bundle", "cutting_plane": "bundle", "fista": "proximal_gradient", "ista": "proximal_gradient",
}  # fmt: skip
MODELS = {
    "svm": "loss='hinge' with regularizer='l2'",
    "ridge": "loss='squared' with regularizer='l2'",
    "lasso": "loss='squared' with regularizer='l1'",
    "elasticnet": "loss='squared' with regularizer='elastic_net'",
}


def called_elsewhere(name: str, known: Iterable[str]) -> str:
    """A hint if other packages use this name for something that has another name here; else the empty text.

    >>> called_elsewhere("MSE", ["hinge", "squared"]), called_elsewhere("something", ["squared"])
    (" It is called 'squared' here.", '')
    """
    asked = name.lower().replace("-", "_").replace(" ", "_")
    known = set(known)
    found = [here for here in ELSEWHERE.get(asked, "").split() if here in known]
    if not found:
        return ""
    whole = f" ({name} is {MODELS[asked]})" if asked in MODELS else ""
    return f" It is called {' or '.join(map(repr, found))} here{whole}."


class IncompatibleError(FenchelError, ValueError):
    """A solver does not support the problem; the message says what is missing, why it is needed and which solvers do."""


class SolveError(FenchelError, RuntimeError):
    """User code (a loss, a callback, an oracle) failed during a solve; `result` is the best certified iterate so far."""

    def __init__(self, message: str, result: object | None = None):
        super().__init__(message)
        self.result = result


class OwnerRefusal(SolveError):
    """A data owner refuses a request, or its response cannot be correct; the message names the owner and the reason."""

    def __init__(self, owner: str, reason: str):
        super().__init__(f"owner {owner!r}: {reason}")
        self.owner, self.reason = owner, reason

    def __reduce__(self) -> Any:
        return OwnerRefusal, (self.owner, self.reason)


class ReadError(FenchelError, ValueError):
    """A data file is malformed; the message starts with file:line:column."""


class ModelFileError(FenchelError, ValueError):
    """A model file is damaged, has been tampered with, or has another format."""


class CheckpointError(FenchelError, ValueError):
    """A valid checkpoint that belongs to another problem or solver, so that the solve cannot continue from it."""


def refuse_first(faults: Iterator[str], part: object, what: str, method: str = "a method") -> None:
    """Raise InputError with the first fault of a user's own part, or with what its methods raise; nothing if it has none.

    >>> refuse_first(iter(()), 1.0, "a valid loss")
    >>> refuse_first(iter(["it is a number"]), 1.0, "a valid loss")
    Traceback (most recent call last):
    fenchel.errors.InputError: float is not a valid loss: it is a number
    """
    try:
        fault = next(faults, None)
    except InputError:
        raise
    except Exception as error:
        fault = f"{method} raised {type(error).__name__}: {error}"
    if fault is not None:
        raise InputError(f"{type(part).__name__} is not {what}: {fault}")
