"""Ranker() as it comes: certified within seconds on some thousand rows, whatever the units of the features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fenchel import Ranker
from fenchel.estimators.ranker import total_variance
from fenchel.metrics import ndcg


def queries(seed, d, noise, units=1.0, n=3005):
    """About 200 queries with relevances 0 to 4."""
    rng = np.random.default_rng(seed)
    X, qid = units * rng.normal(size=(n, d)), np.sort(rng.integers(0, 200, n))
    s = X[:, :5] @ rng.normal(size=5)
    s = s / s.std() + noise * rng.normal(size=n)
    return X, np.digitize(s, np.quantile(s, [0.2, 0.6, 0.9, 0.98])).astype(float), qid


@pytest.mark.parametrize(("d", "noise", "units"), [(10, 0.3, 1.0), (50, 1.0, 1.0), (300, 0.3, 5.0), (50, 3.0, 100.0)])
def test_the_defaults_certify_in_seconds_and_rank(d, noise, units):
    X, y, qid = queries(0, d, noise, units)
    model = Ranker(max_time=30).fit(X, y, qid=qid)
    assert model.status_.name == "CERTIFIED"
    by_chance = ndcg(y, np.random.default_rng(1).normal(size=y.size), groups=qid)
    assert model.score(X, y, qid=qid) > by_chance + 0.05


def test_the_defaults_learn_from_noisy_relevances(data_folder):
    """The bound of NDCG is minimal at w = 0 on MQ2008, and ranks at random (48.6)."""
    with np.load(data_folder / "ranking/mq2008_fold1.npz") as z:
        parts = {part: (z[f"X_{part}"], z[f"y_{part}"].astype(float), z[f"qid_{part}"]) for part in ("train", "test")}
    X, y, qid = parts["train"]
    model = Ranker(max_time=5).fit(X, y, qid=qid)
    X, y, qid = parts["test"]
    assert model.status_.name == "CERTIFIED"
    assert ndcg(y, model.predict(X), qid, k=10) > 0.70


def test_the_default_strength_follows_the_units():
    X, y, qid = queries(1, 20, 0.5, n=500)
    small, large = Ranker().fit(X, y, qid=qid), Ranker().fit(1024.0 * X, y, qid=qid)
    assert large.regularizer_.alpha == pytest.approx(1024.0**2 * small.regularizer_.alpha)
    assert large.coef_ == pytest.approx(small.coef_ / 1024.0, rel=1e-6)
    assert Ranker(alpha=0.5).fit(X, y, qid=qid).regularizer_.alpha == 0.5
    assert Ranker(C=0.01).fit(X, y, qid=qid).regularizer_.alpha == pytest.approx(1.0 / (0.01 * 500))


def test_total_variance_of_dense_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 1.0, (40, 6)) * (rng.uniform(size=(40, 6)) < 0.4)
    assert total_variance(X) == pytest.approx(np.var(X, axis=0).sum())
    assert total_variance(sp.csr_matrix(X)) == pytest.approx(np.var(X, axis=0).sum())
    assert total_variance(np.ones((4, 2))) == 0.0  # then the strength is that of the other estimators
