"""Compiled kernels: the same as Python, never confused between classes; a cache that is checked before it is used."""

import ast
import gc
import os
import pickle
import shutil
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.certificates.passes import slopes_pass
from fenchel.compile import disk_cache, dispatch, sources
from fenchel.compile.kernel import Kernel, kernel
from fenchel.data.accept import accept_matrix
from fenchel.data.rows import axpy, dot, sqnorm
from fenchel.losses.protocol import dual_step, value_and_slope

SOURCES = Path(fenchel.__file__).parent


@kernel
def total(loss, rows, y, w, gradient):
    result = 0.0
    for i in range(np.uint64(y.size)):
        f, g = value_and_slope(loss, dot(rows, i, w), y[i])
        result += f + dual_step(loss, g, 0.5, 1.0 + sqnorm(rows, i), y[i])
        axpy(rows, i, g, gradient)
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Moreau(losses.Logistic(), 0.5)], ids=repr)
def test_compiled_equals_python_source(loss, sparse, dtype):
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5)).astype(dtype)
    _, rows = accept_matrix(sp.csr_matrix(X) if sparse else X)
    y, w = np.sign(rng.normal(size=20)), rng.normal(size=5)
    compiled, python = np.zeros(5), np.zeros(5)
    assert total(loss, rows, y, w, compiled) == pytest.approx(total.py_func(loss, rows, y, w, python), rel=1e-12)
    np.testing.assert_allclose(compiled, python, rtol=1e-12)


def user_hinge(factor):
    """A user's class that has the name of a shipped loss."""

    class Hinge(NamedTuple):
        margin: float = 1.0

        def value(self, z, y):
            return factor * max(0.0, self.margin - y * z)

        def slope(self, z, y):
            return -factor * y if y * z < self.margin else 0.0

    return Hinge()


@kernel
def at(loss, z, y):
    return value_and_slope(loss, z, y)[0]


def test_classes_of_the_same_name_do_not_collide():
    candidates = [losses.Hinge(), user_hinge(2.0), user_hinge(3.0), losses.Hinge()]
    assert [at(dispatch.compilable(loss), 0.0, 1.0) for loss in candidates] == [1.0, 2.0, 3.0, 1.0]
    nested = [losses.Moreau(loss, 1e-3) for loss in candidates]
    assert [round(at(dispatch.compilable(loss), 0.0, 1.0)) for loss in nested] == [1, 2, 3, 1]


def test_helpers_of_the_same_name_do_not_collide():
    def made(number):
        @dispatch.helper
        def of_one_name(x):
            return x + number

        return Kernel(lambda x: of_one_name(x), False)

    assert [made(number)(0.5) for number in (1.0, 2.0)] == [1.5, 2.5]


def test_problems_keep_classes_of_the_same_name_apart():
    X, y, slopes = np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), np.zeros(2)
    for factor, loss in ((2.0, user_hinge(2.0)), (3.0, user_hinge(3.0)), (1.0, losses.Hinge())):
        problem = fenchel.Problem(X, y, loss=loss)
        slopes_pass(problem.compiled_loss, problem.y, np.zeros(2), slopes)
        assert slopes.tolist() == [-factor, factor]
        assert type(dispatch.compilable(problem.compiled_loss)) is type(problem.compiled_loss)


# --- the cache on disk -----------------------------------------------------------------------------------------------


