"""How fast the data are read: `python -m benchmarks.bandwidth [--repeat N]`.

The fused pass (scores, losses, gradient; every row touched once) over dense and CSR data, in bytes of X per second, beside the
machine's own read bandwidth (a sum over an array much larger than its caches); shares are of the plain sum with as many
threads. Its kernel in one call for all rows, beside the same loop in C if there is a compiler (-O3 -march=native, sums may be
reordered); the pass cuts the rows into blocks for the threads, each with a gradient of its own. All of them in turn, and each
with the data out of the caches.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import fenchel
from benchmarks.data_sets import read
from benchmarks.table import machine
from fenchel.compile.kernel import kernel
from fenchel.engines import Local
from fenchel.kernels.passes import risk_pass
from fenchel.oracles.scalar import Oracle

READ = 1 << 28  # bytes, much more than the caches hold
C_SOURCE = r"""
#include <string.h>
double dense(long n, long d, const double *X, const double *y, const double *p, const double *o, const double *w, double *g) {
    double total = 0.0;
    memset(g, 0, d * sizeof(double));
    for (long i = 0; i < n; i++) {
        const double *x = X + i * d;
        double z = o[i];
        for (long j = 0; j < d; j++) z += x[j] * w[j];
        double m = 1.0 - y[i] * z;
        if (m > 0.0) { total += p[i] * m; double u = -p[i] * y[i]; for (long j = 0; j < d; j++) g[j] += u * x[j]; }
    }
    return total;
}
double csr(long n, long d, const int *ip, const int *ix, const double *v, const double *y, const double *p, const double *o,
           const double *w, double *g) {
    double total = 0.0;
    memset(g, 0, d * sizeof(double));
    for (long i = 0; i < n; i++) {
        double z = o[i];
        for (int k = ip[i]; k < ip[i + 1]; k++) z += v[k] * w[ix[k]];
        double m = 1.0 - y[i] * z;
        if (m > 0.0) {
            total += p[i] * m;
            double u = -p[i] * y[i];
            for (int k = ip[i]; k < ip[i + 1]; k++) g[ix[k]] += u * v[k];
        }
    }
    return total;
}
"""


@kernel(fastmath=True)
def total(a):
    """Sum of an array: nothing but reading."""
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


def least(works: dict[str, Callable[[], Any]], repeat: int, between: Callable[[], Any]) -> dict[str, float]:
    """Seconds of the fastest of several calls of each, in turn: the machine is not equally busy all the time. `between` them,
    something fills the caches with other data."""
    for work in works.values():
        work()
    times = dict.fromkeys(works, np.inf)
    for _ in range(repeat):
        for name, work in works.items():
            between()
            began = time.perf_counter()
            work()
            times[name] = min(times[name], time.perf_counter() - began)
    return times


def reader(threads: int) -> Callable[[], Any]:
    """A plain sum over `READ` bytes, the array cut among the threads."""
    parts, pool = np.array_split(np.ones(READ // 8), threads), ThreadPoolExecutor(threads)
    return lambda: list(pool.map(total, parts))


def stored_bytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def in_c(problem: Any, w: np.ndarray) -> Callable[[], Any] | None:
    """The loop in C; None without a compiler."""
    X = problem.X
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "pass.c", Path(folder) / "pass.so"
        source.write_text(C_SOURCE)
        # What -ffast-math does for sums, without its change to the floating-point state of the process.
        sums = ["-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno"]
        flags = ["-O3", "-march=native", *sums, "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
        g = np.zeros(w.size)
        arrays = [X.indptr, X.indices, X.data] if sp.issparse(X) else [X]
        arrays += [problem.y, problem.weights, problem.offset, w, g]
        function = loaded.csr if sp.issparse(X) else loaded.dense
        function.restype = ctypes.c_double
        arguments = [ctypes.c_long(k) for k in X.shape] + [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
    return lambda: function(*arguments)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--data", nargs="*", default=["covtype", "news", "a9a", "w8a", "ijcnn1", "kdd99"])
    options = parser.parse_args(argv)
    readers = {threads: reader(threads) for threads in (1, 2)}
    print(f"{machine()}\n")
    print(
        "| data | storage | loop in C, ms | kernel, ms | ratio | threads | pass, ms | GB/s | a plain sum, GB/s | share of it "
        "| gain by threads |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.data:
        X, y, *_ = read(name)
        for kind in ("float64", "float32") if not sp.issparse(X) else ("float64",):
            rows(name, X.astype(kind, copy=False), y, readers, options.repeat)


def rows(name: str, X: Any, y: np.ndarray, readers: dict[int, Callable[[], Any]], repeat: int) -> None:
    problem = fenchel.Problem(X, y, loss="hinge", alpha=1e-4)
    w = 0.01 * np.random.default_rng(0).standard_normal(problem.d)
    c = in_c(problem, w) if X.dtype == np.float64 else None
    storage = f"{'CSR' if sp.issparse(X) else 'dense'} {X.dtype}, {stored_bytes(X) / 1e6:.0f} MB"
    oracles = {threads: Oracle(problem, Local(threads=threads)) for threads in readers}
    works = {"C": c} if c else {}
    arguments, g = (
        (problem.compiled_loss, problem.rows, problem.y, problem.weights, problem.offset, w, 0.0),
        np.zeros(w.size),
    )

    def in_one_call() -> None:
        g[:] = 0.0
        risk_pass(*arguments, g)

    works["kernel"] = in_one_call
    works |= {f"read {threads}": work for threads, work in readers.items()}
    works |= {f"pass {t}": lambda oracle=oracle: oracle.risk(w, 0.0) for t, oracle in oracles.items()}  # type: ignore[misc]
    times = least(works, repeat, readers[1])
    for threads in readers:
        seconds, speed = times[f"pass {threads}"], READ / times[f"read {threads}"]
        rate = stored_bytes(X) / seconds
        known = f"{1e3 * times['C']:.2f}" if c else "-"
        ratio = f"{times['kernel'] / times['C']:.2f}" if c else "-"
        print(
            f"| {name} | {storage} | {known} | {1e3 * times['kernel']:.2f} | {ratio} | {threads} | "
            f"{1e3 * seconds:.2f} | {rate / 1e9:.1f} | {speed / 1e9:.1f} | "
            f"{100 * rate / speed:.0f} % | {times['pass 1'] / seconds:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
