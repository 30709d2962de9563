"""CONTRIBUTING's recipes, followed to the letter in a copy of the package: a file and one line for each kind of component."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fenchel

ROOT = Path(fenchel.__file__).parent
CONTRIBUTING = ROOT.parent.parent / "CONTRIBUTING.md"

# For each recipe: the new file, the file of the registry, and the one line that is added to it.
RECIPES = {
    "loss": (
        "losses/log_cosh.py",
        '''
from typing import NamedTuple
import math

class LogCosh(NamedTuple):
    """log cosh(z - y)"""

    task = "regression"
    tex = r"\\log \\cosh(z - y)"
    target_rule = "a number"

    def value(self, z, y):
        return abs(z - y) + math.log1p(math.exp(-2.0 * abs(z - y))) - math.log(2.0)

    def slope(self, z, y):
        return math.tanh(z - y)
''',
        "losses/__init__.py",
        "from fenchel.losses.log_cosh import LogCosh as LogCosh",
    ),
    "loss of several scores": (
        "multiclass/brier.py",
        '''
from typing import NamedTuple
import math
import numpy as np

class _NoFields(NamedTuple):
    pass

class Brier(_NoFields):
    """|z - e_y|^2 / 2, y a class"""

    __slots__ = ()
    task = "classes"
    tex = r"\\frac{1}{2} |z - e_y|^2"

    def outputs(self, y):
        return int(np.max(y)) + 1

    def value(self, z, y):
        total = 0.0
        for j in range(z.size):
            total += 0.5 * (z[j] - (1.0 if j == y else 0.0)) ** 2
        return total

    def slopes(self, z, y, out):
        for j in range(z.size):
            out[j] = z[j] - (1.0 if j == y else 0.0)

    def conjugate(self, u, y):
        total = u[y]
        for j in range(u.size):
            total += 0.5 * u[j] * u[j]
        return total

    def into_domain(self, u, y):
        pass

    def dual_prox(self, t, g, y, out):
        for j in range(t.size):
            out[j] = (t[j] - (1.0 if j == y else 0.0)) / (1.0 + g)

    def largest_slope(self):
        return math.inf

    def smoothness(self):
        return 1.0
''',
        "multiclass/__init__.py",
        "from fenchel.multiclass.brier import Brier as Brier",
    ),
    "measure": (
        "measures/spread.py",
        '''
from dataclasses import dataclass
import numpy as np
from fenchel.measures.protocol import Measure

@dataclass(frozen=True)
class WorstPair(Measure):
    """max(0, 1 + the largest score of a -1 - the smallest score of a +1)"""

    task = "binary"
    tex = r"\\max(0, 1 + \\max_{-} z - \\min_{+} z)"
    nonnegative = True

    def prepare(self, y, groups=None, weights=None):
        return np.asarray(y) > 0.0

    def value_and_slope(self, z, prepared, out):
        out[:] = 0.0
        high, low = np.where(prepared, -np.inf, z).argmax(), np.where(prepared, z, np.inf).argmin()
        loss = 1.0 + z[high] - z[low]
        if loss > 0.0:
            out[high], out[low] = 1.0, -1.0
        return max(loss, 0.0)
''',
        "measures/__init__.py",
        "from fenchel.measures.spread import WorstPair as WorstPair",
    ),
    "regularizer": (
        "regularizers/cubic.py",
        '''
from dataclasses import dataclass
import numpy as np
from fenchel.regularizers.base import Regularizer

@dataclass(frozen=True, eq=False)
class Cubic(Regularizer):
    """R(w) = alpha/3 sum_j |w_j|^3,   R*(v) = 2/3 sum_j |v_j|^1.5 / alpha^0.5."""

    tex = r"\\frac{\\alpha}{3} \\sum_j |w_j|^3"
    formula = "alpha/3 sum_j |w_j|^3"

    def value(self, w):
        return float(self.alpha / 3.0 * (np.abs(w) ** 3).sum())

    def conjugate(self, v):
        return float(2.0 / 3.0 * (np.abs(v) ** 1.5).sum() / self.alpha**0.5)

    def primal_from_dual(self, v):
        return np.sign(v) * np.sqrt(np.abs(v) / self.alpha)
''',
        "regularizers/__init__.py",
        "from fenchel.regularizers.cubic import Cubic as Cubic",
    ),
    "structured model": (
        "structured/signs.py",
        '''
from dataclasses import dataclass
from itertools import product
import numpy as np

@dataclass(frozen=True)
class Signs:
    """A sign for every row: phi(x, y) = sum_t y_t x_t."""

    dim = 2

    def features(self, x, y):
        return np.asarray(y, dtype=float) @ x

    def cost(self, y, yhat):
        return float(sum(a != b for a, b in zip(y, yhat)))

    def max_oracle(self, w, x, y):
        return max(product((-1, 1), repeat=len(x)), key=lambda s: w @ self.features(x, s) + self.cost(y, s))

    def predict(self, w, x):
        return tuple(1 if score > 0.0 else -1 for score in x @ w)
''',
        "structured/__init__.py",
        '    "Signs": "signs",',
    ),
    "solver": (
        "solvers/steepest.py",
        '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from fenchel.result import Iterate
from fenchel.solvers.base import Needs, Solver

@dataclass(frozen=True)
class Steepest(Solver):
    """Gradient steps of length 1 / L for a smooth loss with L2.

    >>> import fenchel
    """

    cost: ClassVar[str] = "one pass"
    convergence: ClassVar[str] = "linear"
    needs: ClassVar[Needs] = Needs(loss=("differentiable",), regularizer=("l2",), problem=("no_intercept",))

    def iterates(self, oracle, start):
        p, w = oracle.problem, start.coef.copy()
        alpha = p.regularizer.alpha
        bound = alpha + float(p.loss.smoothness() * (p.X**2).sum(axis=1).max())
        while True:
            risk, gradient, _ = oracle.risk(w)
            yield Iterate(w.copy(), 0.0, risk + p.regularizer.value(w), float("nan"))
            w -= (gradient + alpha * w) / bound
''',
        "solvers/__init__.py",
        "from fenchel.solvers.steepest import Steepest as Steepest",
    ),
    "command": (
        "cli/count.py",
        '''
from argparse import Namespace
from fenchel.cli.terminal import CleanParser

def configure(parser: CleanParser) -> None:
    parser.epilog = "exit status: 0 done\\n\\nexample: fenchel count word"
    parser.add_argument("word")

def run(arguments: Namespace) -> int:
    print(len(arguments.word))
    return 0
''',
        "cli/__init__.py",
        '    "count": "the letters of a word",',
    ),
}  # fmt: skip

USE = """
import contextlib, io, pathlib, tempfile
import numpy as np
import fenchel
from fenchel import losses, measures, multiclass, regularizers, solvers, structured
from fenchel.cli import main