MODULE = "fenchel.kernels.smallest"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of our own, and a module of the package in which numba finds the kernel's globals again."""
    monkeypatch.setenv("FENCHEL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, MODULE, sys.modules[__name__])
    disk_cache.cache_folder.cache_clear()
    yield tmp_path / "cache"
    disk_cache.cache_folder.cache_clear()


def _smallest(loss, y, z, u):
    for i in range(z.size):
        u[i] = dual_step(loss, 0.0, z[i], 1.0, y[i])


def fresh():
    """A kernel as a new process would see it: nothing compiled yet, and known by a name of the package."""
    _smallest.__module__ = MODULE
    gc.collect()  # numba finds what is left of an earlier dispatcher by its name
    return Kernel(_smallest, False)


def run(loss=None):
    """(answer, warnings) of a kernel in a fresh dispatcher."""
    disk_cache.cache_folder.cache_clear()
    u = np.zeros(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fresh()(dispatch.compilable(loss or losses.Hinge()), np.ones(2), np.array([0.5, 3.0]), u)
    return u.tolist(), [str(w.message) for w in caught]


RIGHT = [-0.5, 0.0]


def entries(folder):
    return sorted(folder.glob("kernels-*/*.nbk"))


def count_compilations(monkeypatch):
    """A list that grows by one with every kernel that is saved after a compilation."""
    made = []
    original = disk_cache.DiskCache.save_overload

    def save(self, sig, data):
        made.append(sig)
        original(self, sig, data)

    monkeypatch.setattr(disk_cache.DiskCache, "save_overload", save)
    return made


def test_second_use_reads_the_cache_and_compiles_nothing(folder, monkeypatch):
    made = count_compilations(monkeypatch)
    assert run() == (RIGHT, [])
    assert len(made) == 1
    assert len(entries(folder)) == 1
    assert run() == (RIGHT, [])
    assert len(made) == 1


def test_cache_folder_and_entries_are_private(folder):
    run()
    for place in (folder, *folder.iterdir(), *entries(folder)):
        assert not stat.S_IMODE(place.stat().st_mode) & 0o022


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


class Bomb:
    """Unpickling this leaves a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


DAMAGES = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "truncated in the header": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "empty": lambda path: path.write_bytes(b""),
    "bit flipped in the code": lambda path: flip(path, 5000),
    "bit flipped in the digest": lambda path: flip(path, len(disk_cache.MAGIC) + 3),
    "bit flipped in the magic": lambda path: flip(path, 2),
    "last bit flipped": lambda path: flip(path, -1),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a dangling link": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "writable by others": lambda path: path.chmod(0o666),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entry_is_compiled_again_with_one_warning(folder, monkeypatch, damage):
    run()
    (entry,) = entries(folder)
    DAMAGES[damage](entry)
    made = count_compilations(monkeypatch)
    answer, said = run()
    assert answer == RIGHT
    assert len(said) == (0 if damage == "a dangling link" else 1)
    assert len(made) == 1


def test_linked_entry_is_not_followed(folder, tmp_path):
    run()
    (entry,) = entries(folder)
    entry.rename(tmp_path / "elsewhere.nbk")
    entry.symlink_to(tmp_path / "elsewhere.nbk")
    answer, said = run()
    assert answer == RIGHT
    assert len(said) == 1


def test_deleted_entry_and_deleted_folder_are_made_again(folder, monkeypatch):
    run()
    entries(folder)[0].unlink()
    assert run() == (RIGHT, [])
    assert len(entries(folder)) == 1
    shutil.rmtree(folder)
    assert run() == (RIGHT, [])
    assert len(entries(folder)) == 1


def test_folder_deleted_in_the_middle_of_a_process_gives_one_warning_and_the_answer(folder):
    run()
    shutil.rmtree(folder)
    u = np.zeros(2)
    with pytest.warns(UserWarning, match="cannot be cached") as caught:
        fresh()(losses.Hinge(), np.ones(2), np.array([0.5, 3.0]), u)
    assert len(caught) == 1
    assert u.tolist() == RIGHT


@pytest.mark.parametrize("kind", ["raw pickle", "wrong digest", "old magic"])
def test_planted_pickle_is_not_run(folder, tmp_path, kind):
    run()
    (entry,) = entries(folder)
    bomb = pickle.dumps(Bomb(tmp_path / "exploded"))
    head = {
        "raw pickle": b"",
        "wrong digest": disk_cache.MAGIC + bytes(32),
        "old magic": b"FENCHEL-KERNEL-0" + bytes(32),
    }
    entry.write_bytes(head[kind] + bomb)
    answer, said = run()
    assert answer == RIGHT
    assert len(said) == 1
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("call", ["mkstemp", "fdopen", "replace"])
def test_full_disk_gives_one_warning_and_the_answer(folder, monkeypatch, call):
    original = getattr(disk_cache.tempfile if call == "mkstemp" else os, call)

    def full(*args, **kwargs):
        if call == "fdopen" and "w" not in args[1]:
            return original(*args, **kwargs)
        if call == "fdopen":
            os.close(args[0])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_cache.tempfile if call == "mkstemp" else disk_cache.os, call, full)
    answer, said = run()
    monkeypatch.undo()
    assert answer == RIGHT
    assert len(said) == 1
    assert "No space left" in said[0]
    assert not list(folder.glob("kernels-*/*"))


def test_read_only_folder_gives_one_warning_and_the_answer(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):  # mkdir itself, because the super-user may write anywhere
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setenv("FENCHEL_CACHE_DIR", str(tmp_path / "read-only"))
    answer, said = run()
    disk_cache.cache_folder.cache_clear()
    assert answer == RIGHT
    assert len(said) == 1
    assert "FENCHEL_CACHE_DIR" in said[0]


def distrusted(monkeypatch, folder):
    """Run with a folder that must not be used; returns what was said."""
    made = count_compilations(monkeypatch)
    reads = []
    monkeypatch.setattr(disk_cache.pickle, "loads", lambda data: reads.append(data))
    answer, said = run()
    assert answer == RIGHT
    assert not reads
    assert len(made) == 1
    assert len(said) == 1
    return said[0]


@pytest.mark.parametrize("level", ["root", "kernels"])
def test_world_writable_folder_is_not_used(folder, monkeypatch, level):
    run()
    (folder if level == "root" else next(folder.iterdir())).chmod(0o777)
    assert "writable by someone else" in distrusted(monkeypatch, folder)


def test_foreign_folder_is_not_used(folder, monkeypatch):
    run()
    monkeypatch.setattr(disk_cache.os, "getuid", lambda: 4242)
    assert "owned" in distrusted(monkeypatch, folder)


@pytest.mark.parametrize("level", ["root", "kernels"])
def test_linked_folder_is_not_used(folder, tmp_path, monkeypatch, level):
    run()
    place = folder if level == "root" else next(folder.iterdir())
    place.rename(tmp_path / "target")
    place.symlink_to(tmp_path / "target", target_is_directory=True)
    assert "link" in distrusted(monkeypatch, folder)


def test_no_home_gives_one_warning_and_the_answer(monkeypatch):
    for name in ("FENCHEL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/nonexistent")
    answer, said = run()
    disk_cache.cache_folder.cache_clear()
    assert answer == RIGHT
    assert len(said) == 1
    assert "no home directory" in said[0]


def test_folders_of_older_versions_are_pruned_but_some_kept(folder):
    for k in range(6):
        (folder / f"kernels-{k}").mkdir(parents=True)
        os.utime(folder / f"kernels-{k}", (k, k))
    folder.chmod(0o700)
    run()
    left = {p.name for p in folder.iterdir()}
    assert {"kernels-3", "kernels-4", "kernels-5"} < left
    assert "kernels-0" not in left


def test_kernels_of_user_losses_are_not_kept(folder):
    for loss in (user_hinge(1.0), losses.Moreau(user_hinge(1.0), 1e-9)):
        answer, said = run(loss)
        assert answer == pytest.approx(RIGHT, rel=1e-6)
        assert said == []
    assert entries(folder) == []


def test_kernels_of_user_code_are_not_kept(folder):
    mine = Kernel(lambda x: x + 1.0, False)
    assert mine(1.0) == 2.0
    assert entries(folder) == []


# --- processes of their own ------------------------------------------------------------------------------------------

ASK = """
import numpy as np, fenchel
from fenchel.certificates.passes import slopes_pass
u = np.zeros(1)
slopes_pass(fenchel.losses.Hinge(), np.ones(1), np.zeros(1), u)
print(fenchel.__file__, u[0])
"""


def environment(cache, **more):
    return {**os.environ, "FENCHEL_CACHE_DIR": str(cache), "PYTHONWARNINGS": "error::UserWarning", **more}


def start(code, env):
    return subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_many_processes_on_an_empty_cache(tmp_path):
    crowd = [start(ASK, environment(tmp_path / "cache")) for _ in range(8)]
    for process in crowd:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out.split()[1:], err) == (0, ["-1.0"], "")
    assert not list((tmp_path / "cache").rglob("*.tmp"))


def test_editing_a_loss_gives_the_new_answer(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(SOURCES, copy / "fenchel", ignore=shutil.ignore_patterns("__pycache__"))
    hinge = copy / "fenchel" / "losses" / "hinge.py"
    env = environment(tmp_path / "cache", PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1")
    answers = []
    for factor in ("1.0", "3.0"):
        source = hinge.read_text()
        hinge.write_text(source.replace("return -y if y * z", f"return -{factor} * y if y * z"))
        assert hinge.read_text() != source
        out, err = start(ASK, env).communicate(timeout=120)
        assert not err
        place, answer = out.split()
        assert Path(place).is_relative_to(copy)
        answers.append(float(answer))
        hinge.write_text(source)
    assert answers == [-1.0, -3.0]


COMPILE = """
import numpy as np, scipy.sparse as sp, fenchel
from numba.core import compiler
from fenchel.compile.sources import reachable
from fenchel.compile.disk_cache import DiskCache, _modules

asked, stack, missed = [], [], []
inner = compiler.compile_extra

def watched(typing, target, func, args, *more, **options):
    name = func.__module__
    if stack:
        if name.startswith("fenchel.") and name != "fenchel.compile.dispatch" and name not in stack[-1]:
            missed.append((name, func.__name__))
        return inner(typing, target, func, args, *more, **options)
    stack.append(frozenset().union(*map(reachable, [name, *_modules(args)])))
    asked.append(func.__name__)
    try:
        return inner(typing, target, func, args, *more, **options)
    finally:
        stack.pop()

compiler.compile_extra = watched
X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
for loss, y in (("hinge", [1, -1, 1, -1]), ("softmax", [0, 1, 2, 1]), ("roc_area", [1, -1, 1, -1])):
    assert fenchel.solve(fenchel.Problem(sp.csr_matrix(X), y, loss=loss, alpha=0.1)).converged
assert fenchel.solve(fenchel.Problem(X, [1, -1, 1, -1], loss="hinge", alpha=0.1), solver="dual_ascent").converged
print(len(asked), missed)
"""


def test_everything_compiled_into_a_kernel_is_among_its_sources(tmp_path):
    out, err = start(COMPILE, environment(tmp_path / "cache")).communicate(timeout=300)
    assert not err
    asked, missed = out.split(maxsplit=1)
    assert int(asked) > 10
    assert missed.strip() == "[]"


def test_sources_follow_imports_through_packages_and_functions():
    assert sources.reachable("fenchel.kernels.passes") >= {"fenchel.losses.protocol", "fenchel.compile.dispatch"}
    assert "fenchel.losses.hinge" not in sources.reachable("fenchel.kernels.passes")
    whole = sources._imported("fenchel.losses", ["Hinge"])
    assert {"fenchel.losses.hinge", "fenchel.losses.logistic", "fenchel.losses"} <= set(whole)
    assert sources._imported("fenchel", ["deadline", "losses"]) == ["fenchel.deadline", "fenchel.losses"]


def test_entries_that_nobody_reads_are_removed(folder):
    run()
    (kept,) = entries(folder)
    old = kept.with_name("old.nbk")
    shutil.copy(kept, old)
    for entry, age in ((old, 90), (kept, 50)):
        os.utime(entry, (time.time() - age * 86400,) * 2)
    run()
    assert entries(folder) == [kept]
    assert time.time() - kept.stat().st_mtime < 3600  # it was read just now


def test_import_is_light():
    code = (
        "import sys, fenchel; fenchel.Problem, fenchel.solve, fenchel.certify; "
        "print([m for m in ('numba', 'sklearn', 'rich', 'pandas') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_import_adds_less_than_the_budget():
    # Processor time, the least of five; the names are looked up lazily, so they are looked up here.
    code = (
        "import time, numpy, scipy.sparse; t = time.process_time(); import fenchel; "
        "fenchel.Problem, fenchel.solve, fenchel.certify; print(time.process_time() - t)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    assert min(float(run.stdout) for run in runs) < 0.3


IN_ORDER = """
import sys
import numpy as np
from fenchel.data.accept import accept_matrix
from fenchel.data.rows import dot
from fenchel.compile.kernel import kernel

def source(rows, i, w):
    return dot(rows, i, w)

kernels = {"fast": kernel(source, fastmath=True), "strict": kernel(source)}
fast = kernel(source, fastmath=True)

@kernel
def strict_around(rows, i, w):
    here = dot(rows, i, w)
    return here + 0.0 * fast(rows, i, w)

@kernel(fastmath=True)
def fast_around(rows, i, w):
    here = dot(rows, i, w)
    return here + 0.0 * kernels_strict(rows, i, w)

kernels_strict = kernels["strict"]
kernels |= {"strict_around": strict_around, "fast_around": fast_around}
rng = np.random.default_rng(0)
rows, w = accept_matrix(rng.standard_normal((20, 1001)))[1], rng.standard_normal(1001)
for name in sys.argv[1:]:
    found = [kernels[name](rows, np.uint64(i), w) for i in range(20)]
    print(name, found == [source(rows, i, w) for i in range(20)])
"""


@pytest.mark.parametrize(
    "order",
    [("fast", "strict"), ("strict", "fast"), ("strict_around", "fast_around"), ("fast_around", "strict_around")],
)
def test_sums_are_reordered_where_that_is_allowed_and_nowhere_else(order, tmp_path):
    """Whoever is compiled first, and also where one kernel calls the other: a method that both call is compiled for each."""
    run = subprocess.run(
        [sys.executable, "-c", IN_ORDER, *order], capture_output=True, text=True, check=True,
        env={**os.environ, "FENCHEL_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert dict(line.split() for line in run.stdout.splitlines()) == {name: str("strict" in name) for name in order}


TWICE = """
import numpy as np, scipy.sparse as sp
import fenchel
from fenchel import solvers
from fenchel.selection import requirements as compat
from fenchel.compile.disk_cache import DiskCache

seen, save = {}, DiskCache.save_overload

def remembered(cache, sig, data):
    types = [str(t) for t in sig]
    seen.setdefault((cache._name, tuple(t.replace("readonly ", "") for t in types)), set()).add(tuple(types))
    save(cache, sig, data)

DiskCache.save_overload = remembered
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 4))
for weights in (None, rng.random(2000)):
    for storage in (np.asarray, sp.csr_matrix):
        p = fenchel.Problem(storage(X), np.sign(X[:, 0] + rng.standard_normal(2000)), loss="hinge", alpha=1e-3,
                            sample_weight=weights, fit_intercept=weights is None)
        for name, cls in solvers.SOLVERS.items():
            if compat.fits(cls, p) and not cls.slow:
                fenchel.solve(p, solver=name, tol=1e-3, max_time=5)
