"""Data that stay with their owners: only sums leave, everything is written down, and false answers are found."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.errors import InputError, OwnerRefusal
from fenchel.mirror_maps.coordinatewise import Identity
from fenchel.oracles.local_dual import Round
from fenchel.oracles.scalar import Mixed, PlaneRecipe
from fenchel.solvers.newton_cg.passes import Passes

distributed = pytest.importorskip("distributed")
owners = pytest.importorskip("fenchel.cluster.owners")
from fenchel.cluster.planes import Planes  # noqa: E402

pytestmark = pytest.mark.xdist_group("cluster")
CUT = (0, 90, 200, 300)
NAMES = ["ant", "bee", "cat"]


def data():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((CUT[-1], 6))
    return X, np.where(X[:, 0] + rng.standard_normal(CUT[-1]) > 0.3, 1.0, -1.0)


@pytest.fixture(scope="module")
def client():
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster, distributed.Client(cluster) as client:  # fmt: skip
        yield client


@pytest.fixture
def shards(client, tmp_path):
    """Three owners, one per worker."""
    X, y = data()
    made = {}
    for name, a, b, worker in zip(NAMES, CUT, CUT[1:], sorted(client.nthreads()), strict=False):
        shard = owners.Shard(name, X[a:b], y[a:b], diary=tmp_path / f"{name}.jsonl")
        SHARDS[name] = made[name] = shard
        client.run(give, name, workers=[worker])
    yield made
    SHARDS.clear()


SHARDS = {}


def give(name, dask_worker=None):
    """The workers are threads of this process: each gets its owner's shard as it is."""
    setattr(dask_worker, owners.SHARD, SHARDS[name])


def problem(client, **more):
    settings = {"loss": "logistic", "alpha": 0.01} | more
    return fenchel.Problem(fenchel.engines.Owners(client), **settings)


@pytest.mark.parametrize("settings", [{"fit_intercept": True}, {"loss": "squared_hinge"}])
def test_owners_together_get_what_one_would_who_had_all_rows(client, shards, settings):
    X, y = data()
    together = fenchel.solve(problem(client, **settings), solver="lbfgs", tol=1e-6)
    home = fenchel.Problem(X, y, **({"loss": "logistic", "alpha": 0.01} | settings))
    alone = fenchel.solve(home, solver="lbfgs", tol=1e-6, engine=fenchel.engines.Local(cut=CUT))
    assert together.status.name == "CERTIFIED"
    assert np.array_equal(together.coef, alone.coef) and together.intercept == alone.intercept
    checked = fenchel.certify(home, together.coef, together.intercept)
    assert together.certificate.primal == pytest.approx(checked.primal, rel=1e-12)
    assert together.certificate.dual <= checked.primal + together.certificate.floor


def test_questions_about_single_rows_are_refused_with_the_owners_name(client, shards):
    p = problem(client)
    for question, arguments in [
        ("scores", (np.zeros(6),)),
        ("vector", ("y",)),
        ("norms", ()),
        ("local_dual_before", ()),
    ]:
        with pytest.raises(OwnerRefusal, match=r"owner '(ant|bee|cat)'.*only sums leave"):
            p.team().each(question, *arguments)
    with pytest.raises(OwnerRefusal, match="only sums leave"):
        _ = p.y
    with pytest.raises(OwnerRefusal, match="only sums leave"):  # it looks at the scores of rows
        fenchel.solve(problem(client, loss="hinge", fit_intercept=True), solver="bundle")


@pytest.mark.parametrize("delta", [1e-3, 1e-2, 0.1])
def test_newton_asks_owners_for_sums_also_where_no_row_has_curvature(client, shards, delta):
    """At w = 0 every row is on a straight part of the Huber loss: the first step needs to know how far scores reach."""
    X, y = data()
    huber = fenchel.losses.Huber(delta)
    together = fenchel.solve(problem(client, loss=huber, alpha=0.1, fit_intercept=True), solver="newton_cg", tol=1e-6)
    assert together.status.name == "CERTIFIED"
    home = fenchel.solve(fenchel.Problem(X, y, loss=huber, alpha=0.1, fit_intercept=True), tol=1e-8)
    assert together.certificate.primal == pytest.approx(home.certificate.primal, rel=1e-5)
    asked = [json.loads(line)["question"] for name in NAMES for line in shards[name].diary.read_text().splitlines()]
    assert "newton.squares" in asked


