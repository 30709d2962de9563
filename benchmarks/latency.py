"""How long a user waits before anything is solved: `python -m benchmarks.latency [--repeat N]`.

Import: what `import fenchel` adds to a process that already has numpy and scipy.sparse. First solve: `Problem` and
`solve` on small data in a new process, numba's own import included, with the kernel cache empty (cold) or filled
(warm). Every number comes from a process of its own; the least and the median of N are printed beside the budget.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.table import machine

BUDGET = {"import": 0.3, "warm": 1.0, "cold": 10.0}

IMPORT = """
import time
import numpy, scipy.sparse
began = time.perf_counter()
import fenchel
fenchel.Problem, fenchel.solve, fenchel.certify  # looked up lazily
print(time.perf_counter() - began)
"""

SOLVE = """
import time
import numpy as np, scipy.sparse as sp
import fenchel
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 10))
y = np.where(X[:, 0] + 0.5 * rng.standard_normal(200) > 0, 1.0, -1.0)
{data}
began = time.perf_counter()
result = fenchel.solve(fenchel.Problem(X, y, {problem}, alpha=1e-2), tol=1e-6)
seconds = time.perf_counter() - began
assert result.converged, result
print(seconds)
"""

CASES = {
    "dense hinge": SOLVE.format(data="", problem="loss='hinge'"),
    "CSR logistic, intercept": SOLVE.format(
        data="X = sp.csr_matrix(np.where(abs(X) > 0.5, X, 0.0))", problem="loss='logistic', fit_intercept=True"
    ),
}


def seconds(program: str, cache: str) -> float:
    """What the program prints, in a new process with the given kernel cache."""
    environment = os.environ | {"FENCHEL_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"the measured program failed:\n{done.stderr}")
    return float(done.stdout)


def line(what: str, times: list[float], budget: float) -> str:
    verdict = "within" if min(times) <= budget else "OVER"
    return f"{what:<50}{min(times):8.3f}{statistics.median(times):8.3f}{budget:8.1f}  {verdict}"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="processes per number; cold starts take half as many")
    repeat = parser.parse_args(argv).repeat
    print(f"{machine()}\n{'seconds':<50}{'least':>8}{'median':>8}{'budget':>8}")
    with tempfile.TemporaryDirectory() as folder:
        seconds(IMPORT, folder)  # byte code is compiled once, at the first import ever
        print(
            line(
                "import, beyond numpy and scipy.sparse",
                [seconds(IMPORT, folder) for _ in range(repeat)],
                BUDGET["import"],
            )
        )
    for name, program in CASES.items():
        cold = []
        for _ in range(max(repeat // 2, 1)):
            with tempfile.TemporaryDirectory() as folder:
                cold.append(seconds(program, folder))
        with tempfile.TemporaryDirectory() as folder:
            seconds(program, folder)
            warm = [seconds(program, folder) for _ in range(repeat)]
        print(line(f"first solve, warm cache: {name}", warm, BUDGET["warm"]))
        print(line(f"first solve, cold cache: {name}", cold, BUDGET["cold"]), flush=True)


if __name__ == "__main__":
    main()
