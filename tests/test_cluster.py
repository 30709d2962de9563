"""Rows on a cluster: the same bits as at home, the same certificates, and errors that say what to do."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("distributed")
import dask.array as da
from benchmarks.traffic import traffic
from sklearn.base import clone

import fenchel
from cluster_problems import (
    CASES,
    CLASSES,
    CUT,
    EXAMPLE_CUT,
    SIGNS,
    WEIGHTS,
    X,
    as_folder,
    bits,
    local_client,
)
from fenchel.certificates.scalar import certifier_of
from fenchel.cluster.team import spread
from fenchel.engines import Dask, Local
from fenchel.errors import IncompatibleError, InputError, SolveError
from fenchel.oracles.scalar import Mixed, PlaneRecipe
from fenchel.oracles.structured import LabelRecipe
from fenchel.selection.requirements import fits
from fenchel.solvers import SOLVERS

pytestmark = pytest.mark.xdist_group("cluster")
CHUNKS = tuple(b - a for a, b in pairwise(CUT))


def array(values, chunks=CHUNKS):
    """A Dask array in the blocks of the shared cut."""
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def on_cluster(client, name, **more):
    """A case of the table with its data on the cluster."""
    case = CASES[name]
    options = {**case.options, **more}
    if name.startswith("chain"):
        blocks = [(case.X[a:b], case.y[a:b]) for a, b in pairwise(EXAMPLE_CUT)]
        return fenchel.Problem(client.scatter(blocks, hash=False), **options)
    options = {key: array(value) if isinstance(value, np.ndarray) else value for key, value in options.items()}
    return fenchel.Problem(array(case.X), array(np.asarray(case.y)), **options)


@pytest.fixture(scope="module")
def home():
    """The answers on one thread."""
    return {name: case.at_home() for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_a_cluster_gives_the_bits_of_one_thread(client, home, name):
    case, expected = CASES[name], home[name]
    assert np.any(expected.coef)
    assert bits(case.at_home(threads=2)) == bits(expected)
    for _ in range(2):
        result = case.solve(engine=Dask(client, cut=case.cut))
        assert bits(result) == bits(expected)
        if name == "newton":  # Its slopes at home are those of its own pass; elsewhere the certificate computes them.
            np.testing.assert_allclose(result.certificate.dual, expected.certificate.dual, rtol=1e-14)
        else:
            assert result.certificate == expected.certificate
    remote = case.solve(on_cluster(client, name))
    assert bits(remote) == bits(expected)
    np.testing.assert_allclose(remote.certificate.primal, expected.certificate.primal, rtol=1e-12)


class OwnSquares(NamedTuple):
    """A user's own loss of several scores."""

    def value(self, z, y):
        total = 0.0
        for j in range(z.size):
            total += 0.5 * (z[j] - (1.0 if j == y else 0.0)) ** 2
        return total

    def slopes(self, z, y, out):
        for j in range(z.size):
            out[j] = z[j] - (1.0 if j == y else 0.0)


@pytest.mark.parametrize(("solver", "kind"), [(cls, kind) for cls in SOLVERS.values() for kind in cls.remote])
def test_a_solver_works_with_rows_on_a_cluster_as_it_says(threads, solver, kind):
    """The same bits as at home, for the first problem of the kind that it solves."""
    for name, more in CLAIMS[kind]:
        case = CASES[name]
        problem = fenchel.Problem(case.X, case.y, **{**case.options, **more})
        if fits(solver, problem, remote=True):
            break
    asked = {"tol": 1e-12, "max_iter": 10}  # the best one of the first few points of a bundle may be 0
    here = fenchel.solve(problem, solver(), engine=Local(1, case.cut), **asked)
    there = fenchel.solve(problem, solver(), engine=Dask(threads, cut=case.cut), **asked)
    assert np.any(here.coef)
    assert bits(there) == bits(here)


CLAIMS = {  # a problem with a differentiable loss, one without
    "scalar": [("logistic", {"fit_intercept": False}), ("cocoa", {}), ("logistic", {"regularizer": "l1"})],
    "vector": [("softmax", {"fit_intercept": False}), ("max_hinge", {})],
    "free vector": [("softmax", {})],
    "own vector": [("softmax", {"loss": OwnSquares(), "fit_intercept": False})],
    "set": [("pairs", {"alpha": 1.0}), ("ndcg", {})],
    "structured": [("chain", {"alpha": 1.0})],
    "structured log": [("chain log", {"alpha": 1.0})],
}


