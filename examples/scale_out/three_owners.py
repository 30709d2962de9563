"""Three data owners fit one model together: rows stay with their owners, and only sums are sent.

    python examples/scale_out/three_owners.py

Each owner is a separate process (`fenchel serve-shard`), here on this machine. The process that solves the problem sees
neither rows nor targets. The documentation on scaling out says what this protects and what it does not.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

import fenchel
from fenchel.data.write_store import RowBlock, write_store


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X, y = scale(X), np.where(y == 1, 1.0, -1.0)
    names, parts = ["east", "north", "south"], np.array_split(np.random.default_rng(0).permutation(y.size), 3)
    with tempfile.TemporaryDirectory() as place, LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        owners = []
        for name, rows in zip(names, parts, strict=True):
            write_store(Path(place) / name, [RowBlock(X[rows], y[rows])])
            command = [sys.executable, "-m", "fenchel", "serve-shard", f"{place}/{name}", "--name", name]
            command += ["--scheduler", cluster.scheduler_address, "--log", f"{place}/{name}.jsonl"]
            owners.append(subprocess.Popen(command))
        with Client(cluster) as client:
            client.wait_for_workers(3, timeout=60)
            problem = fenchel.Problem(fenchel.engines.Owners(client), loss="logistic", alpha=1e-3, fit_intercept=True)
            result = fenchel.solve(problem)
            print(result)
            asked = [len((Path(place) / f"{name}.jsonl").read_text().splitlines()) for name in names]
            print("questions answered:", dict(zip(names, asked, strict=True)))
        for owner in owners:
            owner.terminate()
        deadline = time.time() + 10
        for owner in owners:
            owner.wait(max(deadline - time.time(), 0.1))
    accuracy = np.mean(np.sign(X @ result.coef + result.intercept) == y)
    print(f"accuracy on all rows (known here because this is an example): {accuracy:.3f}")


if __name__ == "__main__":
    main()