def test_a_shard_and_its_block_cannot_be_copied(client, shards):
    X, y = data()
    shard = owners.Shard("dog", X, y)
    block = owners.OwnedBlock(fenchel.Problem(X, y, loss="logistic", alpha=0.1), shard)
    for thing in (shard, block):
        with pytest.raises(OwnerRefusal, match="do not leave"):
            pickle.dumps(thing)
    refusal = pickle.loads(pickle.dumps(OwnerRefusal("dog", "no")))
    assert refusal.owner == "dog" and "no" in str(refusal)


def test_a_block_of_one_row_would_give_the_row_away_and_is_not_served():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, 5))
    answer = owners.Holder(fenchel.Problem(x, [1.0], loss="logistic", alpha=0.1)).answer("risk", np.zeros(5), 0.0)
    _, gradient, slope = answer
    assert np.allclose(gradient / slope, x[0], rtol=1e-12)  # the leak that the least number of rows is there for
    with pytest.raises(InputError, match="fewer than 64"):
        owners.Shard("eel", x, [1.0])
    with pytest.raises(InputError, match="fewer than 64"):
        owners.Shard("eel", np.repeat(x, 63, axis=0), np.ones(63))
    with pytest.raises(InputError, match="has 1 rows with a weight.*fewer than 64"):
        owners.Shard("eel", np.repeat(x, 100, axis=0), np.ones(100), sample_weight=np.arange(100) == 7)


