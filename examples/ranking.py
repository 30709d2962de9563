"""
Ranking within queries
======================

Every query has its own documents, and only their order within the query matters. `Ranker` minimises a sum over pairs of
documents, weighted by what their exchange costs in NDCG, or a convex upper bound of 1 - NDCG. Least squares also has to
fit the mean relevance of each query, and ranks worse here.
"""

import matplotlib.pyplot as plt
import numpy as np

import fenchel

rng = np.random.default_rng(0)
queries, documents, d = 90, 12, 20
X = rng.normal(size=(queries * documents, d))
qid = np.repeat(np.arange(queries), documents)
taste = X @ np.concatenate([np.full(4, 0.8), np.zeros(d - 4)])
mood = rng.normal(0.0, 4.0, queries)[qid]  # the mean relevance differs between queries
X[:, -1] += mood
y = np.clip(np.round(1.5 + taste + mood + rng.normal(0.0, 0.5, len(X))), 0, 4)
learn, test = qid < 60, qid >= 60

models = {
    "pairs": fenchel.Ranker(fenchel.measures.NDCGPairs(5)).fit(X[learn], y[learn], qid=qid[learn]),
    "NDCG": fenchel.Ranker(fenchel.measures.NDCG(5), alpha=0.1, tol=1e-2).fit(X[learn], y[learn], qid=qid[learn]),
    "ROC area": fenchel.Ranker("roc_area", alpha=0.1, tol=1e-2).fit(X[learn], y[learn], qid=qid[learn]),
    "least squares": fenchel.Regressor("squared", alpha=1e-3).fit(X[learn], y[learn]),
}
for name, model in models.items():
    at = [fenchel.metrics.ndcg(y[test], model.predict(X[test]), qid[test], k) for k in range(1, documents + 1)]
    print(f"{name:14} {model.status_.name}; NDCG@5 on new queries {at[4]:.3f}")
    plt.plot(range(1, documents + 1), at, marker=".", label=name)
plt.xlabel("k")
plt.ylabel("NDCG@k on new queries")
plt.legend()
plt.show()
