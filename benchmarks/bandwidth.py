"""How fast the data are read: `python -m benchmarks.bandwidth [--repeat N]`.

The fused pass (scores, losses, gradient; every row touched once) over dense and CSR data, in bytes of X per second, beside the
machine's own read bandwidth (a sum over an array much larger than its caches) and, if there is a C compiler, the same
loop in C (-O3 -march=native, sums may be reordered). Shares are of the read bandwidth with as many threads.
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
from fenchel.engines import Local
from fenchel.jit import kernel
from fenchel.oracle import Oracle

C_SOURCE = r"""
double dense(long n, long d, const double *X, const double *y, const double *w, double *g) {
    double total = 0.0;
    for (long i = 0; i < n; i++) {
        const double *x = X + i * d;
        double z = 0.0;
        for (long j = 0; j < d; j++) z += x[j] * w[j];
        double m = 1.0 - y[i] * z;
        if (m > 0.0) { total += m; double u = -y[i] / n; for (long j = 0; j < d; j++) g[j] += u * x[j]; }
    }
    return total / n;
}
double csr(long n, const int *ip, const int *ix, const double *v, const double *y, const double *w, double *g) {
    double total = 0.0;
    for (long i = 0; i < n; i++) {
        double z = 0.0;
        for (int k = ip[i]; k < ip[i + 1]; k++) z += v[k] * w[ix[k]];
        double m = 1.0 - y[i] * z;
        if (m > 0.0) { total += m; double u = -y[i] / n; for (int k = ip[i]; k < ip[i + 1]; k++) g[ix[k]] += u * v[k]; }
    }
    return total / n;
}
"""


@kernel(fastmath=True)
def total(a):
    """Sum of an array: nothing but reading."""
    s = 0.0
    for i in range(a.size):
        s += a[i]
    return s


def least(work: Callable[[], Any], repeat: int) -> float:
    """Seconds of the fastest of several calls."""
    work()
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def read_bandwidth(threads: int, repeat: int) -> float:
    """Bytes per second of a plain sum over 512 MB, the array cut among the threads."""
    parts = np.array_split(np.ones(1 << 26), threads)
    with ThreadPoolExecutor(threads) as pool:
        return sum(p.nbytes for p in parts) / least(lambda: list(pool.map(total, parts)), repeat)


def stored_bytes(X: Any) -> int:
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def in_c(X: Any, y: np.ndarray, w: np.ndarray, repeat: int) -> float | None:
    """Seconds of the loop in C; None without a compiler."""
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
        sizes = [X.shape[0]] if sp.issparse(X) else list(X.shape)
        function = loaded.csr if sp.issparse(X) else loaded.dense
        function.restype = ctypes.c_double
        arguments = [ctypes.c_long(k) for k in sizes] + [a.ctypes.data_as(ctypes.c_void_p) for a in (*arrays, y, w, g)]
        return least(lambda: function(*arguments), repeat)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--data", nargs="*", default=["covtype", "news", "a9a", "w8a", "ijcnn1", "kdd99"])
    options = parser.parse_args(argv)
    read_speed = {threads: read_bandwidth(threads, options.repeat) for threads in (1, 2)}
    print(
        f"{machine()}\nread bandwidth: {', '.join(f'{t} thread(s) {s / 1e9:.1f} GB/s' for t, s in read_speed.items())}\n"
    )
    print("| data | storage | C, ms | threads | ms | GB/s | share of read bandwidth | ratio to C | gain by threads |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.data:
        X, y, *_ = read(name)
        for kind in ("float64", "float32") if not sp.issparse(X) else ("float64",):
            row(name, X.astype(kind, copy=False), y, read_speed, options.repeat)


def row(name: str, X: Any, y: np.ndarray, read_speed: dict[int, float], repeat: int) -> None:
    problem = fenchel.Problem(X, y, loss="hinge", alpha=1e-4)
    w = 0.01 * np.random.default_rng(0).standard_normal(problem.d)
    c = in_c(X, y, w, repeat) if X.dtype == np.float64 else None
    storage = f"{'CSR' if sp.issparse(X) else 'dense'} {X.dtype}, {stored_bytes(X) / 1e6:.0f} MB"
    alone = None
    for threads, speed in read_speed.items():
        oracle = Oracle(problem, Local(threads=threads))
        seconds = least(lambda oracle=oracle: oracle.risk(w, 0.0), repeat)  # type: ignore[misc]
        alone = seconds if alone is None else alone
        rate = stored_bytes(X) / seconds
        known = f"{1e3 * c:.2f}" if c else "-"
        ratio = f"{seconds / c:.2f}" if c and threads == 1 else "-"
        print(
            f"| {name} | {storage} | {known} | {threads} | {1e3 * seconds:.2f} | {rate / 1e9:.1f} | "
            f"{100 * rate / speed:.0f} % | {ratio} | {alone / seconds:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
