"""Bounds, groups and weights of features at the command line, in estimators and in model files: the same optimum everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from cli_case import REAL, TWO, WORDS, X, csv_text, one_line
from cli_case import run_as_is as run
from fenchel import regularizers as R
from fenchel.cli.constraints import constraint_rows
from fenchel.readers.svmlight.write import write_svmlight


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Files to train on, in the current directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real.csv").write_text(csv_text(REAL))
    (tmp_path / "words.csv").write_text(csv_text(WORDS))
    write_svmlight("two", X, TWO)
    (tmp_path / "groups").write_text("0\n0\n1\n1\n")
    return tmp_path


def objective(reg, loss, y, intercept=True):
    problem = fenchel.Problem(X, y, loss=loss, regularizer=reg, fit_intercept=intercept)
    return fenchel.solve(problem, tol=1e-8).certificate.primal


TWICE_AGE, HEIGHT_WIDTH = [0.0, 0.0, -1.0, 2.0], [0.0, 1.0, 1.0, 0.0]
CASES = {
    "--nonnegative": R.Bounded(R.L2(0.1), lower=0.0),
    "--penalty l1 --lower -0.5 --upper 0.7": R.Bounded(R.L1(0.1), -0.5, 0.7),
    "--penalty elastic_net --penalty-param l1_ratio=0.3 --upper 0.5": R.Bounded(R.ElasticNet(0.1, 0.3), upper=0.5),
    "--penalty group_lasso --groups groups": R.GroupLasso(0.1, [0, 0, 1, 1]),
    "--penalty sparse_group_lasso --groups groups": R.SparseGroupLasso(0.1, [0, 0, 1, 1]),
    "--penalty l1 --penalty-weight age=0 --penalty-weight width=3": R.L1(0.1, weights=[1.0, 3.0, 1.0, 0.0]),
    "--penalty total_variation --penalty-param l1=0.5": R.TotalVariation(0.1, l1=0.5),
    "--constraint height<=2*age": R.LinearlyConstrained(R.L2(0.1), [TWICE_AGE], [0.0], [np.inf]),
    "--penalty l1 --constraint [height]+width=0.25": R.LinearlyConstrained(R.L1(0.1), [HEIGHT_WIDTH], [0.25], [0.25]),
    "--penalty total_variation": R.TotalVariation(0.1),
}


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_train_solves_the_problem_of_the_options(options, loss, here):
    words = ["--loss", loss, "--alpha", "0.1", "--intercept", "-e", "1e-7", *options.split(), "-q"]
    assert run("train", "real.csv", *words, "--model", "m") == 0
    model = fenchel.load("m")
    assert model.regularizer == CASES[options]
    assert model.certificate.primal == pytest.approx(objective(CASES[options], loss, REAL), rel=1e-6)
    assert run("verify", "m", "real.csv") == 0


@pytest.mark.parametrize("name", ["l1_ball", "l2_ball", "simplex", "no_penalty"])
def test_constraints_have_no_strength(name, here, capsys):
    words = ["train", "real.csv", "--loss", "squared", "--penalty", name, "--model", "m"]
    assert run(*words, "-q") == 0
    capsys.readouterr()
    reg = R.make(name)
    assert fenchel.load("m").regularizer == reg
    assert fenchel.load("m").certificate.primal == pytest.approx(objective(reg, "squared", REAL, False), rel=1e-5)
    assert run(*words, "--alpha", "0.1") == 1
    assert "no strength" in one_line(capsys)
    assert run("path", "real.csv", "--loss", "squared", "--penalty", name, "--model", "m") == 1
    assert "path" in one_line(capsys)


def test_columns_of_svmlight_text_are_numbers(here):
    words = ["--penalty", "l1", "--penalty-weight", "4=0", "--alpha", "0.1", "-q"]
    assert run("train", "two", *words, "--model", "m") == 0
    assert fenchel.load("m").regularizer == R.L1(0.1, weights=[1.0, 1.0, 1.0, 0.0])


def test_constraints_in_words_are_those_in_numbers():
    names = ["a", "petal", "b.2", "x <= y"]

    def rows(text):
        return [(list(row), low, high) for row, low, high in constraint_rows(text, names.index, 4)]

    inf = np.inf
    assert rows("a <= b.2 <= [x <= y]") == [([-1, 0, 1, 0], 0.0, inf), ([0, 0, -1, 1], 0.0, inf)]
    assert rows("0 <= a <= 1") == [([1, 0, 0, 0], 0.0, inf), ([1, 0, 0, 0], -inf, 1.0)]
    assert rows(" 2*a - 1e-1 * b.2 + 0.5 >= -1 ") == [([2, 0, -0.1, 0], -1.5, inf)]
    assert rows("a+a = 3 - 1") == rows("a + a == 2") == [([2, 0, 0, 0], 2.0, 2.0)]
    assert rows("a - 1 >= b.2 + 2") == [([-1, 0, 1, 0], -inf, -3.0)]
    assert rows("1 >= -a") == [([-1, 0, 0, 0], -inf, 1.0)]


def test_constraints_on_columns_of_svmlight_text_with_a_constant(here):
    words = ["--constraint", "[4]<=[1]", "--alpha", "0.1", "-B", "1", "-q"]
    assert run("train", "two", *words, "--model", "m") == 0
    coef = fenchel.load("m").coef
    assert coef[3] <= coef[0] + 1e-12
    assert run("verify", "m", "two") == 0


@pytest.mark.parametrize("penalty", ["multi_task", "nuclear_norm"])
def test_penalties_of_several_scores(penalty, here):
    words = ["--target", "kind", "--loss", "softmax", "--penalty", penalty, "--alpha", "0.05", "-q"]
    assert run("train", "words.csv", *words, "--model", "m") == 0
    assert type(fenchel.load("m").regularizer).__name__ == {"multi_task": "MultiTask"}.get(penalty, "NuclearNorm")
    assert run("verify", "m", "words.csv") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--lower 2 --upper 1", "lower must be <= upper"),
        ("--penalty entropy --nonnegative", "takes L1, L2 or ElasticNet"),
        ("--penalty group_lasso", "--groups FILE"),
        ("--penalty l1 --groups groups", "groups"),
        ("--penalty group_lasso --groups nowhere", "nowhere"),
        ("--penalty-weight agee=0", "unknown column 'agee'. Did you mean 'age'"),
        ("--penalty-weight age=a", "COLUMN=X"),
        ("--constraint agee>=0", "unknown column 'agee'. Did you mean 'age'"),
        ("--constraint age", "no <=, >= or ="),
        ("--constraint age<=2age", "cannot read 'age'"),
        ("--constraint age<=", "cannot read"),
        ("--constraint 2*3<=age", "cannot read"),
        ("--constraint 2<=3", "no coefficient"),
        ("--constraint age>=1 --constraint age<=0", "no coefficients satisfy"),
        ("--constraint age>=0 --alpha 0", "constraints"),
        ("--penalty-weight age=-1", ">= 0"),
        ("--penalty entropy --penalty-weight age=0", "--penalty-weight is for"),
        ("--penalty bounded", "--nonnegative"),
        ("--penalty slope", "from Python"),
        ("--penalty shifted", "from Python"),
        ("--penalty l1 --penalty-weight age=0 --nonnegative", "weight 0"),
    ],
)
def test_bad_options_are_one_line(options, message, here, capsys):
    assert run("train", "real.csv", "--loss", "squared", "--model", "m", *options.split()) == 1
    assert message in one_line(capsys)


ALL = [
    *CASES.values(), R.L2(0.1, weights=[1.0, 0.0, 2.0, 1.0]), R.Shifted(R.L2(0.1), [1.0, 0.0, 0.5, -1.0]),
    R.Bounded(R.L1(0.1), [-np.inf, 0.0, 0.0, -1.0], [0.0, 1.0, np.inf, 1.0]), R.Slope(0.1, [4.0, 3.0, 2.0, 1.0]),
    R.L1Ball(2.0), R.L2Ball(2.0), R.Simplex(2.0), R.NoPenalty(),
]  # fmt: skip


@pytest.mark.parametrize("reg", ALL, ids=lambda reg: type(reg).__name__)
def test_estimators_take_them_and_files_keep_them(reg, tmp_path):
    fitted = fenchel.Regressor(loss="squared", regularizer=reg, tol=1e-6).fit(X, REAL)
    fenchel.save(tmp_path / "m", fitted)
    loaded = fenchel.load(tmp_path / "m")
    assert loaded.regularizer == reg
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    classifier = fenchel.Classifier(loss="hinge", regularizer=reg).fit(X, TWO)
    assert classifier.score(X, TWO) > 0.5


def test_several_classes_keep_the_penalty_of_one_feature(tmp_path):
    for reg in (R.MultiTask(0.05), R.NuclearNorm(0.05), R.Bounded(R.L2(0.05), lower=[0.0, -1.0, -1.0, 0.0])):
        fitted = fenchel.Classifier(loss="softmax", regularizer=reg).fit(X, WORDS)
        fenchel.save(tmp_path / "m", fitted)
        assert fenchel.load(tmp_path / "m").regularizer == reg
