"""The cost model: its law, the ends of scaling by brute force, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fenchel
from fenchel.cli import main
from fenchel.cluster.plan import COUNTS, METHODS, Machine, plan, share
from fenchel.errors import InputError

REUTERS = (804_414, 47_236, 60_900_000)


def test_without_messages_the_time_is_s_plus_t_over_n():
    free = Machine(latency=0.0, per_worker=0.0, bandwidth=np.inf)
    found = [s.per_round for s in plan(*REUTERS, workers=range(1, 65), machine=free).shares if s.solver == "lbfgs"]
    n = np.arange(1, 65)
    (s, t), residual, *_ = np.linalg.lstsq(np.stack([np.ones(64), 1 / n], axis=1), found, rcond=None)
    assert residual < 1e-20
    np.testing.assert_allclose(t, free.per_value * REUTERS[2] + free.per_row * REUTERS[0])
    np.testing.assert_allclose(s, METHODS["lbfgs"].vectors * free.per_entry * REUTERS[1])


def test_messages_are_the_numbers_that_travel():
    only = Machine(latency=0.0, per_worker=0.0, bandwidth=1e6)
    for n in (1, 7, 1024):
        found = share(100, 5_000, 1_000, only, METHODS, "bundle", n)
        assert found.messages == pytest.approx(n * 8 * (5_000 + 5_001) / 1e6), "w out, sums and the value back"


@pytest.mark.parametrize("size", [REUTERS, (10**9, 10**6, 10**11), (1000, 10, 10_000)])
@pytest.mark.parametrize("solver", METHODS)
def test_the_ends_of_scaling_are_those_of_all_numbers_of_workers(size, solver):
    found = fenchel.plan(*size)
    lines = {n: share(*size, found.machine, METHODS, solver, n) for n in COUNTS}
    assert found.fastest(solver) == min(lines, key=lambda n: lines[n].fit)
    half = [n for n, line in lines.items() if line.messages >= 0.5 * line.per_round]
    assert found.limit(solver) == half[0]
    assert half == [n for n in COUNTS if n >= half[0]], "from there on"
    if METHODS[solver].growth == 0.0:  # T'(n) = 0
        c = found.machine.per_worker + 8 * (2 * size[1] + 1) / found.machine.bandwidth
        best = np.sqrt(lines[1].passing / c)
        assert found.fastest(solver) == pytest.approx(np.clip(best, 1, COUNTS[-1]), rel=0.1, abs=1)


def test_larger_data_and_better_networks_use_more_workers():
    small, large = fenchel.plan(*REUTERS), fenchel.plan(*(100 * k for k in REUTERS))
    fast = fenchel.plan(*REUTERS, machine=Machine(latency=1e-4, per_worker=1e-5, bandwidth=1e10))
    for solver in METHODS:
        assert small.fastest(solver) < fast.fastest(solver)
    assert small.limit("lbfgs") < fenchel.plan(10**8, 47_236, 10**10).limit("lbfgs")
    assert large.shares[0].fit > 90 * small.shares[0].fit


def test_the_command_prints_what_the_function_says(capsys, tmp_path):
    words = ["plan", "--rows", "804414", "--columns", "47236", "--stored", "60900000", "--workers", "1,64"]
    assert main(words) == 0
    assert capsys.readouterr().out.strip() == str(fenchel.plan(*REUTERS, workers=(1, 64)))
    assert main([*words, "--json", "--rounds", "lbfgs=100", "--bandwidth", "1e8", "--latency", "0.001"]) == 0
    found = json.loads(capsys.readouterr().out)
    machine = Machine(bandwidth=1e8, latency=0.001)
    expected = fenchel.plan(*REUTERS, workers=(1, 64), machine=machine, rounds={"lbfgs": 100})
    assert [line["fit"] for line in found["shares"]] == [line.fit for line in expected.shares]
    assert found["solvers"]["lbfgs"]["limit"] == expected.limit("lbfgs")
    (tmp_path / "rows.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    assert main(["plan", str(tmp_path / "rows.svm"), "--workers", "2"]) == 0
    assert "2 rows, 3 columns, 3 stored values" in capsys.readouterr().out


def test_wrong_use_is_told(capsys):
    assert main(["plan"]) == 2
    assert "give DATA, or --rows and --columns" in capsys.readouterr().err
    for words in (["--workers", "1,x"], ["--workers", "0"], ["--rounds", "lbfgs"]):
        assert main(["plan", "--rows", "1", "--columns", "1", *words]) == 2
    with pytest.raises(InputError, match="rows must be at least 1"):
        plan(0, 5)
    with pytest.raises(InputError, match="unknown solver in a plan 'lbfg'. Did you mean 'lbfgs'"):
        plan(5, 5, rounds={"lbfg": 3})
