"""An existing cluster: python examples/scale_out/cluster_address.py tcp://HOST:8786 [FOLDER that all workers see]"""

import sys

import numpy as np
from distributed import Client

import fenchel

HOW = """Give the address of a Dask scheduler. To start one (Fenchel must be installed on all of them):
    on one machine:    dask scheduler
    on every machine:  dask worker tcp://HOST:8786 --nthreads 1 --nworkers auto
then: python examples/scale_out/cluster_address.py tcp://HOST:8786"""


def main(address: str | None = None, folder: str | None = None) -> None:
    if address is None:
        print(HOW)
        return
    with Client(address) as client:
        if folder is None:
            rng = np.random.default_rng(0)
            X = rng.standard_normal((20_000, 20))
            y = np.where(X @ rng.standard_normal(20) + rng.standard_normal(20_000) > 0, 1.0, -1.0)
            problem = fenchel.Problem(X, y, loss="logistic", alpha=1e-3)  # its rows are sent to the workers once
        else:
            problem = fenchel.Problem(fenchel.open(folder), loss="logistic", alpha=1e-3)  # the workers read theirs
        print(f"{len(client.nthreads())} workers")
        print(fenchel.solve(problem, solver="lbfgs", engine=fenchel.engines.Dask(client)))


if __name__ == "__main__":
    main(*sys.argv[1:])
