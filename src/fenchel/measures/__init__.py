"""Measures: losses of all scores of a set, or of the scores of each query: `ROCArea()`, `FBeta(2.0)`, `NDCG(10)`, ...

`fenchel.measures.protocol` defines the interface. May import `data` and `compile`.

>>> import numpy as np
>>> measure, y, z = ROCArea(), np.array([1, -1, 1, -1]), np.array([2.0, 0.5, 0.0, -2.0])
>>> prepared, slope = measure.prepare(y), np.empty(4)
>>> measure.value_and_slope(z, prepared, slope), slope
(0.375, array([ 0.  ,  0.25, -0.25,  0.  ]))
"""

from __future__ import annotations

from typing import Any, TypeGuard

from fenchel.measures.area_pairs import AreaPairs as AreaPairs
from fenchel.measures.break_even import BreakEven as BreakEven
from fenchel.measures.check import check, check_foreign
from fenchel.measures.eru import ERU as ERU
from fenchel.measures.f_beta import FBeta as FBeta
from fenchel.measures.mrr import MRR as MRR
from fenchel.measures.ndcg import NDCG as NDCG
from fenchel.measures.ndcg_pairs import NDCGPairs as NDCGPairs
from fenchel.measures.ordinal import Ordinal as Ordinal
from fenchel.measures.pairs import PairMeasure
from fenchel.measures.precision_at_k import PrecisionAtK as PrecisionAtK
from fenchel.measures.protocol import Measure
from fenchel.measures.recall_at_k import RecallAtK as RecallAtK
from fenchel.measures.relevant_pairs import MAPPairs as MAPPairs
from fenchel.measures.relevant_pairs import MRRPairs as MRRPairs
from fenchel.measures.roc_area import ROCArea as ROCArea
from fenchel.measures.winner_takes_all import WinnerTakesAll as WinnerTakesAll
from fenchel.registry import Registry, classes_in, public_names

BASES = (Measure, PairMeasure)
MEASURES: Registry[Measure] = Registry(
    "measure", classes_in(globals(), lambda cls: issubclass(cls, Measure) and cls not in BASES), base=Measure
)
__all__ = public_names(
    MEASURES,
    "MEASURES",
    Measure,
    PairMeasure,
    check,
    check_foreign,
    "from_parameters",
    "is_measure",
    "make",
    "parameters",
)


def is_measure(loss: object) -> TypeGuard[Measure]:
    """True for a name or an object of this package.

    >>> is_measure("ndcg"), is_measure("hinge"), is_measure(ROCArea())
    (True, False, True)
    """
    return loss in MEASURES if isinstance(loss, str) else isinstance(loss, Measure)


def make(spec: str | Measure) -> Measure:
    """A measure from a name, with default parameters, or the given measure itself.

    >>> make("f_beta")
    FBeta(beta=1.0, scale=None)
    """
    return MEASURES.make(spec)


def parameters(measure: Measure) -> dict[str, Any]:
    """The measure as plain data, for model files: {"name": ..., fields}. Only built-in measures can be written.

    >>> parameters(NDCG(10))
    {'name': 'ndcg', 'k': 10, 'decay': None}
    """
    return MEASURES.parameters(measure)


def from_parameters(data: dict[str, Any]) -> Measure:
    """The inverse of `parameters`.

    >>> from_parameters({"name": "precision_at_k", "k": 5})
    PrecisionAtK(k=5, scale=None)
    """
    return MEASURES.from_parameters(data)
