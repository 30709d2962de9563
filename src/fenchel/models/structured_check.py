"""The conditions on the parts of a StructuredModel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.data.dtypes import is_signed_integer
from fenchel.errors import InputError
from fenchel.models.base import Rules, are_strings, good_names, tol_rule
from fenchel.models.parts import require_built_in
from fenchel.sequences.templates import Templates
from fenchel.structured import (
    AssociativeGraph,
    Candidates,
    Chain,
    Gibbs,
    Graph,
    Marginals,
    Matching,
    PairwiseLabels,
    Pool,
    Tree,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

    from fenchel.models.structured import StructuredModel
    from fenchel.problems.kinds_of_loss import AnyLoss

MOST = 1 << 40  # maximum number of features or labels


class Shape(NamedTuple):
    """Features per token, node, edge or row; features per pair of tokens or edge; labels (1: candidates, matchings)."""

    features: int
    links: int
    classes: int


def coefficients(loss: AnyLoss, shape: Shape) -> int:
    """The number of coefficients of a model of that shape, in the layout with weights for all pairs.

    >>> coefficients(Chain(), Shape(features=2, links=0, classes=3))
    24
    """
    features, links, m = shape
    match loss:
        case Chain():
            return (features + bool(loss.bias) + 2 * bool(loss.ends) + (1 + links) * m) * m
        case Tree():
            return (features + 1 + m) * m
        case AssociativeGraph():
            return features + 1 + links
        case Graph():
            return (features + 1 + links * m) * m
        case PairwiseLabels():
            return (features + 1) * m + m * (m - 1) // 2
        case _:
            return features * m


def structured_rules(model: StructuredModel) -> Rules:
    """The conditions on the parts of a StructuredModel."""
    require_built_in(model.loss)
    features, links, m = model.shape
    counts = all(type(part) is int and 0 <= part < MOST for part in (features, links, m, model.n))
    yield (
        "features, links, labels and n must be integers, with at least 1 label and 1 example",
        counts and m >= 1 and model.n >= 1,
    )
    yield "the numbers of features and labels must be those of the loss", _good_shape(model.loss, links, m)
    yield (
        "coef must be a finite float64 array of the size for these features and labels",
        _finite_vector(model.coef) and model.coef.size > 0 and _good_places(model),
    )
    yield (
        f"labels must be None or {m} distinct strings or numbers",
        model.labels is None or (not isinstance(model.loss, Candidates | Matching) and good_names(model.labels, m)),
    )
    yield tol_rule(model.tol)
    yield (
        "dual_point must be None or a Pool, Gibbs or Marginals of n examples",
        model.dual_point is None or _good_dual(model),
    )
    yield (
        "attributes must be None or a distinct string for every feature",
        _good_names(model.attributes, features) and _good_names(model.link_attributes, links),
    )
    yield (
        "link_attributes need attributes and a chain with edge_features",
        model.link_attributes is None or (model.attributes is not None and _has_links(model.loss)),
    )
    yield (
        "template and columns must both be None or both be present, with attributes",
        (model.template is None) == (model.columns is None)
        and (model.template is None or model.attributes is not None),
    )


def _good_shape(loss: AnyLoss, links: int, m: int) -> bool:
    if isinstance(loss, Candidates | Matching):
        return m == 1 and links == 0
    if isinstance(loss, AssociativeGraph):
        return m == 2
    said = loss.classes if hasattr(loss, "classes") else None
    return said in (None, m) and (links == 0 or isinstance(loss, Graph) or _has_links(loss))


def _has_links(loss: AnyLoss) -> bool:
    return isinstance(loss, Chain) and loss.edge_features


def _is_vector(array: object) -> TypeGuard[np.ndarray]:
    return isinstance(array, np.ndarray) and array.ndim == 1


def _finite_vector(array: object) -> TypeGuard[np.ndarray]:
    """Whether it is a vector of finite float64."""
    return _is_vector(array) and array.dtype == np.float64 and bool(np.isfinite(array).all())


def _integer_vector(array: Any) -> bool:
    """Whether it is a vector of integers."""
    return _is_vector(array) and is_signed_integer(array)


def _good_places(model: Any) -> bool:
    full, places = coefficients(model.loss, model.shape), model.places
    if not (isinstance(model.loss, Chain) and model.loss.observed_only):
        return places is None and model.coef.size == full
    return _integer_vector(places) and places.size == model.coef.size and _ascending(places, strictly=True, below=full)


def _ascending(numbers: np.ndarray, strictly: bool, below: int) -> bool:
    """Whether the numbers start at 0, are below a limit and do not decrease. The range is checked before differences are
    computed, which could overflow."""
    inside = bool((numbers >= 0).all() and (numbers < below).all())
    return inside and bool((np.diff(numbers) >= (1 if strictly else 0)).all())


def _good_names(names: Sequence[str] | None, count: int) -> bool:
    if names is None:
        return True
    return len(names) == count == len(set(names)) and are_strings(names)


def _good_dual(model: StructuredModel) -> bool:
    log = model.loss.loss == "log"
    match model.dual_point:
        case Gibbs(weights, coefs):
            sound = log and _finite_vector(weights) and isinstance(coefs, np.ndarray) and coefs.dtype == np.float64
            return bool(
                sound
                and coefs.shape == (weights.size, model.coef.size)
                and np.isfinite(coefs).all()
                and (weights >= 0.0).all()
                and weights.sum() > 0.0
            )
        case Pool(start, weights, offsets, labels):
            sound = not log and _starts(start, model.n, weights) and _starts(offsets, weights.size, labels)
            return bool(sound and _finite_vector(weights) and (weights >= 0.0).all() and labels.dtype == np.int32)
        case Marginals(start, values, scale):
            sound = not log and _starts(start, model.n, values) and _finite_vector(values)
            return bool(sound and type(scale) is float and 0.0 <= scale <= 1.0)
        case _:
            return False


def _starts(start: Any, count: int, entries: Any) -> bool:
    """Whether start[i] .. start[i+1] are consecutive ranges of the entries."""
    return bool(
        _integer_vector(start)
        and isinstance(entries, np.ndarray)
        and entries.ndim == 1
        and start.size == count + 1
        and start[0] == 0
        and start[-1] == entries.size
        and _ascending(start, strictly=False, below=entries.size + 1)
    )


def check_columns(model: Any) -> None:
    """The conditions on a model for column files: template and labels must fit its columns."""
    if len(model.columns) != 2 or not all(type(number) is int for number in model.columns):
        raise InputError("columns must be two numbers: the number of columns, and the index of the label column")
    wide, at = model.columns
    if not 0 <= at < wide < MOST:
        raise InputError(f"the label cannot be in column {at} of {wide}")
    templates = _templates(model.template)
    templates.require(wide, at)
    if templates.edges != (model.link_attributes is not None):
        raise InputError("link_attributes must be present if and only if the template has attributes of label pairs")
    if model.labels is None or not all(isinstance(label, str) and _one_field(label) for label in model.labels):
        raise InputError("the labels of a model for column files must be strings without spaces")


def _templates(lines: tuple[str, ...]) -> Templates:
    if not all(isinstance(line, str) and line for line in lines):
        raise InputError("the lines of a template must be nonempty strings")
    try:
        return Templates(lines)
    except (OverflowError, RecursionError):  # a pattern such as a{99999999999}
        raise InputError("a pattern of the template is too large") from None


def _one_field(text: str) -> bool:
    content = text.encode("utf-8", "surrogatepass")
    return content.split() == [content]
