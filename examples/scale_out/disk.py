"""Data larger than memory: convert a text file once into a folder of memory-mapped rows, then train from that folder.

On the command line: fenchel convert train.svm.gz train.rows && fenchel train train.rows --loss logistic --model m.fenchel
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

import fenchel
from fenchel.readers.convert import convert


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 20)) * (rng.random((5_000, 20)) < 0.3)
    y = np.where(X @ rng.standard_normal(20) + 0.5 * rng.standard_normal(5_000) > 0, 1.0, -1.0)
    with tempfile.TemporaryDirectory() as place:
        dump_svmlight_file(X, y, str(Path(place) / "train.svm"), zero_based=False)
        folder = convert(Path(place) / "train.svm", Path(place) / "train.rows")
        data = fenchel.open(folder)  # every block is checked against its digest
        problem = fenchel.Problem(data, loss="logistic", alpha=1e-3)
        result = fenchel.solve(problem, solver="lbfgs")
        print(result)
        print(
            f"{np.mean(np.sign(data @ result.coef) == data.y):.1%} of the {problem.n} rows on disk are on the right side"
        )


if __name__ == "__main__":
    main()