def test_every_question_is_written_down_without_a_row(client, shards, tmp_path):
    X, _ = data()
    result = fenchel.solve(problem(client), solver="lbfgs", tol=1e-4)
    for name in NAMES:
        text = (tmp_path / f"{name}.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        assert {line["owner"] for line in lines} == {name}
        asked = [line["question"] for line in lines]
        assert asked[0] == "look" and asked.count("risk") >= result.n_iter and "rows_share" in asked
        assert not any(repr(float(value)) in text for value in X.ravel())


@pytest.fixture
def rankings(client, shards):
    """The same owners with queries of nine rows and relevances; and the data of all, each query under a name of its own."""
    X, y = data()
    relevance = (y > 0) + (X[:, 1] > 1.0) * 1.0
    queries = np.arange(CUT[-1])
    for name, a, b, worker in zip(NAMES, CUT, CUT[1:], sorted(client.nthreads()), strict=False):
        queries[a:b] = (queries[a:b] - a) // 9  # Each owner begins with query 0.
        SHARDS[name] = owners.Shard(name, X[a:b], relevance[a:b], groups=queries[a:b])
        client.run(give, name, workers=[worker])
        queries[a:b] += a
    return X, relevance, queries


@pytest.mark.parametrize(("loss", "solver"), [("ndcg", "bundle"), ("ndcg_pairs", "newton_cg"), ("mrr_pairs", "lbfgs")])
def test_owners_rank_together_without_a_score_that_leaves(client, rankings, loss, solver):
    X, relevance, queries = rankings
    together = fenchel.solve(problem(client, loss=loss, alpha=0.1), solver=solver, tol=1e-4)
    home = fenchel.Problem(X, relevance, loss=loss, alpha=0.1, groups=queries)
    alone = fenchel.solve(home, solver=solver, tol=1e-4, engine=fenchel.engines.Local(cut=CUT))
    assert together.status.name == "CERTIFIED"
    assert np.array_equal(together.coef, alone.coef)
    checked = fenchel.certify(home, together.coef)
    assert together.certificate.primal == pytest.approx(checked.primal, rel=1e-12)
    assert together.certificate.dual <= alone.certificate.primal + alone.certificate.floor
    assert alone.certificate.dual <= together.certificate.primal + alone.certificate.floor


def test_owners_refuse_measures_that_need_the_scores_of_all(client, rankings, shards):
    with pytest.raises(InputError, match="owner 'ant'.*y of row 1 is .*to be -1 or"):
        problem(client, loss="roc_area")
    for name, shard in shards.items():
        SHARDS[name] = shard
        client.run(give, name, workers=[sorted(client.nthreads())[NAMES.index(name)]])
    with pytest.raises(InputError, match="ROCArea needs the scores of all rows.*groups"):
        problem(client, loss="roc_area")
    with pytest.raises(InputError, match="NDCGPairs needs the scores of all rows.*groups"):
        problem(client, loss="ndcg_pairs")


FAR = np.full(6, 1e3)
EVERYWHERE = Mixed(((1.0, PlaneRecipe(np.zeros(6), 0.0, 0.0, 0.0, None, np.inf)),))
TOLD = {  # ways in which a solver may be told the loss at a point
    "risk": [("risk", FAR, 0.0)],
    "newton.sums_at": [("newton.begin", "n", Passes), ("newton.sums_at", "n", 1, FAR, 0.0)],
    "newton.risk_on_line": [
        ("newton.begin", "n", Passes), ("newton.sums_at", "n", 1, np.zeros(6), 0.0),
        ("newton.sums_at", "n", 2, np.ones(6), 0.0), ("newton.keep_line", "n", 1, 2), ("newton.risk_on_line", "n", 1e3),
    ],
    "local_dual_round": [
        ("begin_local_dual", "c", Identity(), 0.01, 0), ("local_dual_round", "c", Round(FAR, 0.0, 1.0, 1)),
    ],
    "rows_share": [("rows_share", FAR, 0.0, EVERYWHERE, (False, 0.0), 1.0)],
}  # fmt: skip


@pytest.mark.parametrize("question", TOLD)
def test_an_owner_stops_when_its_own_loss_has_risen_too_far(client, shards, tmp_path, question):
    p = problem(client)
    team = p.team()
    value = team.sum("risk", np.zeros(6), 0.0)[0]
    assert value == pytest.approx(np.log(2.0))
    *before, last = TOLD[question]
    for asked in before:
        team.sum(*asked)
    with pytest.raises(OwnerRefusal, match=f"it refuses '{question}': its own loss is .* times that at w = 0"):
        team.sum(*last)
    written = [json.loads(line) for name in NAMES for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
    assert any(line["answer"].startswith("refused: its own loss") for line in written)


def test_every_question_that_tells_the_loss_of_an_owner_is_under_its_rule():
    """The first number that sums of losses give: a question that is added must be added there as well."""
    X, y = data()
    block = owners.Holder(fenchel.Problem(X, y, loss="logistic", alpha=0.1))
    others = {"risk_alone", "vector_share", "queries_share", "query_newton.sums_at", "query_newton.risk_on_line"}
    assert set(TOLD) | others == set(owners.OWN_LOSS) <= owners.SUMS
    for asked in TOLD.values():
        for question, *arguments in asked:
            found = block.answer(question, *arguments)
    risk = block.answer("risk", FAR, 0.0)[0]
    assert float(np.sum(found[owners.OWN_LOSS["rows_share"]])) == pytest.approx(risk)


QUESTIONS = {"lbfgs": "risk", "newton_cg": "newton.sums_at", "auto": "newton.sums_at", "cocoa": "local_dual_round"}
LIES = {
    "flipped": lambda found, at: (*found[:at], -found[at], *found[at + 1 :]),
    "scaled": lambda found, at: (*found[:at], 3.0 * found[at], *found[at + 1 :]),
    "better": lambda found, at: (0.5 * found[0], *found[1:]),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("solver", QUESTIONS)
def test_answers_that_belong_to_no_convex_loss_are_found_and_their_owner_named(
    client, shards, solver, lie, monkeypatch
):
    honest, count = owners.OwnedBlock.answer, []
    vector = 4 if solver == "cocoa" else 1  # where in an answer the gradient, or the change, stands

    def answer(self, question, *arguments):
        found = honest(self, question, *arguments)
        if question == QUESTIONS[solver] and self.shard.name == "bee":
            count.append(1)
            if len(count) > 2:
                return LIES[lie](found, vector)
        return found

    fenchel.solve(problem(client), solver=solver, tol=1e-6)  # who is honest is not suspected
    monkeypatch.setattr(owners.OwnedBlock, "answer", answer)
    with pytest.raises(OwnerRefusal, match="owner 'bee'.*contradict"):
        fenchel.solve(problem(client), solver=solver, tol=1e-9)


def test_honest_planes_never_contradict_each_other():
    rng = np.random.default_rng(5)
    X, y = data()
    for loss in ("logistic", "hinge", "squared"):
        block = owners.Holder(fenchel.Problem(X, y, loss=loss, alpha=0.1))
        seen = Planes("dog")
        for scale in np.repeat([1e-3, 1.0, 1e3], 30):
            w, b = scale * rng.standard_normal(6), float(scale * rng.standard_normal())
            seen.check(w, b, *block.answer("risk", w, b))
        with pytest.raises(OwnerRefusal, match=r"shape \(5,\)"):
            seen.check(w, b, 1.0, w[:5], 0.0)


def test_owners_that_are_not_there_are_named(client, shards):
    with pytest.raises(InputError, match=r"no worker serves the shard of fox; there are: ant, bee, cat"):
        fenchel.engines.Owners(client, ["ant", "fox"])
    with pytest.raises(InputError, match="owners hold targets"):
        fenchel.Problem(fenchel.engines.Owners(client), np.ones(300), loss="logistic", alpha=0.1)


def test_three_owners_example():
    example = Path(__file__).parents[1] / "examples" / "scale_out" / "three_owners.py"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, timeout=600, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "CERTIFIED" in run.stdout and "'north'" in run.stdout
