"""Models as ONNX graphs of basic operators, in double precision: X weights' + constant, then the label.

The operator LinearClassifier is not used because it stores its weights in single precision, which would change labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fenchel.errors import InputError
from fenchel.losses import Novelty
from fenchel.losses.task import innermost, response_of
from fenchel.models.linear_form import linear_form

if TYPE_CHECKING:
    from types import ModuleType

    from fenchel.models.scored import Scored

OPSET = 17


def onnx_bytes(model: Scored) -> bytes:
    """The file."""
    try:
        import onnx
    except ImportError:
        raise InputError("writing ONNX needs the package onnx: pip install 'fenchel[onnx]'") from None
    if isinstance(model.loss, Novelty):
        raise InputError("a model with the loss Novelty can only be written as json")
    proto = onnx.helper.make_model(
        _graph(onnx, model), opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=8, producer_name="fenchel"
    )
    onnx.checker.check_model(proto, full_check=True)
    return proto.SerializeToString()


def _graph(onnx: ModuleType, model: Scored) -> Any:
    make, kinds = onnx.helper, onnx.TensorProto
    form = linear_form(model)
    constants = {"weights": form.weights.T, "always": form.always[None]}
    nodes = [
        make.make_node("MatMul", ["X", "weights"], ["products"]),
        make.make_node("Add", ["products", "always"], ["scores"]),
    ]
    outputs = [make.make_tensor_value_info("scores", kinds.DOUBLE, [None, len(form.weights)])]
    if model.labels is None:
        nodes += _prediction(make, model)
        outputs.insert(0, make.make_tensor_value_info("prediction", kinds.DOUBLE, [None, 1]))
    else:
        constants |= _label_constants(model)
        nodes += _label(make, len(model.labels) == 2)
        words = isinstance(model.labels[0], str)
        whole = all(isinstance(label, int) for label in model.labels)
        kind = kinds.STRING if words else kinds.INT64 if whole else kinds.DOUBLE
        outputs.insert(0, make.make_tensor_value_info("label", kind, [None]))
        if response_of(model.loss) in ("sigmoid", "softmax"):
            nodes += _probabilities(make, model)
            outputs.append(make.make_tensor_value_info("probabilities", kinds.DOUBLE, [None, len(model.labels)]))
    tensors = [onnx.numpy_helper.from_array(np.array(value), name) for name, value in constants.items()]
    rows = make.make_tensor_value_info("X", kinds.DOUBLE, [None, model.d])
    return make.make_graph(nodes, "fenchel", [rows], outputs, tensors)


def _prediction(make: Any, model: Scored) -> list[Any]:
    return [
        make.make_node("Exp" if response_of(innermost(model.loss)) == "exp" else "Identity", ["scores"], ["prediction"])
    ]


def _label_constants(model: Any) -> dict[str, Any]:
    labels: Any = list(model.labels)
    if isinstance(labels[0], str):
        found = np.array(labels, dtype=object)
    else:
        found = np.array(labels, dtype=np.int64 if all(isinstance(label, int) for label in labels) else np.float64)
    return {"labels": found, "nothing": np.zeros(1), "columns": np.array([1], dtype=np.int64)}


def _label(make: Any, two: bool) -> list[Any]:
    """The position of the largest score (the first of ties), or whether the only score is above 0; then the label."""
    if two:
        places = [
            make.make_node("Greater", ["scores", "nothing"], ["above"]),
            make.make_node("Cast", ["above"], ["column"], to=7),
            make.make_node("Squeeze", ["column", "columns"], ["place"]),
        ]
    else:
        places = [make.make_node("ArgMax", ["scores"], ["place"], axis=1, keepdims=0)]
    return [*places, make.make_node("Gather", ["labels", "place"], ["label"])]


def _probabilities(make: Any, model: Any) -> list[Any]:
    if response_of(model.loss) == "softmax" and len(model.labels) > 2:
        return [make.make_node("Softmax", ["scores"], ["probabilities"], axis=1)]
    positive = make.make_node("Sigmoid", ["scores"], ["positive"])
    if len(model.labels) == 2:
        return [
            make.make_node("Neg", ["scores"], ["opposite"]),
            make.make_node("Sigmoid", ["opposite"], ["negative"]),
            positive,
            make.make_node("Concat", ["negative", "positive"], ["probabilities"], axis=1),
        ]
    return [
        positive,
        make.make_node("ReduceSum", ["positive", "columns"], ["total"], keepdims=1),
        make.make_node("Div", ["positive", "total"], ["probabilities"]),
    ]
