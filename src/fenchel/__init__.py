"""Fenchel: regularized risk minimization in which every answer carries a duality-gap certificate.

>>> import fenchel
>>> problem = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1, -1, 1], loss="hinge", alpha=0.1)
>>> result = fenchel.solve(problem, tol=1e-6)
>>> result.status.name, result.certificate.gap <= 1e-6 * result.certificate.primal
('CERTIFIED', True)
"""

from importlib import import_module
from typing import Any

from fenchel.extension_points import provide

__version__ = "0.1.0"

# Where the public names live. They are looked up when first used: `import fenchel` and `fenchel --help` stay quick.
_HOME = {
    "Certificate": "result",
    "Checkpoint": "solving.checkpoint",
    "Classifier": "estimators.classifier",
    "HierarchicalClassifier": "estimators.hierarchical",
    "IncompleteCholesky": "estimators.incomplete_cholesky",
    "KernelClassifier": "estimators.kernel",
    "KernelModel": "models.kernel",
    "KernelRegressor": "estimators.kernel",
    "MatchingModel": "estimators.matching_model",
    "MeasureClassifier": "estimators.measure_classifier",
    "Model": "models.model",
    "MultiLabelClassifier": "estimators.multi_label",
    "NoveltyDetector": "estimators.novelty",
    "OnlineClassifier": "estimators.online",
    "OnlineModel": "models.online",
    "OrdinalClassifier": "estimators.ordinal",
    "Path": "estimators.path",
    "Problem": "problems.scalar",
    "Ranker": "estimators.ranker",
    "Regressor": "estimators.regressor",
    "Result": "result",
    "SequenceLabeler": "estimators.sequence_labeler",
    "Status": "result",
    "StructuredModel": "models.structured",
    "certify": "certificates.scalar",
    "check_proof": "certificates.independent",
    "load": "models.file",
    "open": "data.store",
    "path": "estimators.path",
    "plan": "cluster.plan",
    "save": "models.file",
    "solve": "solving.solve",
}
_NAME = {"open": "open_store"}  # where a name would hide one of Python's own at home
_MODULES = [
    "engines",
    "errors",
    "instances",
    "kernel_methods",
    "losses",
    "measures",
    "metrics",
    "multiclass",
    "projections",
    "regularizers",
    "report",
    "solvers",
    "structured",
]
__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"fenchel.{_HOME[name]}"), _NAME.get(name, name))
    elif name in _MODULES:
        value = import_module(f"fenchel.{name}")
    else:
        raise AttributeError(f"module 'fenchel' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


provide("cluster", "fenchel.cluster")