assert len(seen) > 20, len(seen)
print(*(name for (name, _), found in seen.items() if len(found) > 1))
"""


def test_no_kernel_is_compiled_again_only_because_an_array_may_be_written_to(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, check=True, env=environment(tmp_path / "cache")
    )
    assert done.stdout.split() == []


def compiled_functions(tree):
    """The functions of a module that numba compiles: kernels, helpers, methods of NamedTuples and their defaults."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if any(ast.unparse(d).startswith(("kernel", "helper", "method")) for d in node.decorator_list):
                yield node
        elif isinstance(node, ast.ClassDef) and any("NamedTuple" in ast.unparse(base) for base in node.bases):
            yield from (part for part in node.body if isinstance(part, ast.FunctionDef))


def array_slices_assigned(source):
    """Lines of compiled functions that assign something other than a constant to a slice."""
    for function in compiled_functions(ast.parse(source)):
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and not is_constant(node.value):
                targets = [part for t in node.targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
                slices = (s for t in targets if isinstance(t, ast.Subscript) for s in ast.walk(t.slice))
                if any(isinstance(s, ast.Slice) for s in slices):
                    yield node.lineno


def is_constant(value):
    if isinstance(value, ast.Tuple):
        return all(map(is_constant, value.elts))
    return ast.unparse(value) in ("np.inf", "-np.inf", "np.nan") or not any(
        isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(value)
    )


def test_no_kernel_assigns_arrays_to_slices():
    """It makes numba compile the text of an error message about shapes, for 1.5 s: `compile.copy.copy` is there instead."""
    assert list(array_slices_assigned("@kernel\ndef f(a, b):\n    a[:] = 0.0\n    a[1:], b[:] = b, a\n")) == [4]
    found = {
        f"{file.name}:{line}" for file in SOURCES.rglob("*.py") for line in array_slices_assigned(file.read_text())
    }
    assert found == set()


CHAINS = """
import itertools, sys
import numpy as np
from numba.core.bytecode import FunctionIdentity
import fenchel
from fenchel.structured import Chain
from fenchel.oracles.structured import StructuredOracle

rng = np.random.default_rng(0)
X = [rng.standard_normal((4, 3)) for _ in range(5)]
problem = fenchel.Problem(X, [rng.integers(0, 3, 4) for _ in X], loss=Chain(3), alpha=0.1)
w = rng.standard_normal(problem.d)

def first_number(k):  # that numba gives to a function in this process
    FunctionIdentity._unique_ids = itertools.count(k)

def of_solver():
    return StructuredOracle(problem).risk(w)[0] + problem.regularizer.value(w)

def of_certificate():
    return fenchel.certify(problem, w).primal

if sys.argv[1] == "both":
    print(of_solver(), of_certificate())
else:
    first_number(10_000 + int(sys.argv[2]))
    {"solver": of_solver, "certificate": of_certificate}[sys.argv[1]]()
"""


def test_methods_of_kernels_that_several_processes_compiled_are_not_taken_for_each_other(tmp_path):
    """numba's own numbers for functions are unique in one process only: here they meet."""
    environment = {**os.environ, "FENCHEL_CACHE_DIR": str(tmp_path)}

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-c", CHAINS, *words], env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    run("solver", "0")
    for shift in ("0", "2", "4"):
        for entry in tmp_path.glob("*/structured_primal_pass-*"):
            entry.unlink()
        run("certificate", shift)
        here, there = map(float, run("both"))
        assert here == pytest.approx(there, rel=1e-12)


SAME_BITS = """
import hashlib
import numpy as np, scipy.sparse as sp
import fenchel

X = sp.random_array((600, 300), density=0.1, rng=np.random.default_rng(0), format="csr")
y = np.sign(X.sum(axis=1) - np.median(X.sum(axis=1)) + 0.1)
found = hashlib.sha256()
for solver in ("dual_ascent", "pairwise_ascent"):
    problem = fenchel.Problem(X, y, loss="hinge", alpha=1e-3, fit_intercept=solver == "pairwise_ascent")
    found.update(fenchel.solve(problem, solver=solver, tol=1e-6).coef.tobytes())
print(found.hexdigest())
"""


def test_first_solve_which_compiles_has_the_bits_of_later_ones(tmp_path):
    """Kernels that call kernels: the copies of the called ones are the same in both processes."""
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SAME_BITS],
            capture_output=True,
            text=True,
            check=True,
            env=environment(tmp_path / "cache"),
        ).stdout
        for _ in range(2)
    )
    assert first == second != ""


@kernel(fastmath=True)
def inner_sum(x):
    total = 0.0
    for k in range(np.uint64(x.size)):
        total += x[k]
    return total


@kernel(fastmath=True)
def outer_sum(x):
    return inner_sum(x[: x.size // 2]) + inner_sum(x[x.size // 2 :])


def test_kernel_shares_no_compiled_function_with_others():
    """What one kernel holds of another under a name that the loader knows, could be the other's."""
    assert outer_sum(np.arange(10.0)) == 45.0
    (compiled,) = outer_sum.dispatcher.overloads.values()
    shared = [
        f.name for f in compiled.library._final_module.functions if f.linkage.name.startswith(("linkonce", "weak"))
    ]
    assert shared == []
