"""From `import` to the first prediction, in a new process: `python -m benchmarks.cold_start [--repeat N]`.

Twelve first calls, each with small data in a process of its own, from after numpy, SciPy and scikit-learn are imported (which
all of them need) to the prediction:

* from a wheel that brings the compiled kernels along, with an empty cache folder (`tools/build_wheel.py`, or
  `--wheel FILE`),
* from source with a cache folder that an earlier process has filled: warm,
* from source with an empty cache folder: everything is compiled,
* scikit-learn and skglm, where they have such an estimator.

The ratio of the first two is what a user pays for the first fit after an installation. The times are those of the clock on
the wall; `--processor` takes processor seconds, which count only this process where others load the machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.table import machine

ROOT = Path(__file__).parent.parent
BEGIN = """
import numpy as np, scipy.sparse as sp, scipy.linalg, sklearn.linear_model, sklearn.svm
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 10))
t = X[:, :3].sum(axis=1) + rng.normal(size=500)
two, three = np.digitize(t, [0.0]), np.digitize(t, [-1.0, 1.0])
counts = rng.poisson(np.exp(np.clip(0.3 * t, -3.0, 3.0))).astype(float)
S = sp.csr_matrix(np.where(X > 0.5, X, 0.0))
words = [[{"word": str(w)} for w in rng.integers(0, 20, 6)] for _ in range(40)]
lengths = [["long" if len(token["word"]) > 1 else "short" for token in sentence] for sentence in words]
began = clock()
"""
END = "\nprint(clock() - began)"
CLOCKS = {False: "from time import perf_counter as clock", True: "from time import process_time as clock"}

OURS = {
    "logistic": "import fenchel; fenchel.Classifier(loss='logistic', C=1.0).fit(X, two).predict(X)",
    "hinge": "import fenchel; fenchel.Classifier(loss='hinge', C=1.0).fit(X, two).predict(X)",
    "softmax": "import fenchel; fenchel.Classifier(loss='softmax', C=1.0).fit(X, three).predict(X)",
    "L1": "import fenchel; fenchel.Regressor(regularizer='l1', alpha=0.1).fit(X, t).predict(X)",
    "quantile": "import fenchel; fenchel.Regressor(loss='quantile', quantile=0.9, alpha=0.01).fit(X, t).predict(X)",
    "Poisson": "import fenchel; fenchel.Regressor(loss='poisson', alpha=0.01).fit(X, counts).predict(X)",
    "kernel": "import fenchel; fenchel.KernelClassifier(C=1.0).fit(X, two).predict(X)",
    "ranker": "import fenchel; fenchel.Ranker(alpha=0.01).fit(X, three, qid=np.arange(500) // 10).predict(X)",
    "sequence labeller": "import fenchel; fenchel.SequenceLabeler(alpha=0.01).fit(words, lengths).predict(words)",
    "F1": "import fenchel; fenchel.MeasureClassifier(measure='f_beta', alpha=0.01).fit(X, two).predict(X)",
    "sparse logistic": "import fenchel; fenchel.Classifier(loss='logistic', C=1.0).fit(S, two).predict(S)",
    "README example": """
