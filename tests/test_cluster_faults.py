"""Clusters that break in the middle of a fit: the same bits all the same, or a clear error, and nothing left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("distributed")
import dask
import dask.array as da
import psutil
from distributed import Client

import fenchel
from cluster_problems import CASES, CUT, SIGNS, X, bits, local_client
from fenchel.cluster import team
from fenchel.cluster.sources import Source
from fenchel.engines import Dask
from fenchel.errors import SolveError
from fenchel.result import Status

pytestmark = pytest.mark.xdist_group("cluster")
CASE = CASES["logistic"]
PATIENCE = 240  # seconds: a new worker imports everything, on a machine that may be busy


@pytest.fixture(scope="module")
def home():
    return bits(CASE.at_home())


@pytest.fixture
def fragile():
    """A cluster whose workers are killed, stopped and made to lie, for one test: its nannies may give up in the end."""
    with local_client(2) as client:
        yield client


def on_cluster(client, case=CASE):
    chunks = tuple(np.diff(CUT).tolist())
    rows, targets = da.from_array(case.X, chunks=(chunks, -1)), da.from_array(case.y, chunks=(chunks,))
    groups = {"groups": da.from_array(case.options["groups"], chunks=(chunks,))} if "groups" in case.options else {}
    with client.as_current():
        return fenchel.Problem(rows, targets, **{**case.options, **groups})


def at(iteration, act):
    """A callback that does something once."""
    done = []

    def callback(state):
        if state.iteration == iteration and not done:
            done.append(act())

    return callback


def send(client, what, which=0):
    """A signal to one of the worker processes; returns its address and its number."""
    address, number = sorted(client.run(os.getpid).items())[which]
    os.kill(number, what)
    return address, number


def test_a_worker_killed_between_rounds_changes_nothing(fragile, home, caplog):
    for which, iteration in enumerate((0, 4)):
        fragile.wait_for_workers(2, timeout=PATIENCE)
        kill = at(iteration, lambda which=which: send(fragile, signal.SIGKILL, which))
        assert bits(CASE.solve(engine=Dask(fragile, cut=CUT), callback=kill)) == home
    assert caplog.text.count("are placed on") >= 2


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_worker_killed_while_it_is_asked_changes_nothing(fragile, home, monkeypatch, number):
    collect, calls = team.Team._collect, []

    def with_a_death(self, pending, question):
        calls.append(question)
        if len(calls) == number:
            os.kill(pids[0], signal.SIGKILL)
        return collect(self, pending, question)

    pids = sorted(fragile.run(os.getpid).values())
    monkeypatch.setattr(team.Team, "_collect", with_a_death)
    problem = on_cluster(fragile) if number == 5 else None
    assert bits(CASE.solve(problem, engine=Dask(fragile, cut=CUT))) == home
    assert len(calls) > number


@pytest.mark.parametrize(("name", "iteration"), [("cocoa", 3), ("newton", 1), ("newton", 3), ("ndcg", 3), ("pairs", 2)])
@pytest.mark.parametrize("there", [False, True], ids=["rows sent", "rows there"])
def test_what_blocks_keep_is_made_again_after_a_death(fragile, there, name, iteration):
    """Dual variables, or scores and curvatures: the first steps of Newton's method are made on a sample of the rows. Bundle's
    mean over queries keeps nothing."""
    case = CASES[name]
    problem = on_cluster(fragile, case) if there else None
    kill = at(iteration, lambda: send(fragile, signal.SIGKILL))
    result = case.solve(problem, engine=Dask(fragile, cut=CUT), callback=kill, max_iter=6)
    assert bits(result) == bits(case.at_home(max_iter=6))


def test_a_paused_worker_is_named_and_its_answer_counted_once(fragile, home, monkeypatch, caplog):
    monkeypatch.setattr(team, "LATE", 0.5)
    monkeypatch.setattr(team, "LOOK", 0.3)
    monkeypatch.setattr(team, "SLOW", 2.0)
    stopped = []
    try:
        pause = at(2, lambda: stopped.append(send(fragile, signal.SIGSTOP)))
        result = CASE.solve(engine=Dask(fragile, cut=CUT, timeout=2.0), callback=pause)
    finally:
        os.kill(stopped[0][1], signal.SIGCONT)
    assert bits(result) == home
    assert f"worker {stopped[0][0]} is slow" in caplog.text
    assert f"worker {stopped[0][0]} gave no answer: blocks" in caplog.text
    assert bits(CASE.solve(engine=Dask(fragile, cut=CUT))) == home


def lie(kind):
    """On a worker: the next answer to `risk` is a wrong one."""
    from fenchel.cluster import holder

    honest = holder.largest_nodes

    def lying(count, parts):
        nodes = honest(count, parts)
        if not any(len(terms) == 3 for terms in nodes.values()):
            return nodes
        holder.largest_nodes = honest
        key, (value, gradient, slopes) = next(iter(nodes.items()))
        return (
            nodes
            | {
                "nan": {key: (value, np.where(np.arange(gradient.size) == 3, np.nan, gradient), slopes)},
                "short": {key: (value, gradient[:-1], slopes)},
                "scalar": {key: (value, 0.0, slopes)},
                "fewer": {key: (value, gradient)},
                "double": {(0, count): (value, gradient, slopes)},
                "other": {(count, count + 1): (value, gradient, slopes)},
            }[kind]
        )

    holder.largest_nodes = lying


@pytest.mark.parametrize("kind", ["nan", "short", "scalar", "fewer", "double", "other"])
def test_a_wrong_answer_is_named_and_refused(fragile, home, caplog, kind):
    liar = sorted(fragile.nthreads())[0]
    fragile.run(lie, kind, workers=[liar])
    assert bits(CASE.solve(engine=Dask(fragile, cut=CUT))) == home
    assert f"worker {liar} answered" in caplog.text


def lie_of_scores(kind):
    """On a worker: the next scores of rows are wrong."""
    from fenchel.oracles.scalar import Oracle

    honest = Oracle.scores

    def wrong(self, w):
        Oracle.scores = honest
        z = honest(self, w)
        return z[:-1] if kind == "short" else np.where(np.arange(z.size) == 2, np.nan, z)

    Oracle.scores = wrong


@pytest.mark.parametrize("kind", ["nan", "short"])
def test_wrong_scores_are_named_and_refused(fragile, caplog, kind):
    case = CASES["ndcg"]
    liar = sorted(fragile.nthreads())[0]
    fragile.run(lie_of_scores, kind, workers=[liar])
    assert bits(case.solve(engine=Dask(fragile, cut=CUT))) == bits(case.at_home())
    assert f"worker {liar} answered" in caplog.text


def test_nan_from_everybody_is_what_the_data_give(fragile, caplog):
    engine = Dask(fragile, cut=CUT)
    oracle = engine.oracle(CASE.problem())
    value, gradient, _ = oracle.risk(np.full(8, np.nan))
    assert np.isnan(value) and np.isnan(gradient).all()
    assert caplog.text == ""
    assert np.isfinite(oracle.risk(np.zeros(8))[0])


def inflate():
    """On a worker: gradients are wrong from now on, in a way that nobody sees."""
    from fenchel.oracles.scalar import Oracle

    honest = Oracle.risk

    def wrong(self, *arguments):
        value, gradient, slopes = honest(self, *arguments)
        return value, -3.0 * gradient, slopes

    Oracle.risk, Oracle.honest = wrong, honest


def repent():
    from fenchel.oracles.scalar import Oracle

    Oracle.risk = Oracle.honest


def test_a_worker_that_lies_well_gets_no_certificate(fragile):
    liar = sorted(fragile.nthreads())[0]
    fragile.run(inflate, workers=[liar])
    try:
        result = CASE.solve(engine=Dask(fragile, cut=CUT), tol=1e-4, max_iter=30)
    finally:
        fragile.run(repent, workers=[liar])
    true = fenchel.certify(CASE.problem(), result.coef, result.intercept)
    assert result.certificate.primal == pytest.approx(true.primal, rel=1e-12)
    assert not result.converged
    assert result.certificate.relative_gap > 1e-2


def test_blocks_that_nobody_can_make_again_are_named(fragile):
    fragile.wait_for_workers(2, timeout=PATIENCE)
    futures = fragile.scatter([(X[:300], SIGNS[:300]), (X[300:], SIGNS[300:])], hash=False)
    problem = fenchel.Problem(futures, **CASE.options)
    died = []

    def kill():
        os.kill(owner(fragile, futures[0]), signal.SIGKILL)
        died.append(time.perf_counter())

    with pytest.raises(SolveError, match=r"block 0 .* lost"):
        CASE.solve(problem, callback=at(1, kill))
    assert time.perf_counter() - died[0] < 30.0


def test_what_a_task_gave_is_not_gone_while_the_task_runs_again(fragile):
    """Dask calls it lost in the meantime."""
    future, sent = fragile.submit(np.arange, 3), fragile.scatter([np.arange(4)], hash=False)[0]
    future.result(timeout=PATIENCE)
    assert not Source(future, ()).lost and not Source(sent, ()).lost
    for each in (future, sent):
        each._state.lose()
        assert not Source(each, ()).lost, "the scheduler knows it"
    gone = Source(sent, ())
    os.kill(owner(fragile, sent), signal.SIGKILL)
    assert wait_until(lambda: gone.lost)


def owner(client, future):
    (address,) = client.who_has([future])[future.key]
    return client.run(os.getpid, workers=[address])[address]


def test_two_fits_at_once_have_the_bits_of_each_alone(client, home):
    problem, expected = on_cluster(client), bits(CASES["max_hinge"].at_home())
    fits = [
        lambda: CASE.solve(engine=Dask(client, cut=CUT)),
        lambda: CASES["max_hinge"].solve(engine=Dask(client, cut=CUT)),
        lambda: CASE.solve(problem),
        lambda: CASE.solve(problem),
    ]
    with ThreadPoolExecutor(4) as pool:
        found = [bits(future.result()) for future in [pool.submit(fit) for fit in fits]]
    assert found == [home, expected, home, home]


def held(client):
    """(futures here, tasks on the scheduler, values on the workers)."""
    gc.collect()
    tasks, stored = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)), client.has_what()
    return len(client.futures), tasks, sum(map(len, stored.values()))


def least_held(client):
    """What is held when what was let go of is gone: the least of several looks."""
    looks = [(time.sleep(0.2), held(client))[1] for _ in range(10)]
    return tuple(map(min, zip(*looks, strict=True)))


def wait_until(holds):
    """Look until it holds, for as long as a busy machine may take; whether it did."""
    limit = time.perf_counter() + PATIENCE
    while not (held := holds()) and time.perf_counter() < limit:
        time.sleep(0.2)
    return held


def places():
    """Of this process and all that it started: numbers of processes, ports that listen, files that are open."""
    own = psutil.Process()
    all_of_them = [own, *own.children(recursive=True)]
    ports = {c.laddr.port for p in all_of_them for c in p.net_connections() if c.status == psutil.CONN_LISTEN}
    return {p.pid for p in all_of_them}, ports, {f.path for p in all_of_them for f in p.open_files()}


def resident():
    gc.collect()
    return psutil.Process().memory_info().rss


def test_many_rounds_leave_nothing_behind(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    CASE.solve(engine=Dask(client, cut=CUT))  # what is made once and kept is there now
    before, around, sizes = least_held(client), places(), []
    temporary = set(os.listdir(tempfile.gettempdir()))
    for _ in range(4):
        solves = [CASE.solve(engine=Dask(client, cut=CUT), tol=1e-15, max_iter=30) for _ in range(3)]
        sizes.append(sum(client.run(resident).values()))
        assert sum(result.passes for result in solves) > 20
    assert wait_until(lambda: all(now <= then for now, then in zip(held(client), before, strict=True)))
    assert wait_until(lambda: all(now <= then for now, then in zip(places(), around, strict=True)))
    assert list(tmp_path.iterdir()) == []
    assert not [name for name in set(os.listdir(tempfile.gettempdir())) - temporary if "fenchel" in name]
    assert min(b - a for a, b in pairwise(sizes)) < 1e6, "a leak would show every time"


def test_ctrl_c_returns_a_certified_answer(client, home):
    def interrupt():
        raise KeyboardInterrupt

    for problem in (None, on_cluster(client)):
        engine = Dask(client, cut=CUT)
        result = CASE.solve(problem, engine=engine, callback=at(2, interrupt))
        assert result.status is Status.INTERRUPTED
        true = fenchel.certify(CASE.problem(), result.coef, result.intercept)
        assert result.certificate.primal == pytest.approx(true.primal, rel=1e-12)
        assert bits(CASE.solve(problem, engine=engine)) == home


SERVER = """
from distributed import LocalCluster
import logging, time
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL)
    print(cluster.scheduler_address, flush=True)
    time.sleep(300)
