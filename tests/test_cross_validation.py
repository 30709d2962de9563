"""Cross-validation of every estimator gives numbers; what was not in training counts as wrong."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn
from sklearn import metrics
from sklearn.model_selection import GroupKFold, KFold, cross_val_score

import fenchel
from fenchel import estimators, multiclass
from fenchel.errors import InputError
from fitted_estimators import COUNT, LEVEL, MATCHINGS, PAIRS, QID, REAL, SEQUENCES, SETS, SIGN, TAGS, X

FOLDS = KFold(4)
COST = 1.0 - np.eye(3)
UNEVEN = np.sort(LEVEL)  # folds of neighbouring rows: some lack a class
RARE = np.where(np.arange(60) == 0, 9, LEVEL)  # a class of one row: in training or in test, never in both
NAMES = np.array(["a/low", "a/mid", "top"])
CASES = {
    "Classifier": (fenchel.Classifier(alpha=0.01), X, UNEVEN),
    "Classifier, rare": (fenchel.Classifier("logistic", alpha=0.01), X, RARE),
    "Classifier, softmax": (fenchel.Classifier("softmax", alpha=0.01), X, UNEVEN),
    "Classifier, costs": (
        fenchel.Classifier(multiclass.CostHinge(COST), classes=[0, 1, 2], alpha=0.05, class_weight="balanced"), X, UNEVEN
    ),
    "ClassifierCV": (fenchel.ClassifierCV("logistic", alphas=[0.1, 0.01], cv=3), X, LEVEL),
    "RegressorCV": (fenchel.RegressorCV(alphas=2, cv=3), X, REAL),
    "KernelClassifier": (fenchel.KernelClassifier(C=1.0), X, RARE),
    "OnlineClassifier": (fenchel.OnlineClassifier(epochs=2), X, UNEVEN),
    "OrdinalClassifier": (fenchel.OrdinalClassifier(alpha=0.01), X, UNEVEN),
    "OrdinalClassifier, costs": (fenchel.OrdinalClassifier(COST, levels=[0, 1, 2], alpha=0.01), X, UNEVEN),
    "MeasureClassifier": (fenchel.MeasureClassifier("f1", alpha=0.01), X, np.sort(SIGN)),
    "HierarchicalClassifier": (fenchel.HierarchicalClassifier(NAMES, alpha=0.01), X, NAMES[UNEVEN]),
    "Regressor": (fenchel.Regressor("huber", alpha=0.01), X, REAL),
    "Regressor, Poisson": (fenchel.Regressor("poisson", alpha=0.1), X, COUNT),
    "KernelRegressor": (fenchel.KernelRegressor(alpha=0.01), X, REAL),
    "NoveltyDetector": (fenchel.NoveltyDetector(), X + 2.0, None),
    "SequenceLabeler": (
        fenchel.SequenceLabeler(alpha=0.05), SEQUENCES, [["Z", *tags[1:]] if k == 0 else tags for k, tags in enumerate(TAGS)]
    ),
    "SequenceLabeler, log": (
        fenchel.SequenceLabeler("log", alpha=0.05), SEQUENCES, [[f"L{k}"] * len(tags) for k, tags in enumerate(TAGS)]
    ),
    "MatchingModel": (fenchel.MatchingModel(alpha=0.1), PAIRS, MATCHINGS),
    "MultiLabelClassifier": (fenchel.MultiLabelClassifier(alpha=0.05), X, np.where(np.arange(60)[:, None] < 30, 0, SETS)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cross_validation_gives_numbers(name):
    model, rows, y = CASES[name]
    found = cross_val_score(model, rows, y, cv=FOLDS, error_score="raise")
    assert found.shape == (4,) and np.isfinite(found).all()


def test_rankings_are_cross_validated_with_their_queries():
    with sklearn.config_context(enable_metadata_routing=True):
        model = fenchel.Ranker(alpha=0.1, tol=1e-3).set_fit_request(qid=True).set_score_request(qid=True)
        for folds in (GroupKFold(3), FOLDS):
            params = {"qid": QID} | ({"groups": QID} if folds is not FOLDS else {})
            assert np.isfinite(cross_val_score(model, X, LEVEL, cv=folds, params=params, error_score="raise")).all()
    with pytest.raises(InputError, match="set_score_request"):
        fenchel.Ranker(alpha=0.1, tol=1e-3).fit(X, LEVEL, qid=QID).score(X, LEVEL)


def test_every_public_estimator_is_cross_validated():
    kinds = {type(model).__name__ for model, _, _ in CASES.values()} | {"Ranker"}
    assert kinds == set(estimators.__all__) - {
        "Path",
        "IncompleteCholesky",
        "TableTransformer",
    }  # a transformer has no score


@pytest.mark.parametrize("unknown", [["Z"], ["Z", None], [("a", 1)], [0]])
def test_labels_of_sequences_that_were_not_in_training_count_as_wrong(unknown):
    model = fenchel.SequenceLabeler(alpha=0.05).fit(SEQUENCES, TAGS)
    found = model.predict(SEQUENCES)
    changed = [[unknown[t % len(unknown)] if t % 2 else tag for t, tag in enumerate(tags)] for tags in TAGS]
    right = sum(a == b for true, said in zip(changed, found, strict=True) for a, b in zip(true, said, strict=True))
    total = sum(map(len, TAGS))
    assert model.score(SEQUENCES, changed) == right / total < model.score(SEQUENCES, TAGS)


def test_classes_name_what_a_cost_matrix_is_for():
    order = ["mid", "low", "top"]
    y = np.array(["low", "mid", "top"])[LEVEL]
    cost = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    named = fenchel.Classifier(multiclass.CostHinge(cost), classes=order, alpha=0.05).fit(X, y)
    swap = [1, 0, 2]  # as sorted: low, mid, top
    plain = fenchel.Classifier(multiclass.CostHinge(cost[np.ix_(swap, swap)]), alpha=0.05).fit(X, y)
    assert named.classes_.tolist() == order
    assert named.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    np.testing.assert_allclose(named.coef_[swap], plain.coef_, atol=1e-2)
    for classes, message in ((["low", "mid"], "'top', which is not among"), (["low", "mid", "top", "top"], "twice")):
        with pytest.raises(InputError, match=message):
            fenchel.Classifier(multiclass.CostHinge(cost), classes=classes).fit(X, y)
    with pytest.raises(InputError, match="remove it"):
        fenchel.Classifier(classes=order).fit(X, y)


def write(path, rows, labels):
    lines = [",".join([*map(repr, map(float, row)), str(label)]) for row, label in zip(rows, labels, strict=True)]
    path.write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("labels", "loss", "strange"),
    [
        (np.array(["low", "mid", "top"])[LEVEL], "softmax", "other"),
        (np.array(["no", "yes"])[(SIGN > 0).astype(int)], "logistic", "maybe"),
        (LEVEL, "hinge", 7),
        (SIGN, "hinge", 0),
    ],
)
def test_evaluate_counts_labels_that_the_model_does_not_know_as_wrong(labels, loss, strange, tmp_path, capsys):
    from fenchel.cli import main

    model = str(tmp_path / "m.fenchel")
    fitted = fenchel.Classifier(loss, alpha=0.01).fit(X, labels)
    fenchel.save(model, fitted)
    changed = labels.astype(object)
    changed[::7] = strange
    data = write(tmp_path / "rows.csv", X, changed)
    assert main(["evaluate", model, data, "--resamples", "0", "--json"]) == 0
    shown = capsys.readouterr()
    found = {key: part["value"] for key, part in json.loads(shown.out)["metrics"].items()}
    said = fitted.predict(X).astype(object)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(list(map(str, changed)), list(map(str, said))))
    recalls = [np.mean(said[changed == label] == label) for label in set(changed.tolist())]
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls))
    if "f1_macro" in found:
        expected = metrics.f1_score(list(map(str, changed)), list(map(str, said)), average="macro", zero_division=0)
        assert found["f1_macro"] == pytest.approx(expected)
    else:
        kept = changed != strange
        area = metrics.roc_auc_score(
            (changed[kept] == fitted.classes_[1]).astype(int), fitted.decision_function(X)[kept]
        )
        assert found["roc_area"] == pytest.approx(area)
    assert str(strange) in shown.err and "does not know" in shown.err
    assert main(["verify", model, data]) == 1  # other labels are another problem
