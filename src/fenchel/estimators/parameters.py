"""Parameters of the estimators: stored by one function and described once.

A constructor consists of its signature and `keep(self, locals())`. The decorator `documented` completes the sections
Parameters and Attributes of a class's docstring from the tables below, in the order of the signature, so that `help` and the
API reference show the full list.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

PARAMETERS = {
    "kernel": """a name of scikit-learn's pairwise kernels (rbf, polynomial, linear, laplacian, ...), a callable k(A, B) of two
        blocks of rows, or "precomputed": then X is the Gram matrix (for prediction: rows x training rows).""",
    "gamma, degree, coef0": """parameters of the named kernels; gamma="scale" is 1 / (d var(X)), "auto" is 1 / d.""",
    "kernel_params": "further parameters of the kernel.",
    "regularizer": """a name (l2, l1, elastic_net, ...) or an object of `fenchel.regularizers`, which has its own alpha.""",
    "alpha": "strength of a regularizer given by name; 1e-4 if neither alpha nor C is given; 0: no penalty.",
    "C": "alternative to alpha: alpha = 1 / (C * sum of weights). Give only one of them.",
    "l1_ratio": 'for regularizer="elastic_net" only.',
    "standardize": """whether to penalise as if every column of X had (weighted) variance 1: the same as scaling the columns,
        but X is not changed, sparse rows stay sparse, and coefficients, bounds and centres are in the units of X. A constant
        column counts as having variance 1. Regularizers that would change their form are rejected.""",
    "fit_intercept": "whether b is free. It is never regularised.",
    "tol": "the relative gap (P - D) / |P| that the certificate must show.",
    "cache_size": "megabytes for cached columns of the kernel matrix.",
    "solver": '"auto", a name or a solver object.',
    "max_iter, max_time": "limits; None means none. max_time is for the whole fit, in seconds.",
    "class_weight": """None, a dict {label: weight} or "balanced" (S / (k * weight of the class)); multiplies sample_weight.""",
    "warm_start": "start from the previous fit's coefficients, intercept and dual variables.",
    "random_state": 'seed of a named solver that shuffles rows; "auto" uses fixed seeds.',
    "n_jobs": "number of threads; None means 1, -1 all cores. The result does not depend on it.",
    "verbose": """1 logs progress about once a second, 2 every iteration, to the logger "fenchel.estimators" at level INFO.""",
    "checkpoint": """None, a path or a `fenchel.Checkpoint`: the file for the state of the fit. An interrupted fit of the
        same data continues from it, with bit-identical results.""",
    "engine": "where the rows are, as in `fenchel.solve`; None means this machine, with n_jobs threads.",
}
SOLVE_ATTRIBUTES = {
    "objective_, dual_objective_, dual_gap_": "P, D and P - D.",
    "certificate_, status_, converged_, solver_, history_, n_iter_": "those of the solve.",
    "regularizer_": "the regularizer that was used, with its alpha.",
    "n_features_in_, feature_names_in_": "as in scikit-learn.",
}
KERNEL_ATTRIBUTES = {
    "support_, support_vectors_": "rows with a nonzero coefficient; their features (None if precomputed).",
    "dual_coef_, intercept_": "shapes (k, n_support) and (k,): f(x) = sum_j dual_coef_j k(x_j, x).",
    "dual_point_": "the u of the certificate, shape (k, n).",
    "certificate_, status_, n_iter_": "those of the solve; lists with one entry per class if there are several.",
    "converged_, alpha_, kernel_params_": "True if all problems are certified at tol; the values that were used.",
}
SECTION = r"(?m)^{title}\n-+\n((?:\S.*\n(?:    .*\n)*)*)"
ENTRY = r"(?m)^(\S.*?) : (.*\n(?:    .*\n)*)"
Class = TypeVar("Class", bound=type)


def keep(estimator: object, given: Mapping[str, object]) -> None:
    """Store the arguments of a constructor, its `locals()`, unchanged under their own names, as `clone` requires."""
    for name, value in given.items():
        if name != "self":
            setattr(estimator, name, value)


def documented(attributes: Mapping[str, str], parameters: Mapping[str, str] | None = None) -> Callable[[Class], Class]:
    """A decorator that completes the parameters, and the given attributes, in the docstring of an estimator; `parameters` come
    before the shared ones."""

    def complete(cls: Class) -> Class:
        signature = list(inspect.signature(cls).parameters)
        text = inspect.cleandoc(cls.__doc__ or "")
        for table in (parameters or {}, PARAMETERS):
            text = _complete(text, "Parameters", table, signature)
        cls.__doc__ = _complete(text, "Attributes", attributes, _names(attributes))
        return cls

    return complete


def _complete(text: str, title: str, shared: Mapping[str, str], order: Sequence[str]) -> str:
    """The section, completed by the shared descriptions of those names in `order` that it does not describe.

    >>> text = "Parameters\\n----------\\nloss : hinge.\\n"
    >>> print(_complete(text, "Parameters", {"tol": "the gap.", "C": "unused."}, ["loss", "tol"]).strip())
    Parameters
    ----------
    loss : hinge.
    tol : the gap.
    """
    found = re.search(SECTION.format(title=title), text)
    if found is None:
        return text
    entries = dict(re.findall(ENTRY, found[1]))
    own = set(_names(entries))
    entries |= {
        names: inspect.cleandoc(words).replace("\n", "\n    ") + "\n"
        for names, words in shared.items()
        if set(_names([names])) <= set(order) - own
    }
    place = {name: k for k, name in enumerate(order)}
    listed = sorted(entries.items(), key=lambda entry: place.get(_names([entry[0]])[0], -1))
    body = "".join(f"{names} : {words}" for names, words in listed)
    return text[: found.start(1)] + body + text[found.end(1) :]


def _names(entries: Iterable[str]) -> list[str]:
    return [name for names in entries for name in names.split(", ")]