import fenchel
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
X, y = load_breast_cancer(return_X_y=True)
problem = fenchel.Problem(scale(X), 2.0 * y - 1, loss="hinge", regularizer="l2", alpha=1e-2, fit_intercept=True)
result = fenchel.solve(problem, tol=1e-6)
fenchel.certify(problem, 1.01 * result.coef, result.intercept)""",
}
SKLEARN = {
    "logistic": "from sklearn.linear_model import LogisticRegression as M; M(C=1.0).fit(X, two).predict(X)",
    "hinge": "from sklearn.svm import LinearSVC as M; M(loss='hinge', max_iter=10**6).fit(X, two).predict(X)",
    "softmax": "from sklearn.linear_model import LogisticRegression as M; M(C=1.0).fit(X, three).predict(X)",
    "L1": "from sklearn.linear_model import Lasso as M; M(alpha=0.1).fit(X, t).predict(X)",
    "quantile": "from sklearn.linear_model import QuantileRegressor as M; M(quantile=0.9, alpha=0.01).fit(X, t).predict(X)",
    "Poisson": "from sklearn.linear_model import PoissonRegressor as M; M(alpha=0.01).fit(X, counts).predict(X)",
    "kernel": "from sklearn.svm import SVC as M; M(C=1.0).fit(X, two).predict(X)",
    "sparse logistic": "from sklearn.linear_model import LogisticRegression as M; M(C=1.0).fit(S, two).predict(S)",
}
SKGLM = {
    "logistic": "from skglm import SparseLogisticRegression as M; M(alpha=0.01, l1_ratio=0.0).fit(X, two).predict(X)",
    "hinge": "from skglm import LinearSVC as M; M(C=1.0).fit(X, two).predict(X)",
    "L1": "from skglm import Lasso as M; M(alpha=0.1).fit(X, t).predict(X)",
    "sparse logistic": "from skglm import SparseLogisticRegression as M; M(alpha=0.01).fit(sp.csc_matrix(S), two).predict(S)",
}  # it has no PoissonRegressor estimator of this kind, and needs an L1 part in its logistic regression


def seconds(program: str, processor: bool, **environment: str) -> float:
    """What the program prints, in a new process; NaN if it fails."""
    rest = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    code = CLOCKS[processor] + BEGIN + program + END
    done = subprocess.run([sys.executable, "-c", code], env=rest | environment, capture_output=True, text=True, cwd="/")
    if done.returncode != 0:
        print(done.stderr.strip().splitlines()[-1:], file=sys.stderr)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def wheel_site(wheel: str | None, folder: Path) -> Path:
    """The folder with the unpacked wheel, which is built if none is given."""
    if wheel is None:
        subprocess.run([sys.executable, ROOT / "tools" / "build_wheel.py", "--outdir", folder], check=True)
        (wheel,) = map(str, folder.glob("*.whl"))
    site = folder / "site"
    zipfile.ZipFile(wheel).extractall(site)
    for file in site.rglob("*"):  # as pip installs them: written by the owner only
        file.chmod(0o755 if file.is_dir() else 0o644)
    return site


def cold(program: str, processor: bool, **environment: str) -> float:
    """With an empty cache folder."""
    with tempfile.TemporaryDirectory() as empty:
        return seconds(program, processor, FENCHEL_CACHE_DIR=empty, NUMBA_CACHE_DIR=empty, **environment)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cold_start", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--repeat", type=int, default=3, help="processes per number; the least time is printed")
    parser.add_argument("--wheel", help="a wheel that tools/build_wheel.py has built")
    parser.add_argument("--only", nargs="+", default=list(OURS), metavar="CALL")
    parser.add_argument(
        "--processor", action="store_true", help="processor seconds, not those of the clock on the wall"
    )
    options = parser.parse_args(argv)
    timed = options.processor
    columns = ["wheel", "warm", "ratio", "source", "sklearn", "skglm"]
    print(f"{machine()}\n{'seconds':<20}" + "".join(f"{name:>9}" for name in columns))
    with tempfile.TemporaryDirectory() as name:
        site = wheel_site(options.wheel, Path(name))
        cache, source = str(Path(name) / "cache"), str(ROOT / "src")
        for what in options.only:
            seconds(OURS[what], timed, PYTHONPATH=source, FENCHEL_CACHE_DIR=cache)
            times: dict[str, list[float]] = {"source": [cold(OURS[what], timed, PYTHONPATH=source)]}
            for _ in range(options.repeat):  # in turns, because the machine may be busy for a while
                times.setdefault("wheel", []).append(cold(OURS[what], timed, PYTHONPATH=str(site)))
                times.setdefault("warm", []).append(
                    seconds(OURS[what], timed, PYTHONPATH=source, FENCHEL_CACHE_DIR=cache)
                )
                for peer, programs in (("sklearn", SKLEARN), ("skglm", SKGLM)):
                    if what in programs:
                        times.setdefault(peer, []).append(cold(programs[what], timed))
            row = {column: min(found) for column, found in times.items()}
            row["ratio"] = row["wheel"] / row["warm"]
            cells = (f"{row[column]:9.2f}" if column in row else f"{'':9}" for column in columns)
            print(f"{what:<20}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
