"""Multinomial regression along paths of strengths: `python -m benchmarks.multinomial [DATA ...] [--rows N] [--glmnet]`.

Softmax with L1, L1 + L2, groups of five neighbouring columns for each class and groups of a column over all classes
(`MultiTask`), free intercepts, columns as they are. Thirty strengths, from where all coefficients are 0 to 1e-4 of it, each to
a certified relative gap of 1e-6. Iris, wine and digits come with scikit-learn, the others from the data folder (FENCHEL_DATA).
Seconds are the processor's, without compilation, for the whole path.

`--glmnet`: the same L1, L1 + L2 and MultiTask paths by R's glmnet (`apt-get install r-cran-glmnet`), where Rscript is found.
Its objective is computed here from its coefficients. It may lie above ours; if it lay below the certified dual value, the
certificate would be false.
"""

from __future__ import annotations

import argparse
import io
import lzma
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fenchel
from benchmarks.data_sets import data_folder
from benchmarks.table import machine
from fenchel import regularizers

TOL = 1e-6
STRENGTHS, SMALLEST = 30, 1e-4
ROUNDING = 1e-9
FILES = ("dna", "letter", "pendigits", "satimage", "shuttle", "usps", "isolet", "caltech101_silhouettes_28", "mnist")
PENALTIES: dict[str, Callable[[float, int], Any]] = {
    "l1": lambda alpha, d: regularizers.L1(alpha),
    "elastic_net": lambda alpha, d: regularizers.ElasticNet(alpha, 0.5),
    "multi_task": lambda alpha, d: regularizers.MultiTask(alpha),
    "group_lasso": lambda alpha, d: regularizers.GroupLasso(alpha, [j // 5 for j in range(d)]),
}
# What glmnet must be told. Its objective is then ours: columns as they are, and a mean over rows.
IN_GLMNET = {"l1": "alpha = 1", "elastic_net": "alpha = 0.5", "multi_task": 'alpha = 1, type.multinomial = "grouped"'}
SCRIPT = """
library(glmnet)
X <- as.matrix(read.csv("{folder}/X.csv", header = FALSE)); y <- scan("{folder}/y.csv", quiet = TRUE)
strengths <- scan("{folder}/strengths.csv", quiet = TRUE)
began <- proc.time()[["user.self"]]
fit <- glmnet(X, factor(y), family = "multinomial", lambda = strengths, standardize = FALSE, thresh = {thresh},
              maxit = 1e6, {options})
cat(proc.time()[["user.self"]] - began, "\\n")
for (k in seq_along(fit$lambda)) {{
  b <- coef(fit, s = fit$lambda[k]); W <- sapply(b, as.vector)
  cat(sprintf("%.17g", c(fit$lambda[k], t(W))), "\\n")
}}
"""


class Found(NamedTuple):
    """What came of one path."""

    certified: int
    seconds: float
    slowest: float
    worst_gap: float
    results: list[fenchel.Result]


def load(name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns as they are and classes 0, 1, 2, ...; every k-th row of large data."""
    if name in ("iris", "wine", "digits"):
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    elif (data_folder() / "multiclass" / f"{name}.svm.xz").is_file():
        from sklearn.datasets import load_svmlight_file

        text = lzma.decompress((data_folder() / "multiclass" / f"{name}.svm.xz").read_bytes())
        X, y = load_svmlight_file(io.BytesIO(text))
        X = X.toarray()
    else:
        file = next((data_folder() / "multiclass").glob(f"{name}.npz*"))
        content = file.read_bytes()
        arrays = np.load(io.BytesIO(lzma.decompress(content) if file.suffix == ".xz" else content))
        X, y = arrays["X"], arrays["y"]
        if name.startswith("caltech"):
            X = np.unpackbits(X, axis=1)
    step = max(1, -(-X.shape[0] // rows))
    X, y = X[::step].reshape(len(X[::step]), -1).astype(np.float64), y[::step]
    return X, np.unique(y, return_inverse=True)[1]


def strengths(X: np.ndarray, y: np.ndarray, penalty: str) -> np.ndarray:
    """From the smallest alpha whose solution is W = 0, downwards."""
    onehot = np.eye(y.max() + 1)[y]
    V = (X.T @ (onehot.mean(axis=0) - onehot) / y.size).ravel()
    far = 1e9 * V / np.abs(V).max()  # outside the domain of R*, so that its scale tells the gauge of V
    name, share = ("l1", 0.5) if penalty == "elastic_net" else (penalty, 1.0)
    unit = PENALTIES[name](share, X.shape[1]).for_outputs(X.shape[1], int(y.max()) + 1)
    largest = np.abs(V).max() / (1e9 * unit.dual_scale(far))
    return float(largest) * SMALLEST ** (np.arange(STRENGTHS) / (STRENGTHS - 1.0))


def by_fenchel(X: np.ndarray, y: np.ndarray, penalty: str, alphas: np.ndarray, limit: float) -> Found:
    """The path, each strength from the solution before."""
    results: list[fenchel.Result] = []
    seconds = []
    first = fenchel.Problem(X, y, "softmax", PENALTIES[penalty](alphas[0], X.shape[1]), fit_intercept=True)
    for alpha in alphas:
        problem = first.with_regularizer(PENALTIES[penalty](float(alpha), X.shape[1]))
        while True:
            began = time.process_time()
            spent = lambda state: time.process_time() - began > limit  # noqa: B023, E731
            result = fenchel.solve(problem, tol=TOL, start=results[-1] if results else None, callback=spent)
            if result.compile_seconds == 0.0:
                break
        seconds.append(time.process_time() - began)
        results.append(result)
    gaps = [result.certificate.relative_gap for result in results]
    return Found(sum(r.converged for r in results), sum(seconds), max(seconds), max(gaps), results)


def by_glmnet(X: np.ndarray, y: np.ndarray, penalty: str, alphas: np.ndarray, thresh: float) -> Iterator[float]:
    """The seconds that glmnet took, then its objective for every strength that it reached."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/X.csv", X, delimiter=",", fmt="%.17g")
        np.savetxt(f"{folder}/y.csv", y, fmt="%d")
        np.savetxt(f"{folder}/strengths.csv", alphas, fmt="%.17g")
        script = Path(folder, "path.R")
        script.write_text(SCRIPT.format(folder=folder, thresh=thresh, options=IN_GLMNET[penalty]), encoding="utf-8")
        run = subprocess.run(["Rscript", str(script)], capture_output=True, text=True, check=True)
    lines = iter(run.stdout.splitlines())
    yield float(next(lines))
    for alpha, line in zip(alphas, lines, strict=False):
        values = np.array(line.split(), dtype=np.float64)
        if not np.isclose(values[0], alpha, rtol=1e-6):
            return
        coef = values[1:].reshape(X.shape[1] + 1, -1)
        yield objective(X, y, coef[1:], coef[0], PENALTIES[penalty](float(alpha), X.shape[1]))


def objective(X: np.ndarray, y: np.ndarray, W: np.ndarray, b: np.ndarray, penalty: Any) -> float:
    """P from its definition."""
    Z = X @ W + b
    top = Z.max(axis=1)
    losses = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(y.size), y]
    return float(losses.mean()) + float(penalty.for_outputs(*W.shape).value(W.ravel()))


def compared(found: Found, theirs: list[float]) -> str:
    """How many of glmnet's objectives are within 1e-6 of ours, the worst excess, and how many lie below our dual value."""
    pairs = list(zip(found.results, theirs, strict=False))
    excess = [value / result.certificate.primal - 1.0 for result, value in pairs]
    below = sum(value < r.certificate.dual - ROUNDING * (1.0 + abs(value)) for r, value in pairs)
    return f"{sum(e <= TOL for e in excess)} of {len(pairs)} equal, worst {max(excess):.1e}, {below} below"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["iris", "wine", "digits"], help=f"also {', '.join(FILES)}")
    parser.add_argument("--penalties", nargs="+", choices=PENALTIES, default=list(PENALTIES))
    parser.add_argument("--rows", type=int, default=2000, help="at most so many rows of each data set")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each strength")
    parser.add_argument("--glmnet", action="store_true", help="compare with R's glmnet")
    parser.add_argument("--thresh", type=float, default=1e-9, help="the threshold of convergence of glmnet")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    with_glmnet = options.glmnet and shutil.which("Rscript") is not None
    print(
        f"{machine()}\n\n| data | rows x columns | classes | penalty | certified | s | slowest | gap | glmnet s | glmnet |"
    )
    print("|" + 10 * " --- |")
    for name in options.data:
        X, y = load(name, options.rows)
        for penalty in options.penalties:
            alphas = strengths(X, y, penalty)
            found = by_fenchel(X, y, penalty, alphas, options.limit)
            line = f"| {name} | {X.shape[0]} x {X.shape[1]} | {y.max() + 1} | {penalty} | {found.certified} of {STRENGTHS} "
            line += f"| {found.seconds:.2f} | {found.slowest:.2f} | {found.worst_gap:.1e} "
            if with_glmnet and penalty in IN_GLMNET:
                seconds, *theirs = by_glmnet(X, y, penalty, alphas, options.thresh)
                line += f"| {seconds:.2f} | {compared(found, theirs)} "
            else:
                line += "| - | - "
            print(line + "|", flush=True)


if __name__ == "__main__":
    main()