@pytest.fixture(scope="module")
def threads():
    """A cluster of two threads of this process."""
    with local_client(2, processes=False) as found:
        yield found


@pytest.mark.parametrize("name", ["logistic", "max_hinge", "ndcg"])
def test_workers_read_a_folder_and_give_the_same_bits(client, home, name, tmp_path):
    case = CASES[name]
    options = {key: value for key, value in case.options.items() if key != "groups"}
    problem = fenchel.Problem(fenchel.open(as_folder(tmp_path / "rows", case)), **options)
    assert bits(case.solve(problem, Local(2, case.cut))) == bits(home[name])
    parts = [len(pickle.dumps(problem.part(a, b))) - 24 * (b - a) for a, b in pairwise(case.cut)]
    assert max(parts) < 3000, "a note of where the rows lie, y, weights and offsets"
    assert bits(case.solve(problem, Dask(client, cut=case.cut))) == bits(home[name])


def test_frames_and_futures_give_the_same_bits(client, home):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    case = CASES["logistic"]
    frame = dd.concat(
        [dd.from_pandas(pd.DataFrame(X[a:b], columns=list("abcdefgh")), npartitions=1) for a, b in pairwise(CUT)]
    )
    signs = dd.concat([dd.from_pandas(pd.Series(SIGNS[a:b]), npartitions=1) for a, b in pairwise(CUT)])
    futures = client.scatter([(X[a:b], SIGNS[a:b]) for a, b in pairwise(CUT)], hash=False)
    for problem in (fenchel.Problem(frame, signs, **case.options), fenchel.Problem(futures, **case.options)):
        assert bits(case.solve(problem)) == bits(home["logistic"])


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_and_any_placement_give_the_same_bits(home, workers, monkeypatch):
    rng = np.random.default_rng(workers)
    with local_client(workers, processes=False) as other:
        for name in ("logistic", "max_hinge"):
            case = CASES[name]
            assert bits(case.solve(engine=Dask(other, cut=CUT))) == bits(home[name])
            monkeypatch.setattr("fenchel.cluster.team.spread", lambda count, found: list(rng.choice(found, count)))
            assert bits(case.solve(engine=Dask(other, cut=CUT))) == bits(home[name])
            monkeypatch.undo()


