"""Worker processes on this machine, used in the same way as a real cluster (pip install 'fenchel[dask]')."""

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import fenchel


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = np.where(X @ rng.standard_normal(20) + rng.standard_normal(20_000) > 0, 1.0, -1.0)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        # Rows that are here: they are sent to the workers once.
        problem = fenchel.Problem(X, y, loss="logistic", alpha=1e-3)
        sent = fenchel.solve(
            problem, solver="lbfgs", engine=fenchel.engines.Dask(client, cut=(0, 5_000, 12_000, 20_000))
        )
        print(sent)
        # Rows that are there already, in the same blocks: they stay, and so does the certificate's work.
        chunks = (5_000, 7_000, 8_000)
        there = fenchel.Problem(
            da.from_array(X, chunks=(chunks, 20)), da.from_array(y, chunks=(chunks,)), loss="logistic", alpha=1e-3
        )
        stayed = fenchel.solve(there, solver="lbfgs")
        print(stayed)
        print("the same coefficients, bit for bit:", sent.coef.tobytes() == stayed.coef.tobytes())


if __name__ == "__main__":
    main()
