"""Scores of Winnow that are 0 are mistakes by rule and not by rounding: against 60 digits, and on Reuters."""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

from fenchel import OnlineClassifier

KINDS = {
    "integers": lambda rng, size: rng.integers(-2, 3, size),
    "binary": lambda rng, size: (rng.random(size) < 0.3) * 1.0,
    "dyadic": lambda rng, size: rng.integers(-8, 9, size) / 8,
    "decimal": lambda rng, size: rng.integers(-9, 10, size) / 10,
}
WEIGHTS = ((None, None), (1.0, None), (7.3, None), (None, 0.01), (3.0, 0.37))  # total and prior: all proportional


def winnow(eta, total, prior, epochs=1):
    return OnlineClassifier(
        "balanced_winnow", eta, total=total, prior=prior, fit_intercept=False, shuffle=False, epochs=epochs
    )


def stream(kind, seed, n=60):
    """Rows on which features cancel, in any order."""
    rng = np.random.default_rng(seed)
    half = KINDS[kind](rng, (n // 2, 3)).astype(float)
    X = np.vstack([np.hstack([half, -half[:, ::-1]]), np.hstack([half, half])])
    return X[rng.permutation(n)], rng.choice([-1, 1], n)


def exact_mistakes(X, y, eta, epochs):
    """Balanced Winnow with updates counted in fractions and scores in 60 digits; (mistakes, scores of 0 among them)."""
    with mp.workdps(60):
        rows = [[Fraction(float(value)).limit_denominator(10) for value in x] for x in X]
        steps, made, ties = [Fraction(0)] * X.shape[1], 0, 0
        for x, label in [*zip(rows, y, strict=True)] * epochs:
            score = mp.fsum(
                mp.mpf(a.numerator) / a.denominator * mp.sinh(mp.mpf(str(eta)) * v.numerator / v.denominator)
                for a, v in zip(x, steps, strict=True)
            )
            is_tie = abs(score) < mp.mpf(10) ** -40
            if is_tie or label * score < 0:
                steps = [v + int(label) * a for v, a in zip(steps, x, strict=True)]
                made, ties = made + 1, ties + is_tie
    return made, ties


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", [0.01, 0.1, 0.3, 1.0])
def test_ties_are_mistakes_whether_weights_are_normalised_or_not(kind, eta):
    ties = 0
    for seed in range(10):
        X, y = stream(kind, seed)
        models = [winnow(eta, total, prior, epochs=2).fit(X, y) for total, prior in WEIGHTS]
        exact, found = exact_mistakes(X, y, eta, 2)
        assert {model.mistakes_ for model in models} == {exact}
        assert all((model.predict(X) == models[0].predict(X)).all() for model in models)
        ties += found
    assert ties >= 15  # beside the first rows, at weights of 0


def test_row_by_row():
    for seed in range(3):
        X, y = stream("decimal", seed)
        models = [winnow(0.1, total, prior) for total, prior in WEIGHTS]
        for i in range(len(y)):
            for model in models:
                model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
            assert len({model.mistakes_ for model in models}) == 1


def test_a_score_at_the_threshold_is_a_mistake():
    """0.1 + 0.2 and the threshold 0.3 differ by rounding: either label is a mistake, as with 0.25 + 0.5 and 0.75."""
    for X, threshold in (([[0.1, 0.2]], 0.3), ([[0.25, 0.5]], 0.75), ([[0.7, 0.1]], 0.8)):
        for label in (-1, 1):
            model = OnlineClassifier("winnow", 0.5, prior=1.0, threshold=threshold)
            assert model.partial_fit(X, [label], classes=[-1, 1]).mistakes_ == 1


def test_what_is_zero_but_for_rounding_is_the_first_class():
    model = OnlineClassifier("perceptron", fit_intercept=False).fit(np.eye(3), [-1, 1, 1])
    model.coef_, model.intercept_ = np.array([[0.1, 0.2, -0.3]]), np.zeros(1)
    assert model.decision_function([[1.0, 1.0, 1.0]]) == 0.0
    assert model.predict([[1.0, 1.0, 1.0], [1.0, 1.0, 0.9]]).tolist() == [-1, 1]


def test_the_mistakes_on_reuters_do_not_depend_on_the_total(data_folder):
    sys.path.insert(
        0, str(Path(__file__).resolve().parents[1])
    )  # `experiments` lives beside `tests`, it is not installed
    from experiments import data as real

    topics = real.reuters()
    for topic in np.argsort(-topics.has.sum(axis=0))[:25]:
        y = real.signs(topics.has[:, topic])
        models = [winnow(0.01, total, 0.01, epochs=4) for total in (None, 0.02 * topics.X.shape[1])]
        assert len({model.fit(topics.X, y).mistakes_ for model in models}) == 1
