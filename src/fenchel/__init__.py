"""Fenchel: regularized risk minimization with a duality-gap certificate for every result.

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

# The module of each public name. Modules are imported on first use, so that `import fenchel` and `fenchel --help` are fast.
_HOME = {
    "Certificate": "result",
    "CertifiedPath": "estimators.strength_range",
    "Checkpoint": "solving.checkpoint",
    "Classifier": "estimators.classifier",
    "ClassifierCV": "estimators.classifier_cv",
    "Decisions": "proofs.decisions",
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
    "RegressorCV": "estimators.regressor_cv",
    "Result": "result",
    "SequenceLabeler": "estimators.sequence_labeler",
    "Status": "result",
    "StructuredModel": "models.structured",
    "TableTransformer": "estimators.table_transformer",
    "certify": "certificates.scalar",
    "check_proof": "certificates.independent",
    "export": "models.export",
    "leave_one_out": "proofs.leave_one_out",
    "load": "models.file",
    "open": "data.store",
    "path": "estimators.path",
    "plan": "cluster.plan",
    "removable_rows": "proofs.rows",
    "save": "models.file",
    "solve": "solving.solve",
}
_NAME = {"open": "open_store"}  # names that differ in their module, where they would shadow a builtin
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
    "proofs",
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
provide("proofs", "fenchel.proofs")
provide("report", "fenchel.report")
