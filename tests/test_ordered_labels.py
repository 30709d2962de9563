"""Labels with an order: Categorical, Enum, `levels`, numbers; and words without one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, cross_val_score

import fenchel
from fenchel.errors import InputError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 3))
LEVEL = np.digitize(X @ [1.0, -1.0, 0.5], [-0.8, 0.8])
ORDERS = [
    ["low", "medium", "high"],
    ["small", "large", "huge"],
    ["bad", "average", "ok"],
    ["never", "sometimes", "always"],
]


def categorical(order, codes):
    return pd.Series(pd.Categorical.from_codes(codes, order, ordered=True))


MAKERS = {
    "pandas Series": categorical,
    "pandas Categorical": lambda order, codes: pd.Categorical.from_codes(codes, order, ordered=True),
    "polars Enum": lambda order, codes: pl.Series(np.array(order)[codes].tolist(), dtype=pl.Enum(order)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("maker", MAKERS)
def test_the_order_of_the_type_is_kept(order, maker):
    numbers = fenchel.OrdinalClassifier(alpha=0.01).fit(X, LEVEL)
    words = fenchel.OrdinalClassifier(alpha=0.01).fit(X, MAKERS[maker](order, LEVEL))
    assert words.classes_.tolist() == order
    assert np.array_equal(words.coef_, numbers.coef_)
    assert np.array_equal(words.predict(X), np.array(order)[numbers.predict(X)])
    assert words.score(X, np.array(order)[LEVEL]) > 0.95


@pytest.mark.parametrize("order", ORDERS)
def test_levels_name_the_order(order):
    model = fenchel.OrdinalClassifier(levels=order, alpha=0.01).fit(X, np.array(order)[LEVEL])
    assert model.classes_.tolist() == order
    assert model.score(X, np.array(order)[LEVEL]) > 0.95
    backwards = fenchel.OrdinalClassifier(levels=[2, 1, 0], alpha=0.01).fit(X, LEVEL)
    np.testing.assert_allclose(backwards.coef_, -model.coef_, atol=1e-4)
    assert np.mean(backwards.predict(X) == LEVEL) > 0.95


def test_levels_win_over_the_type_and_need_not_all_occur():
    y = categorical(["b", "a", "c"], LEVEL)
    model = fenchel.OrdinalClassifier(levels=["b", "a", "c", "d"], alpha=0.01).fit(X, y)
    assert model.classes_.tolist() == ["b", "a", "c", "d"] and model.thresholds_.size == 3
    assert model.score(X, np.asarray(y)) > 0.95
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    with_cost = fenchel.OrdinalClassifier(cost, levels=["b", "a", "c", "d"], alpha=0.01).fit(X, y)
    assert with_cost.score(X, np.asarray(y)) > 0.9


@pytest.mark.parametrize(
    "y",
    [
        np.array(["low", "medium", "high"])[LEVEL],
        np.array(["low", "medium", "high"], dtype=object)[LEVEL],
        pd.Series(np.array(["1 poor", "2 fair", "3 good"])[LEVEL], dtype="category"),
        pl.Series(np.array(["a", "b", "c"])[LEVEL].tolist()),
        np.array(["no", "yes"])[np.minimum(LEVEL, 1)],
    ],
)
def test_words_without_an_order_are_refused_with_advice(y):
    with pytest.raises(InputError, match="levels=.*ordered Categorical.*Enum"):
        fenchel.OrdinalClassifier().fit(X, y)


def test_numbers_keep_their_order_whatever_they_are_kept_in():
    expected = fenchel.OrdinalClassifier(alpha=0.01).fit(X, LEVEL).coef_
    tens = np.array([9, 10, 11])[LEVEL]  # "10" < "9" as words
    for y in (tens, tens.astype(float), tens.astype(np.uint8), pd.Series(tens, dtype="category"), pl.Series(tens)):
        model = fenchel.OrdinalClassifier(alpha=0.01).fit(X, y)
        assert model.classes_.tolist() == [9, 10, 11]
        assert np.array_equal(model.coef_, expected)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["low", "high"], "row .* is .*, which is not among the levels"),
        (["low", "low", "medium", "high"], "different labels"),
        ("low", "must be a list"),
        (["low"], "at least two"),
    ],
)
def test_levels_that_do_not_fit_are_refused(levels, message):
    with pytest.raises(InputError, match=message):
        fenchel.OrdinalClassifier(levels=levels).fit(X, np.array(["low", "medium", "high"])[LEVEL])


@pytest.mark.parametrize("maker", MAKERS)
def test_cross_validation_keeps_the_order_also_where_a_level_is_missing(maker):
    rare = LEVEL.copy()
    rare[LEVEL == 2] = 1
    rare[:3] = 2  # all in the first fold
    y = MAKERS[maker](ORDERS[0], rare)
    found = cross_val_score(fenchel.OrdinalClassifier(alpha=0.01), X, y, cv=KFold(5))
    assert np.isfinite(found).all() and found[1:].min() > 0.8


@pytest.mark.parametrize("order", ORDERS[:2])
def test_files_keep_the_order(order, tmp_path, capsys):
    from fenchel.cli import main

    words = np.array(order)[LEVEL]
    model = fenchel.OrdinalClassifier(levels=order, alpha=0.01).fit(X, words)
    fenchel.save(tmp_path / "m", model)
    assert np.array_equal(fenchel.load(tmp_path / "m").predict(X), model.predict(X))
    lines = [f"{a!r},{b!r},{c!r},{word}" for (a, b, c), word in zip(X.tolist(), words, strict=True)]
    (tmp_path / "rows.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    assert main(["verify", str(tmp_path / "m"), str(tmp_path / "rows.csv")]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "rows.csv"), "--resamples", "0"]) == 0
    assert f"{model.score(X, words):.6g}" in capsys.readouterr().out
