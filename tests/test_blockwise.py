"""Questions to rows that lie elsewhere: the same methods, bits and counts of passes as for rows in this process."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("distributed")
import fenchel
from cluster_problems import CASES, CUT, WEIGHTS
from fenchel.cluster.holder import Holder, ask
from fenchel.cluster.remote_blocks import RemoteBlocks
from fenchel.engines import Local
from fenchel.engines.summation_tree import completed
from fenchel.mirror_maps.coordinatewise import Identity
from fenchel.oracles import oracle_of
from fenchel.oracles.local_dual import Round
from fenchel.oracles.scalar import Oracle
from fenchel.solvers.newton_cg.measure_passes import QueryPasses
from fenchel.solvers.newton_cg.passes import Passes


class Table:
    """Blocks that are asked as workers are, with nobody in between."""

    def __init__(self, problem):
        self.holders = []
        for a, b in pairwise(CUT):
            part = problem.part(a, b)
            part.settle()
            self.holders.append(Holder(part))

    def _ask(self, summed, question, arguments, shares):
        count = len(self.holders)
        return ask(self.holders, range(count), count, summed, question, arguments, shares or [()] * count)

    def sum(self, question, *arguments, shapes=None, shares=None, changes=None):
        found = completed(len(self.holders), self._ask(True, question, arguments, shares))
        assert shapes is None or tuple(np.shape(term) for term in found) == shapes
        return found

    def each(self, question, *arguments, shares=None, changes=None, lengths=None):
        found = list(self._ask(False, question, arguments, shares).values())
        assert lengths is None or [np.shape(part)[0] for part in found] == list(lengths)
        return found

    def new_name(self):
        return "kept"


class Elsewhere:
    """An engine whose rows are in a `Table`."""

    remote, cut = True, CUT

    def blocks(self, problem):
        return RemoteBlocks(problem, Table(problem))


def asked(name):
    """A case, its oracle here and elsewhere."""
    problem = CASES[name].problem()
    return problem, oracle_of(problem, Local(1, CUT)), oracle_of(problem, Elsewhere())


def same(found, expected):
    """Bit for bit, whatever it is made of."""
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    return np.asarray(found, dtype=float).tobytes() == np.asarray(expected, dtype=float).tobytes()


W = np.random.default_rng(0).standard_normal(27)
ROWS = {
    "risk": lambda oracle, w: oracle.risk(w, 0.3),
    "scores": lambda oracle, w: oracle.scores(w),
    "combine": lambda oracle, w: oracle.combine(WEIGHTS),
    "norms": lambda oracle, w: oracle.norms(),
    "column_squares": lambda oracle, w: oracle.column_squares(),
    "means": lambda oracle, w: oracle.means[0],
    "gram": lambda oracle, w: oracle.gram(WEIGHTS),
    "middle": lambda oracle, w: oracle.middle_intercept(w, 0.0)[0],
    "local duals": lambda oracle, w: local_duals(oracle, w),
}
SCORES = {
    "risk": lambda oracle, w: oracle.risk(w),
    "score_matrix": lambda oracle, w: oracle.score_matrix(w),
    "combine": lambda oracle, w: oracle.combine(np.outer(WEIGHTS, (1.0, -2.0, 0.5))),
    "mean_row": lambda oracle, w: oracle.mean_row,
    "class_rows": lambda oracle, w: oracle.class_rows,
    "centred": lambda oracle, w: oracle.centred(w),
}
NEWTON = {
    "storage": lambda oracle, w: oracle.storage,
    "newton": lambda oracle, w: newton(oracle, w),
    "sample": lambda oracle, w: newton(oracle.sample(SAMPLE), w),
}
SETS = {name: ROWS[name] for name in ("risk", "scores", "combine", "norms")}
PAIRS = {"risk": ROWS["risk"], "newton": lambda oracle, w: newton_by_query(oracle, w)}


def local_duals(oracle, w):
    """Two rounds of dual steps within the blocks."""
    name, first = oracle.begin_local_duals(Identity(), 0.01, 3)
    answers = [oracle.local_dual_round(name, Round(v, 0.5, 1.0, 2)) for v in (np.zeros(w.size), w)]
    return first, *map(tuple, answers), oracle.local_dual_before(name)


SAMPLE = np.sort(np.random.default_rng(5).permutation(600)[:200])


def newton(oracle, w):
    """All that Newton's method asks: two points and a line between them, products with the Hessian, and a Gram matrix."""
    passes = Passes(oracle)
    first, second = passes.evaluate(w, 0.1), passes.evaluate(0.5 * w, -0.2)
    line = passes.line(first, second)
    third = passes.secant_curvature(passes.evaluate(0.75 * w, 0.0), line)
    sums = [number for point in (first, second, third) for number in point[:-1]]
    upper = np.triu(passes.gram(third))
    asked_last = passes.product(third, w, 0.3), passes.magnitude(third), passes.all_curved(third), *passes.costs
    return *sums, *passes.along(line, 0.7), upper, *asked_last, oracle.passes


QUESTIONS = {
    "logistic": ROWS | NEWTON,
    "hinge": ROWS,
    "softmax": SCORES,
    "max_hinge": SCORES,
    "ndcg": SETS,
    "pairs": PAIRS,
}


@pytest.mark.parametrize(
    ("case", "question", "answer"),
    [
        (case, question, answer)
        for case, questions in QUESTIONS.items()
        for question, answer in questions.items()
    ],
)  # fmt: skip
def test_rows_elsewhere_give_the_bits_and_the_passes_of_rows_here(case, question, answer):
    problem, here, there = asked(case)
    w = W[: problem.d]
    assert same(answer(there, w), answer(here, w))
    if question != "middle":  # Rows elsewhere compute their scores again in each round.
        assert there.passes == here.passes


def newton_by_query(oracle, w):
    """The same for a mean over queries."""
    passes = QueryPasses(oracle)
    first, second = passes.evaluate(w, 0.0), passes.evaluate(0.5 * w, 0.0)
    line = passes.line(first, second)
    sums = [number for point in (first, second) for number in point[:-1]]
    return *sums, *passes.along(line, 0.7), passes.product(second, w, 0.0), passes.gram(second), oracle.passes


@pytest.mark.parametrize("intercept", [False, True])
def test_a_sample_of_rows_on_workers_gives_the_bits_of_one_at_home(intercept):
    """Sparse rows of many lengths, blocks without a row of the sample, weights of zero."""
    X = sp.random_array((600, 9), density=0.4, random_state=2, format="csr")
    options = {
        "loss": "squared_hinge",
        "alpha": 0.01,
        "fit_intercept": intercept,
        "sample_weight": WEIGHTS * (WEIGHTS > 0.7),
    }
    problem = fenchel.Problem(X, CASES["hinge"].y, **options)
    index, w = np.r_[0:60:3, 340:600:2], W[:9]
    found = [newton(oracle.sample(index), w) for oracle in (Oracle(problem, Local(1, CUT)), away(problem))]
    assert same(found[1], found[0])
    weightless = np.flatnonzero(problem.weights == 0.0)
    assert Oracle(problem, Local(1, CUT)).sample(weightless) is away(problem).sample(weightless) is None


def away(problem):
    """The oracle of a problem whose rows are elsewhere, and not here."""
    oracle = oracle_of(problem, Elsewhere())
    oracle.problem = NotHere(problem)
    return oracle


class NotHere:
    """A problem as it is known where its rows are not."""

    remote = True

    def __init__(self, problem):
        self.problem = problem

    def __getattr__(self, name):
        assert name not in ("rows", "X", "y", "weights", "offset"), name
        return getattr(self.problem, name)
