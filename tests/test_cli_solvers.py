"""fenchel solvers and fenchel losses: what they print is what the code does."""

from __future__ import annotations

import inspect
import json

import pytest

import fenchel
from cli_case import one_line, run
from fenchel.cli.samples import loss_names, penalty_names, sample
from fenchel.selection import requirements
from fenchel.selection.rules import candidates
from fenchel.solvers import SOLVERS


def shown_json(capsys, *words):
    assert run(*words, "--json") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return json.loads(shown.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_every_solver_is_listed_with_cost_and_rate(capsys):
    found = shown_json(capsys, "solvers")["solvers"]
    assert list(found) == list(SOLVERS)
    assert run("solvers") == 0
    shown = capsys.readouterr().out
    for name, facts in found.items():
        cls = SOLVERS[name]
        assert (facts["cost"], facts["rate"], facts["slow"]) == (cls.cost, cls.convergence, cls.slow)
        assert len(facts["cost"]) > 10 and len(facts["rate"]) > 10
        assert f"{name}: " in shown
        assert facts["cost"] in shown and facts["rate"] in shown


@pytest.mark.parametrize("name", SOLVERS)
def test_one_solver_is_described_by_its_own_file(name, capsys):
    assert run("solvers", name) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{name}(")
    lines = inspect.getmodule(SOLVERS[name]).__doc__.strip().split("\n")
    assert all(line.strip() in shown for line in lines)
    found = shown_json(capsys, "solvers", name)
    assert found["name"] == name
    assert set(found["needs"]) == {word for part in SOLVERS[name].needs for word in part}


PAIRS = [("hinge", "l1"), ("hinge", "l2"), ("logistic", "elastic_net"), ("softmax", "l2"), ("chain_log", "l2"), ("ndcg", "l2"),
         ("poisson", "q_norm"), ("chain", "l2"), ("squared", "quadratic")]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_pair_lists_who_fits_why_others_do_not_and_what_auto_takes(pair, capsys):
    found = shown_json(capsys, "solvers", "--loss", pair[0], "--regularizer", pair[1])
    problem = sample(*pair, 2000, 50)
    assert found["fits"] == [name for name, cls in SOLVERS.items() if requirements.fits(cls, problem)]
    assert set(found["misfits"]) == set(SOLVERS) - set(found["fits"])
    for name, why in found["misfits"].items():
        assert why == "; ".join(requirements.missing(SOLVERS[name], problem))
    taken = [SOLVERS[choice["solver"]] for choice in found["auto"]]
    assert taken == [type(choice.solver) for choice in candidates(problem)]
    assert run("solvers", "--loss", pair[0], "--penalty", pair[1]) == 0
    shown = capsys.readouterr().out
    assert f"\n  {found['auto'][0]['solver']}: {found['auto'][0]['reason']}" in shown


def test_what_auto_is_said_to_take_is_what_a_solve_takes(capsys):
    for pair, size in ((("hinge", "l2"), (30, 3)), (("logistic", "l2"), (40, 4)), (("hinge", "l1"), (30, 3))):
        words = ["--rows", size[0], "--features", size[1]]
        found = shown_json(capsys, "solvers", "--loss", pair[0], "--penalty", pair[1], *words)
        result = fenchel.solve(sample(*pair, *size), tol=1e-2)
        assert result.reason.startswith(SOLVERS[found["auto"][0]["solver"]].__name__)


def test_one_of_the_two_lists_every_partner(capsys):
    found = shown_json(capsys, "solvers", "--loss", "hinge")
    assert list(found) == penalty_names()
    assert found["l1"] == ["bundle", "proximal_point_newton", "semismooth_newton"]
    found = shown_json(capsys, "solvers", "--penalty", "l2")
    assert list(found) == loss_names()
    assert all(found.values())
    assert run("solvers", "--loss", "hinge") == 0
    assert "elastic_net  " in capsys.readouterr().out
    found = shown_json(capsys, "solvers", "--loss", "max_hinge", "--intercept")
    assert {name for name, fitting in found.items() if not fitting} == {
        *("no_penalty", "slope", "total_variation"),
        *("l0", "mcp", "scad"),  # not convex: losses of one score only
    }
    assert {name for name, fitting in found.items() if "newton_cg" in fitting} == {"l2", "quadratic"}
    assert set().union(*found.values()) == {"newton_cg", "proximal_point_newton"}


def test_samples_are_made_for_every_pair():
    for loss in loss_names():
        assert sample(loss, "l2").n >= 4
    everything = {*fenchel.losses.LOSSES, *fenchel.multiclass.LOSSES, *fenchel.measures.MEASURES}
    assert everything - set(loss_names()) == {"moreau", "moreau_vector"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["newton"], "unknown solver 'newton'. It is called 'newton_cg' here."),
        (["--loss", "hing"], "Did you mean 'hinge'"),
        (["--loss", "hing", "--penalty", "l2"], "Did you mean 'hinge'"),
        (["--penalty", "l3"], "unknown penalty 'l3'"),
        (["lbfgs", "--loss", "hinge"], "NAME cannot be combined"),
        (["--loss", "hinge", "--penalty", "l2", "--rows", "2"], "--rows must be at least 12"),
        (["--loss", "hinge", "--penalty", "l2", "--features", "1000000000"], "at most"),
        (["--loss", "chain", "--penalty", "quadratic"], "needs a matrix"),
        (["--loss", "hierarchical_hinge", "--penalty", "l2", "--intercept"], "free intercepts"),
    ],
)
def test_failures(words, message, capsys):
    assert run("solvers", *words) == 1
    assert message in one_line(capsys)


def test_losses_has_structured_models_and_all_the_rest_as_json(capsys):
    from fenchel.structured import MODELS

    found = shown_json(capsys, "losses")
    by_kind = {kind: [name for name, part in found.items() if part["kind"] == kind] for kind in
               ("loss", "multiclass", "measure", "structured", "penalty")}  # fmt: skip
    assert by_kind["loss"] == list(fenchel.losses.LOSSES)
    assert by_kind["multiclass"] == list(fenchel.multiclass.LOSSES)
    assert by_kind["measure"] == list(fenchel.measures.MEASURES)
    assert by_kind["structured"] == list(MODELS)
    assert by_kind["penalty"] == list(fenchel.regularizers.REGULARIZERS)
    assert run("losses") == 0
    table = capsys.readouterr().out
    for name, part in found.items():
        assert part["signature"] in table
        assert part["formula"] in table
        assert shown_json(capsys, "losses", name)["text"].startswith(name)
    assert run("losses", "chain") == 0
    assert "conditional random field" in capsys.readouterr().out
    assert run("losses", "chian", "--json") == 1
    assert "Did you mean 'chain'" in one_line(capsys)