def test_what_a_block_has_in_store_is_not_added_into():
    with local_client(1, processes=False) as other:
        futures = other.scatter([(X[a:b], SIGNS[a:b]) for a, b in pairwise(CUT)], hash=False)
        team = fenchel.Problem(futures, **CASES["logistic"].options).team()
        first = team.sum("first_means")[0].copy()
        np.testing.assert_allclose(first, X.mean(axis=0), atol=1e-14)
        for _ in range(2):
            assert team.sum("first_means")[0].tobytes() == first.tobytes()


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("count", [1, 2, 5, 64, 100])
def test_blocks_are_spread_evenly(workers, count):
    names = [f"w{k:02}" for k in range(workers)]
    found = spread(count, names)
    assert len(found) == count
    assert found == sorted(found), "neighbours are together"
    shares = [found.count(name) for name in names]
    assert max(shares) <= -(-count // workers) + 1


@pytest.mark.parametrize("loss", ["ndcg", "mrr_pairs", "roc_area"])
def test_queries_are_added_where_they_are_and_other_measures_say_what_they_move(client, loss, caplog):
    """(value, gradient) of a mean over queries; of the ROC area 8 bytes of each row's score, and 8 of its slope."""
    n, d = 60_000, 4
    rows = np.random.default_rng(0).standard_normal((n, d))
    options, other = ({"groups": np.arange(n) // 20}, 0.0) if loss != "roc_area" else ({}, -1.0)
    problem = fenchel.Problem(rows, np.where(rows[:, 0] > 0.3, 1.0, other), loss=loss, alpha=0.01, **options)
    caplog.set_level("INFO", "fenchel")
    oracle = Dask(client, cut=(0, n // 2, n)).oracle(problem)
    moved = traffic(client, lambda: oracle.risk(np.ones(d)), 10)
    for found in moved.values():
        travels = 8 * n // 2 if loss == "roc_area" else 0
        assert travels <= found["sent"] <= travels + ALLOWED
        assert travels <= found["received"] <= travels + 2 * ALLOWED
    said = [record.args for record in caplog.records if "of scores" in record.msg]
    assert said == ([("ROCArea", n, 8 * n)] if loss == "roc_area" else [])
    oracle.close()


ALLOWED = 12_000  # bytes per round and worker beside the numbers: the task, its name, acknowledgements, heartbeats


def test_a_pass_moves_w_to_every_worker_and_its_sums_back(client):
    d, sparse = 20_000, sp.random_array((600, 20_000), density=1e-3, random_state=0, format="csr")
    oracle = Dask(client, cut=CUT).oracle(fenchel.Problem(sparse, SIGNS, loss="logistic", alpha=0.01))
    w = np.random.default_rng(0).standard_normal(d)
    moved = traffic(client, lambda: oracle.risk(w), 10)
    assert len(moved) == 2
    for found in moved.values():
        assert 8 * d <= found["received"] <= 8 * d + ALLOWED
        assert 8 * (d + 1) <= found["sent"] <= 8 * (d + 1) + ALLOWED
    oracle.close()


def certificate(problem, w, b):
    """The certificate of the slopes at (w, b), or of the labels that are best there."""
    certifier, (w, b) = certifier_of(problem), problem.variables(w, b)
    with np.errstate(all="ignore"):
        return certifier.certificate(problem, w, b, certifier.slopes_at(problem, w, b))[0]


def optimum(problem):
    return fenchel.solve(problem, tol=1e-6).certificate.primal


CERTIFIED = {
    "logistic": {"sample_weight": WEIGHTS},
    "hinge": {"fit_intercept": False},
    "hinge, free": {"loss": "hinge", "sample_weight": WEIGHTS},
    "l1": {"regularizer": "l1", "fit_intercept": False},
    "squared": {"loss": "squared", "offset": 0.1 * WEIGHTS},
    "softmax": {"sample_weight": WEIGHTS},
    "max_hinge": {},
    "ndcg": {},
    "pairs": {},
    "chain": {},
    "chain log": {},
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_the_certificate_of_data_on_a_cluster_is_that_of_the_same_data_at_home(client, name):
    case = name if name in CASES else "logistic"
    local = fenchel.Problem(CASES[case].X, CASES[case].y, **{**CASES[case].options, **CERTIFIED[name]})
    there = on_cluster(client, case, **CERTIFIED[name])
    best, rng = optimum(local), np.random.default_rng(3)
    assert best <= 1e300
    for scale in (0.0, 0.1, 3.0):
        w, b = local.present(scale * rng.standard_normal(local.d), float(scale * local.has_intercept))
        expected = certificate(local, w, b)
        found = fenchel.certify(there, w, b)
        np.testing.assert_allclose(found.primal, expected.primal, rtol=1e-12)
        np.testing.assert_allclose(found.dual, expected.dual, rtol=1e-12, atol=1e-12 * abs(found.primal))
        assert found.dual <= best + found.floor <= found.primal + 2 * found.floor
        assert 0.0 < found.floor < 1e-9 * abs(found.primal)
    assert there.n == local.n and there.d == local.d
    assert len(there.digest) == 64


@pytest.mark.parametrize("name", ["logistic", "hinge", "softmax", "chain", "chain log"])
def test_a_wrong_recipe_certifies_no_more_than_the_optimum(client, name):
    local, there = CASES[name].problem(), on_cluster(client, name)
    best, rng = optimum(local), np.random.default_rng(4)
    for weights in ((1.0,), (3.0,), (-1.0,), (0.4, 0.4), (0.5, 0.9, -0.4), (np.nan,), (1e300, -1e300)):
        w = rng.standard_normal((len(weights), local.d))
        recipes = [LabelRecipe(v, None) if "chain" in name else PlaneRecipe(v, 0.3, 0.3, 0.0, None, np.inf) for v in w]
        w0, b0 = local.present(w[0], 0.0)
        found = fenchel.certify(there, w0, b0, Mixed(tuple(zip(weights, recipes, strict=True))))
        assert found.dual <= best + found.floor, weights
    with pytest.raises(InputError, match="dual point of data on a cluster is that of a Result"):
        fenchel.certify(there, w0, b0, np.zeros(local.n))


def test_a_result_starts_and_certifies_the_next_solve(client):
    there = on_cluster(client, "logistic")
    first = fenchel.solve(there, "lbfgs", tol=1e-3)
    again = fenchel.certify(there, first.coef, first.intercept, first.dual_point)
    np.testing.assert_allclose(again.dual, first.certificate.dual, rtol=1e-12)
    assert fenchel.solve(there, "lbfgs", tol=1e-6, start=first).converged


def test_bad_data_are_named(client):
    bad, wide = X.copy(), client.scatter([(X[:300], SIGNS[:300]), (X[300:, :5], SIGNS[300:])], hash=False)
    bad[260, 3] = np.nan
    for problem, message in {
        lambda: fenchel.Problem(array(bad), array(SIGNS)): "block 2 of the data: .*row 10, column 3",
        lambda: fenchel.Problem(array(X), array(2.0 * SIGNS)): "block 0 of the data: y of row 0",
        lambda: fenchel.Problem(wide): "block 1 has 5 columns and block 0 has 8",
        lambda: fenchel.Problem(array(X), SIGNS): "y is not on the cluster as X is",
        lambda: fenchel.Problem(array(X), array(SIGNS, (300, 300))): "y has 2 blocks of rows and X has 5",
        lambda: fenchel.Problem(array(X).rechunk((300, 4)), array(SIGNS)): "X is cut into blocks of columns",
        lambda: fenchel.Problem(array(X), array(SIGNS), sample_weight=array(0.0 * WEIGHTS)): "zero everywhere",
        lambda: fenchel.Problem(wide, SIGNS): "put y and sample_weight into it",
        lambda: fenchel.Problem(client.scatter([[X, SIGNS]], hash=False), loss="hinge"): "a block must be a tuple",
        lambda: fenchel.Problem(array(X), array(CLASSES), loss="softmax", offset=array(WEIGHTS)): "offset",
    }.items():
        with pytest.raises(InputError, match=message):
            problem()


def test_what_cannot_be_done_is_said(client):
    there = on_cluster(client, "logistic")
    with pytest.raises(IncompatibleError, match="rows are on a cluster"):
        fenchel.solve(there, "dual_ascent")
    with pytest.raises(IncompatibleError, match="rows are on a cluster"):
        fenchel.solve(CASES["hinge"].problem(), "dual_ascent", engine=Dask(client))
    with pytest.raises(InputError, match="they stay there"):
        pickle.dumps(there)
    with pytest.raises(InputError, match="must be a distributed.Client"):
        Dask("tcp://127.0.0.1:8786")
    with pytest.raises(InputError, match="from 0 to the number of rows"):
        CASES["logistic"].solve(engine=Dask(client, cut=(0, 100)))


def test_a_cluster_without_workers_is_named():
    with local_client(0, processes=False) as empty, pytest.raises(SolveError, match="has no workers"):
        CASES["logistic"].solve(engine=Dask(empty))


ESTIMATORS = {
    "logistic": lambda engine: fenchel.Classifier(loss="logistic", alpha=0.01, solver="lbfgs", engine=engine),
    "softmax": lambda engine: fenchel.Classifier(loss="softmax", alpha=0.01, solver="lbfgs", engine=engine),
    "chain log": lambda engine: fenchel.SequenceLabeler(loss="log", alpha=0.01, solver="lbfgs", engine=engine),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_take_an_engine(client, name):
    case = CASES[name]
    there = clone(ESTIMATORS[name](Dask(client, cut=case.cut))).fit(case.X, case.y)
    here = ESTIMATORS[name](Local(cut=case.cut)).fit(case.X, case.y)
    assert there.coef_.tobytes() == here.coef_.tobytes()
    assert there.converged_
    with pytest.raises(InputError, match="set_params\\(engine=None\\)"):
        pickle.dumps(there)
    again = pickle.loads(pickle.dumps(there.set_params(engine=None)))
    assert again.coef_.tobytes() == here.coef_.tobytes()


def test_an_estimator_says_what_an_engine_is():
    with pytest.raises(InputError, match="engine must be None or one of fenchel.engines, got 'dask'"):
        fenchel.Classifier(engine="dask").fit(X, SIGNS)


def test_cocoa_needs_a_tenth_of_the_rounds_of_bundle_on_sparse_rows_in_random_order():
    """An iteration of either is a round of messages, at least."""
    rng = np.random.default_rng(0)
    n, d, per_row = 2000, 4000, 10
    columns, starts = rng.integers(0, d, n * per_row), np.arange(0, n * per_row + 1, per_row)
    rows = sp.csr_matrix((rng.random(n * per_row) + 0.5, columns, starts), shape=(n, d))
    rows.sum_duplicates()
    signs = np.where(rows @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    problem, engine = fenchel.Problem(rows, signs, loss="hinge", alpha=1e-4), Local(cut=(0, n // 2, n))
    local = fenchel.solve(problem, "cocoa", tol=1e-3, engine=engine)
    assert local.converged
    assert not fenchel.solve(problem, "bundle", tol=1e-3, engine=engine, max_iter=10 * local.n_iter).converged