def printed(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(list(words)) == 0
    return out.getvalue()

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2))
signs, classes, reals = np.sign(X[:, 0]), np.arange(12) % 3, X[:, 0] + 0.1 * rng.normal(size=12)

def certified(problem, tol=1e-2, **options):
    result = fenchel.solve(problem, tol=tol, **options)
    assert result.status.name == "CERTIFIED", result
    return result

for name, module in (("log_cosh", losses), ("brier", multiclass), ("worst_pair", measures)):
    y = {"log_cosh": reals, "brier": classes, "worst_pair": signs}[name]
    result = certified(fenchel.Problem(X, y, loss=name, alpha=0.1))
    path = pathlib.Path(tempfile.mkdtemp()) / "model"
    fenchel.save(path, result)
    assert type(fenchel.load(path).loss) is type(module.make(name)), name
result = certified(fenchel.Problem(X, reals, loss="squared", regularizer="cubic", alpha=0.1))
fenchel.save(path, result)
assert fenchel.load(path).regularizer.alpha == 0.1
examples = [rng.normal(size=(2, 2)) for _ in range(4)]
certified(fenchel.Problem(examples, [(1, -1), (1, 1), (-1, 1), (-1, -1)], loss=structured.Signs(), alpha=0.5))
assert certified(fenchel.Problem(X, signs, loss="logistic", alpha=0.1), solver="steepest").solver == "Steepest"

table = printed("losses")
assert all(word in table for word in ("log_cosh", "brier", "worst_pair", "signs", "cubic"))
assert "steepest" in printed("solvers") and "steepest" in printed("solvers", "--loss", "logistic", "--penalty", "l2")
assert printed("count", "word").strip() == "4"
assert "log cosh" in printed("losses", "log_cosh")
for package, name in ((losses, "LogCosh"), (multiclass, "Brier"), (measures, "WorstPair"),
                      (regularizers, "Cubic"), (solvers, "Steepest"), (structured, "Signs")):
    assert name in package.__all__ and isinstance(getattr(package, name), type)
assert fenchel.__file__.startswith(str(pathlib.Path.cwd())), fenchel.__file__
print("all recipes hold")
"""


def added(registry: str, line: str) -> str:
    """The registry with the new line among those of its kind."""
    mark = (
        "from fenchel." if line.startswith("from") else "_HOMES = {\n" if "_HOMES = {" in registry else "COMMANDS = {\n"
    )
    head, found, tail = registry.partition(mark)
    assert found
    return f"{head}{line}\n{mark}{tail}" if line.startswith("from") else f"{head}{mark}{line}\n{tail}"


def test_one_file_and_one_line_are_all_that_a_component_needs(tmp_path):
    copy = tmp_path / "fenchel"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file, content, registry, line in RECIPES.values():
        (copy / file).write_text(f'"""A recipe."""\n{content}')
        (copy / registry).write_text(added((copy / registry).read_text(), line))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "FENCHEL_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=800
    )
    assert done.stdout.strip() == "all recipes hold", done.stderr[-3000:]


def test_contributing_names_the_places_of_every_recipe():
    text = CONTRIBUTING.read_text(encoding="utf-8")
    for file, _, registry, _ in RECIPES.values():
        assert f"`{Path(file).parent}/" in text
        assert f"`{registry}`" in text, registry
    named = re.findall(r"`(tests/\w+\.py)`", text)
    assert named
    assert all((ROOT.parent.parent / name).is_file() for name in named)
