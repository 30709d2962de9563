"""Losses of all the scores of a set at once, or of each query: `ROCArea()`, `FBeta(2.0)`, `NDCG(10)`, ...

`fenchel.measures.protocol` says what a measure is.

>>> import numpy as np
>>> measure, y, z = ROCArea(), np.array([1, -1, 1, -1]), np.array([2.0, 0.5, 0.0, -2.0])
>>> prepared, slope = measure.prepare(y), np.empty(4)
>>> measure.value_and_slope(z, prepared, slope), slope
(0.375, array([ 0.  ,  0.25, -0.25,  0.  ]))
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fenchel.errors import InputError, UnknownNameError
from fenchel.measures.area_pairs import AreaPairs
from fenchel.measures.break_even import BreakEven
from fenchel.measures.check import check, check_foreign
from fenchel.measures.eru import ERU
from fenchel.measures.f_beta import FBeta
from fenchel.measures.mrr import MRR
from fenchel.measures.ndcg import NDCG
from fenchel.measures.ndcg_pairs import NDCGPairs
from fenchel.measures.ordinal import Ordinal
from fenchel.measures.pairs import PairMeasure
from fenchel.measures.precision_at_k import PrecisionAtK
from fenchel.measures.protocol import Measure
from fenchel.measures.recall_at_k import RecallAtK
from fenchel.measures.relevant_pairs import MAPPairs, MRRPairs
from fenchel.measures.roc_area import ROCArea
from fenchel.measures.winner_takes_all import WinnerTakesAll

__all__ = [
    "ERU",
    "MEASURES",
    "MRR",
    "NDCG",
    "AreaPairs",
    "BreakEven",
    "FBeta",
    "MAPPairs",
    "MRRPairs",
    "Measure",
    "NDCGPairs",
    "Ordinal",
    "PairMeasure",
    "PrecisionAtK",
    "ROCArea",
    "RecallAtK",
    "WinnerTakesAll",
    "check",
    "check_foreign",
    "from_parameters",
    "is_measure",
    "make",
    "parameters",
]

MEASURES: dict[str, type[Measure]] = {
    "area_pairs": AreaPairs,
    "break_even": BreakEven,
    "eru": ERU,
    "f_beta": FBeta,
    "map_pairs": MAPPairs,
    "mrr": MRR,
    "mrr_pairs": MRRPairs,
    "ndcg": NDCG,
    "ndcg_pairs": NDCGPairs,
    "ordinal": Ordinal,
    "precision_at_k": PrecisionAtK,
    "recall_at_k": RecallAtK,
    "roc_area": ROCArea,
    "winner_takes_all": WinnerTakesAll,
}


def is_measure(loss: Any) -> bool:
    """True for a name or an object of this package.

    >>> is_measure("ndcg"), is_measure("hinge"), is_measure(ROCArea())
    (True, False, True)
    """
    return loss in MEASURES if isinstance(loss, str) else isinstance(loss, Measure)


def make(spec: str | Measure) -> Measure:
    """The measure that `spec` names, with default parameters, or `spec` itself when it is one.

    >>> make("f_beta")
    FBeta(beta=1.0, scale=None)
    """
    if isinstance(spec, Measure):
        return spec
    if not isinstance(spec, str):
        hint = f"; call it: {spec.__name__}(...)" if isinstance(spec, type) else ""
        raise InputError(f"measure must be a name or a Measure object, got {spec!r}{hint}")
    return from_parameters({"name": spec})


def parameters(measure: Measure) -> dict[str, Any]:
    """The measure as plain data, for model files: {"name": ..., fields}. Only built-in measures can be written.

    >>> parameters(NDCG(10))
    {'name': 'ndcg', 'k': 10, 'decay': None}
    """
    name = next((key for key, kind in MEASURES.items() if kind is type(measure)), None)
    if name is None:
        raise InputError(f"{type(measure).__name__} is not a built-in measure and cannot be written to a file")
    return {"name": name} | {field.name: getattr(measure, field.name) for field in fields(measure)}  # type: ignore[arg-type]


def from_parameters(data: dict[str, Any]) -> Measure:
    """The inverse of `parameters`.

    >>> from_parameters({"name": "precision_at_k", "k": 5})
    PrecisionAtK(k=5, scale=None)
    """
    name = data.get("name")
    if name not in MEASURES:
        raise UnknownNameError("measure", str(name), MEASURES)
    try:
        return MEASURES[name](**{key: value for key, value in data.items() if key != "name"})
    except TypeError as error:
        raise InputError(f"parameters of measure {name!r} do not fit: {error}") from None
