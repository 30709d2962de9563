"""All cores of this machine, without any setup. Results are bit-identical for any number of threads."""

import numpy as np

import fenchel


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = np.where(X @ rng.standard_normal(20) + rng.standard_normal(20_000) > 0, 1.0, -1.0)
    problem = fenchel.Problem(X, y, loss="logistic", alpha=1e-3)
    answers = {}
    for threads in (1, 2, None):  # None, the default: all cores
        result = fenchel.solve(problem, solver="lbfgs", engine=fenchel.engines.Local(threads=threads))
        print(f"threads={threads}: {result}")
        answers[result.coef.tobytes()] = threads
    assert len(answers) == 1
    # Estimators take n_jobs, as in scikit-learn: fenchel.Classifier(loss="logistic", n_jobs=-1)


if __name__ == "__main__":
    main()