"""


@pytest.fixture
def elsewhere(tmp_path):
    """(client, process) of a cluster whose scheduler is another process."""
    (tmp_path / "server.py").write_text(SERVER)
    process = subprocess.Popen([sys.executable, tmp_path / "server.py"], stdout=subprocess.PIPE, text=True)
    with process, dask.config.set({"distributed.comm.timeouts.connect": "3s"}):
        client = Client(process.stdout.readline().strip(), timeout=10)  # also of trying to find it again
        yield client, process
        client.close(timeout=1)
        process.kill()


@pytest.mark.parametrize("where", ["rows sent", "rows there"])
def test_a_scheduler_that_goes_away_gives_a_clear_error(elsewhere, where):
    client, process = elsewhere
    problem, engine = (None, Dask(client, cut=CUT)) if where == "rows sent" else (on_cluster(client), None)
    died = []

    def kill():
        process.kill()
        died.append(time.perf_counter())

    with pytest.raises(SolveError, match="scheduler of the cluster"):
        CASE.solve(problem, engine=engine, callback=at(2, kill))
    assert time.perf_counter() - died[0] < 60.0


@pytest.mark.parametrize("name", ["logistic", "cocoa"])
@pytest.mark.parametrize("where", ["rows sent", "rows there"])
def test_a_fit_that_lost_its_cluster_goes_on_on_another_to_the_same_bits(elsewhere, client, tmp_path, where, name):
    case, seen = CASES[name], []
    keep = {"checkpoint": fenchel.Checkpoint(tmp_path / "fit", seconds=0.0), "resume": True}
    places = [
        (None, Dask(c, cut=CUT)) if where == "rows sent" else (on_cluster(c, case), None)
        for c in (elsewhere[0], client)
    ]
    with pytest.raises(SolveError, match="scheduler of the cluster"):
        case.solve(places[0][0], engine=places[0][1], callback=at(3, elsewhere[1].kill), **keep)
    result = case.solve(
        places[1][0], engine=places[1][1], callback=lambda state: seen.append(state.iteration) and None, **keep
    )
    assert min(seen) >= 1  # not anew; not every iteration is written
    assert bits(result) == bits(case.at_home())


def test_a_client_that_is_closed_gives_a_clear_error(client):
    with Client(client.scheduler.address) as second:
        engine = Dask(second, cut=CUT)
        with pytest.raises(SolveError, match="client .* closed"):
            CASE.solve(engine=engine, callback=at(2, second.close))
        with pytest.raises(SolveError, match="client .* closed"):
            CASE.solve(engine=engine)
