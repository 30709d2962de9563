"""Tables as they are at the command line: from a file to a verified model, a report and predictions, one command each."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import fenchel
from cli_case import one_line, run
from fenchel.cli.prepared import likely_loss, target_of
from fenchel.cli.reading import Rows
from fenchel.tables.columns import text_column

pytest.importorskip("pyarrow")

N = 400
RNG = np.random.default_rng(11)
AGE = RNG.integers(18, 90, N)
INCOME = np.exp(RNG.normal(10, 1, N)).round(2)
CITY = RNG.choice(["Ulm", "Bonn", "Kiel"], N, p=[0.5, 0.3, 0.2])
SMOKES = RNG.choice(["yes", "no"], N)
EXPOSURE = RNG.uniform(0.1, 1.0, N).round(3)
SCORE = 0.05 * (AGE - 50.0) + np.log(INCOME) - 10.0 + (CITY == "Ulm") - 1.2 * (SMOKES == "yes")
RISK = np.where(SCORE + RNG.logistic(size=N) > 0, "good", "bad")
CLAIMS = RNG.poisson(EXPOSURE * np.exp(0.4 * (SMOKES == "yes") + 0.01 * (AGE - 50)))
HEADER = ["customer", "since", "age", "income", "city", "smoker", "country", "exposure", "claims", "risk"]


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def cells(k: int) -> list[str]:
    since = f"{1 + k % 28:02}.{1 + k % 12:02}.{2010 + k % 9}"
    age, income = "" if k % 50 == 3 else str(AGE[k]), "?" if k % 97 == 0 else german(INCOME[k])
    own = [f"C{k:05}", since, age, income, CITY[k], SMOKES[k], "DE", str(EXPOSURE[k]).replace(".", ",")]
    return [*own, str(CLAIMS[k]), "" if k % 200 == 7 else RISK[k]]


def write(path, rows, header=HEADER, delimiter=";"):
    with open(path, "w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("people.csv", [cells(k) for k in range(N)])
    return tmp_path


ROLES = ["--id", "customer", "--drop", "claims", "--drop", "exposure"]


def test_one_command_each_from_a_file_to_a_verified_model_a_report_and_predictions(files, capsys):
    assert run("train", "people.csv", *ROLES, "--test-size", "0.25", "--model", "m", "--report", "r.html", "-q") == 0
    shown = capsys.readouterr()
    for words in ("since     date      read as day/month/year", "income    number    decimal comma", "constant: DE", "held out",
                  "true \\ predicted", "CERTIFIED", "target: risk; id: customer"):  # fmt: skip
        assert words in shown.out, words
    assert "2 rows without a value of risk are left out: line 9, line 209" in shown.err
    model = fenchel.load("m")
    assert model.labels == ("bad", "good") and type(model.loss).__name__ == "Logistic" and model.fit_intercept
    assert model.n == 398 - 100 or model.n == 398 - 99
    assert run("verify", "m", "people.csv") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out
    assert run("report", "m", "--data", "people.csv", "-o", "again.html") == 0
    assert run("evaluate", "m", "people.csv", "--json", "--resamples", "0") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["roc_area"]["value"] > 0.75
    write("new.csv", [["N1", "01.02.2012", "abc", "1.000,50", "Atlantis", "no", "DE", "1,0", "0"]], HEADER[:-1])
    assert run("predict", "m", "new.csv", "-o", "out.csv") == 0
    said = capsys.readouterr().err
    assert "'abc' in line 2" in said and "'Atlantis'" in said
    assert [line.split(",")[0].strip('"') for line in (files / "out.csv").read_text().splitlines()] == [
        "customer",
        "N1",
    ]
    assert run("predict", "m", "people.csv", "--json", "--quiet") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ids"][:2] == ["C00000", "C00001"] and len(found["predictions"]) == N


def test_the_model_is_that_of_the_rows_which_were_not_held_out(files, capsys):
    assert run("train", "people.csv", *ROLES, "--test-size", "0.25", "--seed", "3", "--model", "m", "-q", "--json") == 0
    test = json.loads(capsys.readouterr().out)["test"]
    model = fenchel.load("m")
    kept = [k for k in range(N) if k % 200 != 7]
    columns = dict(zip(HEADER, zip(*[cells(k) for k in kept], strict=True), strict=True))
    z = model.scores({name: list(values) for name, values in columns.items()})
    right = np.where(z > 0, "good", "bad") == RISK[kept]
    assert test["rows"] + model.n == len(kept)
    ours = test["metrics"]["accuracy"]["value"] * test["rows"]
    assert ours == pytest.approx(sum(test["confusion"]["counts"][k][k] for k in (0, 1)))
    assert ours <= right.sum()
    means = model.preparation.rules[1].mean  # the age of the training rows only
    ages = np.array([AGE[k] for k in kept if k % 50 != 3], dtype=float)
    assert means != ages.mean()


def test_scores_are_those_of_the_coefficients_that_show_prints(files, capsys):
    assert run("train", "people.csv", *ROLES, "--kind", "since=drop", "--model", "m", "-q") == 0
    capsys.readouterr()
    assert run("show", "m", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    weight = {one["feature"]: one["coefficient"] for one in shown["coefficients"]}
    k = 11
    z = shown["intercept"] + weight["age"] * AGE[k] + weight["income"] * INCOME[k]
    z += weight[f"city={CITY[k]}"] + weight["smoker=yes"] * (SMOKES[k] == "yes")
    row = dict(zip(HEADER, ([cell] for cell in cells(k)), strict=True))
    assert fenchel.load("m").scores(row)[0] == pytest.approx(z, rel=1e-12)
    favours = {one["feature"]: one["favours"] for one in shown["coefficients"]}
    assert favours["smoker=yes"] == "bad" and favours["age"] == "good"
    assert run("show", "m", "--top", "2") == 0
    text = capsys.readouterr().out
    assert "predicts    risk: bad or good (positive scores: good)" in text and "of which 2 are shown" in text
    assert "identifier" not in text  # --id is a role, not a feature


def test_weights_offsets_and_the_positive_label_are_part_of_the_model(files, capsys):
    words = [
        "--target",
        "claims",
        "--loss",
        "poisson",
        "--offset",
        "log(exposure)",
        "--drop",
        "risk",
        "--id",
        "customer",
    ]
    assert run("train", "people.csv", *words, "--model", "m", "-q", "--tol", "1e-9") == 0
    assert run("verify", "m", "people.csv") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out
    model = fenchel.load("m")
    assert model.offset and model.roles["offset"] == "log(exposure)"
    rows = {name: [cells(k)[j] for k in range(N)] for j, name in enumerate(HEADER)}
    more = rows | {"exposure": [german(2.0 * float(v)) for v in EXPOSURE]}
    more["exposure"] = [str(2.0 * v).replace(".", ",") for v in EXPOSURE]
    np.testing.assert_allclose(model.predict(more), 2.0 * model.predict(rows), rtol=1e-12)
    assert model.predict(rows).sum() == pytest.approx(CLAIMS.sum(), rel=1e-6)  # the free intercept of a Poisson model
    assert run("predict", "m", "people.csv", "-o", "out", "--quiet") == 0
    np.testing.assert_array_equal(np.loadtxt("out"), model.predict(rows))
    assert run("evaluate", "m", "people.csv", "--json", "--resamples", "0") == 0
    capsys.readouterr()
    words = [
        "--positive",
        "bad",
        "--weight",
        "exposure",
        "--class-weight",
        "balanced",
        "--drop",
        "claims",
        "--model",
        "p",
        "-q",
    ]
    assert run("train", "people.csv", *words) == 0
    assert fenchel.load("p").labels == ("good", "bad")
    assert run("verify", "p", "people.csv") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out
    assert run("train", "people.csv", *words, "--positive", "none") == 1
    assert "--positive none: it must be one of two labels" in one_line_at_the_end(capsys)


def one_line_at_the_end(capsys) -> str:
    return capsys.readouterr().err.strip().split("\n")[-1]


@pytest.mark.parametrize("weighted", [False, True])
def test_weighted_class_balanced_fits_are_those_of_scikit_learn(weighted, files):
    from sklearn.linear_model import LogisticRegression

    words = [
        "--class-weight",
        "balanced",
        "--id",
        "customer",
        "--drop",
        "claims",
        "--kind",
        "since=drop",
        "--alpha",
        "0.01",
    ]
    words += ["--weight", "exposure"] if weighted else ["--drop", "exposure"]
    assert run("train", "people.csv", *words, "--tol", "1e-12", "--model", "m", "-q") in (0, 3)
    model = fenchel.load("m")
    kept = [k for k in range(N) if k % 200 != 7]
    X, _ = model.preparation.rows({name: [cells(k)[j] for k in kept] for j, name in enumerate(HEADER)})
    own = EXPOSURE[kept] if weighted else np.ones(len(kept))
    good = RISK[kept] == "good"
    weights = own * own.sum() / (2.0 * np.where(good, own[good].sum(), own[~good].sum()))
    other = LogisticRegression(C=1.0 / (0.01 * weights.sum()), tol=1e-10, max_iter=2000).fit(X, RISK[kept], weights)
    np.testing.assert_allclose(model.coef, other.coef_[0], atol=1e-5)


def test_counts_of_labels_are_those_of_scikit_learn(files, capsys):
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    assert run("train", "people.csv", "--target", "city", *ROLES, "--model", "m", "-q") == 0
    capsys.readouterr()
    assert run("evaluate", "m", "people.csv", "--json", "--resamples", "0") == 0
    found = json.loads(capsys.readouterr().out)
    rows = {name: [cells(k)[j] for k in range(N)] for j, name in enumerate(HEADER)}
    predicted = fenchel.load("m").predict(rows)
    labels = found["confusion"]["labels"]
    assert labels == ["Bonn", "Kiel", "Ulm"]
    assert found["confusion"]["counts"] == confusion_matrix(CITY, predicted, labels=labels).tolist()
    expected = np.array(precision_recall_fscore_support(CITY, predicted, labels=labels, zero_division=np.nan)).T
    ours = [[one[name] for name in ("precision", "recall", "f1", "rows")] for one in found["by_label"]]
    np.testing.assert_allclose(np.array(ours, dtype=float), expected)


def test_all_complaints_come_in_one_run_with_their_lines(files, capsys):
    rows = [cells(k) for k in range(N)]
    rows[2].append("one more")
    rows[5] = rows[5][:-2]
    write("bad.csv", rows)
    assert run("train", "bad.csv", "--model", "m") == 1
    said = one_line(capsys)
    assert "2 lines do not have 10 columns" in said and "4 (11), 7 (8)" in said
    assert run("train", "people.csv", "--model", "m", "--target", "risk", "--weight", "wait", "--id", "custommer") == 1
    said = one_line(capsys)
    assert "no column --id 'custommer' (did you mean 'customer'?)" in said and "--weight 'wait'" in said
    write("narrow.csv", [row[:3] + row[5:] for row in (cells(k) for k in range(9))], HEADER[:3] + HEADER[5:])
    assert run("train", "people.csv", *ROLES, "--model", "m", "-q") == 0
    capsys.readouterr()
    assert run("predict", "m", "narrow.csv") == 1
    assert "lacks 2 columns that the model needs: 'income', 'city'" in one_line(capsys)


def test_delimiters_encodings_and_decimals_are_found_or_given(files, capsys):
    rows = [[f"Köln {k % 3}", german(float(v)), "ja" if v > 0 else "nein"] for k, v in enumerate(RNG.normal(size=60))]
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        with open("t.csv", "w", newline="", encoding=encoding) as file:
            csv.writer(file, delimiter="|").writerows([["stadt", "größe", "kauf"], *rows])
        words = ["--encoding", encoding] if encoding == "cp1252" else []
        if words:
            assert run("train", "t.csv", "--model", "m", "-q") == 1
            assert "t.csv:1: the byte 0xf6 is not valid UTF-8" in one_line(capsys)
        assert run("train", "t.csv", "--model", "m", "-q", *words) == 0, encoding
        assert fenchel.load("m").feature_names == ("stadt=Köln 0", "stadt=Köln 1", "stadt=Köln 2", "größe")
        assert run("verify", "m", "t.csv", *words) == 0
        capsys.readouterr()
    assert run("train", "t.csv", "--delimiter", ",", "--model", "m", "-q") == 1
    assert "if that is wrong, use --delimiter" in one_line(capsys)


def test_a_path_over_a_table_writes_a_model_that_takes_tables(files, capsys):
    assert run("path", "people.csv", *ROLES, "--alphas", "0.1,0.01", "--folds", "3", "--model", "m", "-q") == 0
    assert run("verify", "m", "people.csv") == 0
    assert run("train", "people.csv", *ROLES, "-v", "3", "--json", "-q") == 0
    assert json.loads(capsys.readouterr().out.strip().split("\n")[-1])["accuracy"] > 0.65


def test_parquet_keeps_its_types(files, capsys):
    import pyarrow
    import pyarrow.parquet

    days = np.datetime64("2020-01-01") + np.arange(N)
    table = {"day": days, "city": pyarrow.array(CITY).dictionary_encode(), "age": pyarrow.array(AGE, mask=AGE > 85),
             "income": INCOME, "smokes": SMOKES == "yes", "y": SCORE}  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.table(table), "people.parquet")
    assert run("train", "people.parquet", "--model", "m", "-q", "--test-size", "0.2") == 0
    assert type(fenchel.load("m").loss).__name__ == "Squared"
    assert run("verify", "m", "people.parquet") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out
    assert run("train", "people.parquet", "--delimiter", ",", "--model", "m") == 1
    assert "is a Parquet file" in one_line(capsys)


def test_a_report_says_first_what_is_predicted_and_how_well(files, capsys):
    from pages import Page

    assert (
        run("train", "people.csv", *ROLES, "--test-size", "0.25", "--model", "m", "--report", "r.html", "-q", "--json")
        == 0
    )
    test = json.loads(capsys.readouterr().out)["test"]
    page = Page((files / "r.html").read_text(encoding="utf-8"))
    places = [found.get("id") for tag, found in page.elements if tag == "section"]
    assert places == ["evaluation", "weights", "columns", "certificate", "convergence", "problem", "repeat"]
    assert "Predicts risk: bad or good" in page.text and "favours bad | good" in page.text
    assert page.data["evaluation"][0]["Accuracy"][0] == pytest.approx(test["metrics"]["accuracy"]["value"])
    words = [
        "--target",
        "claims",
        "--loss",
        "poisson",
        "--offset",
        "log(exposure)",
        "--drop",
        "risk",
        "--id",
        "customer",
    ]
    assert run("train", "people.csv", *words, "--model", "m", "--report", "r.html", "-q") == 0
    from sklearn.metrics import mean_poisson_deviance

    rows = {name: [cells(k)[j] for k in range(N)] for j, name in enumerate(HEADER)}
    expected = mean_poisson_deviance(CLAIMS, fenchel.load("m").predict(rows))
    page = Page((files / "r.html").read_text(encoding="utf-8"))
    assert page.data["evaluation"][0]["Mean Poisson deviance"][0] == pytest.approx(expected)
    assert "These are the training rows" in page.text


def test_compare_says_how_good_each_model_is(files, capsys):
    words = [*ROLES, "--test-size", "0.25", "--repeat", "1", "-q"]
    assert run("compare", "people.csv", *words, "--loss", "logistic,squared_hinge", "--json") == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    for one in runs:
        assert (
            run(
                "train",
                "people.csv",
                *ROLES,
                "--test-size",
                "0.25",
                "--loss",
                one["loss"],
                "--model",
                "m",
                "-q",
                "--json",
            )
            == 0
        )
        test = json.loads(capsys.readouterr().out)["test"]
        assert one["quality"] == {"metric": "accuracy", "value": test["metrics"]["accuracy"]["value"]}
    assert run("compare", "people.csv", *words) == 0
    shown = capsys.readouterr().out
    assert "quality on held-out rows" in shown and "accuracy 0." in shown


def test_rules_of_one_model_are_not_used_for_another(files, capsys):
    for name, more in (("a", []), ("b", ["--kind", "age=category"]), ("c", ["--seed", "1"])):
        assert run("train", "people.csv", *ROLES, "--test-size", "0.2", *more, "--model", name, "-q") == 0
    capsys.readouterr()
    for other in ("b", "c"):  # other features; the same features with other means
        assert run("report", "a", other, "--data", "people.csv", "-o", "r.html") == 1
        assert "write one page for each" in capsys.readouterr().err
    assert run("evaluate", "a", "people.csv", "--resamples", "0") == 0
    assert "most rows are training rows" in capsys.readouterr().err
    assert run("export", "a", "--format", "json", "-o", "a.json") == 0
    assert "not the columns of its table" in capsys.readouterr().err


def test_a_table_may_come_compressed_or_from_standard_input(files, capsys, monkeypatch):
    import gzip
    import io
    import sys

    content = (files / "people.csv").read_bytes()
    (files / "people.csv.gz").write_bytes(gzip.compress(content))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    for name, words in (("a", ["people.csv"]), ("b", ["people.csv.gz"]), ("c", ["-", "--format", "csv"])):
        assert run("train", *words, *ROLES, "--model", name, "-q") == 0
    assert (files / "a").read_bytes() == (files / "b").read_bytes() == (files / "c").read_bytes()


def test_measures_and_novelty_take_tables_without_a_free_intercept(files, capsys):
    for words in (["--measure", "roc_area"], ["--loss", "novelty"]):
        assert run("train", "people.csv", *ROLES, *words, "--model", "m", "-q") == 0
        assert not fenchel.load("m").fit_intercept
        assert run("verify", "m", "people.csv") == 0
        assert "data and problem are those of the model" in capsys.readouterr().out


def test_as_is_is_the_table_itself(files, capsys):
    write(
        "numbers.csv",
        [[str(a), str(b), str(c)] for a, b, c in zip(AGE, INCOME, RISK, strict=True)],
        ["a", "b", "y"],
        ",",
    )
    assert run("train", "numbers.csv", "--as-is", "--alpha", "0.1", "--model", "m", "-q") == 0
    model = fenchel.load("m")
    assert model.preparation is None and not model.fit_intercept and type(model.loss).__name__ == "Hinge"
    problem = fenchel.Problem(np.column_stack([AGE, INCOME]), np.where(RISK == "good", 1, -1), alpha=0.1)
    assert fenchel.certify(problem, model.coef, 0.0, model.dual_points).holds(1e-6)
    assert run("train", "people.csv", "--as-is", "--model", "m") == 1


@pytest.mark.parametrize(
    ("values", "loss"),
    [(["a", "b"], "logistic"), (["a", "b", "c"], "softmax"), (["0", "1"], "logistic"), (["1", "2", "3"], "softmax"),
     (["0,5", "1,5", "2"], "squared"), ([str(k) for k in range(12)], "squared"), (["01", "02", "03"], "softmax")],
)  # fmt: skip
def test_the_target_decides_the_loss(values, loss):
    y, words = target_of(text_column(values * 40), False)
    assert likely_loss(Rows(None, y, words=words)) == loss


def test_a_model_of_a_table_with_many_levels_is_sparse_and_verified(files, capsys):
    rows = [[f"zone {k % 61}", f"shop {k % 37}", str(AGE[k % N]), RISK[k % N]] for k in range(1200)]
    write("wide.csv", rows, ["zone", "shop", "age", "risk"], ",")
    assert run("train", "wide.csv", "--model", "m", "-q") == 0
    model = fenchel.load("m")
    assert model.preparation.sparse and model.d == 61 + 37 + 1
    assert run("verify", "m", "wide.csv") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out


# ---- real data


def _score(capsys, model: str, path: str) -> dict[str, float]:
    assert run("evaluate", model, path, "--json", "--resamples", "0") == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    return {name: one["value"] for name, one in metrics.items()}


def _halves(path, header, rows, share=0.75):
    """A training and a test file of shuffled rows; the indices of each."""
    order = np.random.default_rng(0).permutation(len(rows))
    cut = int(share * len(rows))
    for name, part in ((f"{path}-train.csv", order[:cut]), (f"{path}-test.csv", order[cut:])):
        write(name, [rows[k] for k in part], header, ";")
    return order[:cut], order[cut:]


def _whole_way(capsys, name, target, options, unseen):
    """Train, verify, report, predict with a level that is not in training; returns the scores on the test file."""
    words = ["--target", target, "--model", f"{name}.m", "--report", f"{name}.html", "-q", *options]
    assert run("train", f"{name}-train.csv", *words) == 0
    assert run("verify", f"{name}.m", f"{name}-train.csv") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out
    with open(f"{name}-test.csv") as file:
        header, first, *_ = csv.reader(file, delimiter=";")
    column, level = unseen
    write("new.csv", [[level if n == column else c for n, c in zip(header, first, strict=True)]], header)
    assert run("predict", f"{name}.m", "new.csv", "-o", "new.out", "--quiet") == 0
    assert "was not in training" in capsys.readouterr().err
    return _score(capsys, f"{name}.m", f"{name}-test.csv")


def _pipeline(numbers, names, model):
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    prepared = ColumnTransformer(
        [("numbers", scaled, numbers), ("names", OneHotEncoder(handle_unknown="ignore"), names)]
    )
    return make_pipeline(prepared, model)


@pytest.mark.data
def test_claims_with_exposure(data_folder, tmp_path, monkeypatch, capsys):
    pandas = pytest.importorskip("pandas")
    from sklearn.linear_model import PoissonRegressor
    from sklearn.metrics import mean_poisson_deviance

    monkeypatch.chdir(tmp_path)
    z = np.load(data_folder / "regression" / "dataCar.npz")
    levels = json.loads(str(z["cats"]))
    n = 24_000
    frame = pandas.DataFrame(
        {name: z[name][:n] for name in ("veh_value", "exposure", "veh_age", "agecat", "numclaims")}
    )
    for name in ("veh_body", "gender", "area"):
        frame[name] = np.array(levels[name])[z[name][:n].astype(int)]
    gone = np.random.default_rng(1).random(n) < 0.03
    rows = [
        [f"P{k:06}", german(1000 * r.veh_value), str(r.exposure), "?" if gone[k] else f"{r.veh_age:.0f}", f"{r.agecat:.0f}",
         r.veh_body, r.gender, r.area, "AU", f"{r.numclaims:.0f}"] for k, r in enumerate(frame.itertuples())
    ]  # fmt: skip
    header = ["policy", "value", "exposure", "veh_age", "agecat", "body", "gender", "area", "country", "claims"]
    train, test = _halves("claims", header, rows)
    options = ["--loss", "poisson", "--offset", "log(exposure)", "--id", "policy"]
    ours = _whole_way(capsys, "claims", "claims", options, ("body", "TRAM"))
    frame.loc[gone, "veh_age"] = np.nan
    other = _pipeline(["veh_value", "veh_age", "agecat"], ["veh_body", "gender", "area"], PoissonRegressor(alpha=1e-4))
    part, rest = frame.iloc[train], frame.iloc[test]
    other.fit(part, part.numclaims / part.exposure, poissonregressor__sample_weight=part.exposure)
    theirs = mean_poisson_deviance(rest.numclaims, other.predict(rest) * rest.exposure)
    assert ours["poisson_deviance"] <= 1.001 * theirs


@pytest.mark.data
def test_bikes_by_hour(data_folder, tmp_path, monkeypatch, capsys):
    pandas = pytest.importorskip("pandas")
    from sklearn.linear_model import Ridge

    monkeypatch.chdir(tmp_path)
    z = np.load(data_folder / "regression" / "bike_hour.npz")
    frame = pandas.DataFrame(z["X"], columns=[str(name) for name in z["names"]])
    day = np.cumsum(np.diff(frame.weekday, prepend=6) != 0)
    assert day[-1] == 730  # two years without a gap
    when = np.datetime64("2011-01-01T00") + day.astype("timedelta64[D]") + frame.hr.to_numpy().astype("timedelta64[h]")
    assert ((when.astype("datetime64[M]").astype(int) % 12 + 1) == frame.mnth).all()
    season = np.array(["", "winter", "spring", "summer", "fall"])[frame.season.astype(int)]
    weather = np.array(["", "clear", "mist", "rain", "storm"])[frame.weathersit.astype(int)]
    rows = [
        [str(k), str(w).replace("T", " ") + ":00", season[k], weather[k], "yes" if frame.holiday[k] else "no",
         german(100 * frame.temp[k]), german(100 * frame.hum[k]), german(100 * frame.windspeed[k]), f"{z['y'][k]:,}"]
        for k, w in enumerate(when)
    ]  # fmt: skip
    header = ["instant", "when", "season", "weather", "holiday", "temp", "humidity", "wind", "rides"]
    train, test = _halves("bikes", header, rows)
    ours = _whole_way(capsys, "bikes", "rides", [], ("weather", "hail"))
    other = _pipeline(["yr", "temp", "hum", "windspeed"], ["season", "mnth", "hr", "weekday", "weathersit", "holiday"],
                      Ridge(alpha=1e-4 * len(train)))  # fmt: skip
    other.fit(frame.iloc[train], z["y"][train])
    assert ours["r2"] >= other.score(frame.iloc[test], z["y"][test]) - 1e-3


@pytest.mark.data
def test_mushrooms_with_letters_and_a_parquet_file(data_folder, tmp_path, monkeypatch, capsys):
    import lzma

    import pyarrow
    import pyarrow.parquet

    pandas = pytest.importorskip("pandas")
    from sklearn.linear_model import LogisticRegression, Ridge

    from fenchel.readers.svmlight.read import read_svmlight

    monkeypatch.chdir(tmp_path)
    with lzma.open(data_folder / "binary" / "mushroom_onehot.svm.xz") as file:
        data = read_svmlight(file)
    places = data.X.indices.reshape(data.X.shape[0], 22)
    names = [f"part {j}" for j in range(22)]
    frame = pandas.DataFrame(
        {name: [chr(97 + v) for v in col - col.min()] for name, col in zip(names, places.T, strict=True)}
    )
    frame["part 10"] = frame["part 10"].replace({frame["part 10"].iloc[0]: "?"})
    label = np.where(data.y > 0, "poisonous", "edible")
    rows = [[*row, kind] for row, kind in zip(frame.to_numpy().tolist(), label, strict=True)]
    train, test = _halves("mushrooms", [*names, "kind"], rows)
    ours = _whole_way(capsys, "mushrooms", "kind", ["--positive", "poisonous"], ("part 4", "ω"))
    other = _pipeline([], names, LogisticRegression(C=1.0 / (1e-4 * len(train)), max_iter=1000))
    other.fit(frame.iloc[train], label[train])
    assert ours["accuracy"] >= other.score(frame.iloc[test], label[test])

    z = np.load(data_folder / "regression" / "abalone.npz")
    shells = pandas.DataFrame(z["X"][:, 1:], columns=[str(name) for name in z["names"][1:8]])
    shells.insert(0, "sex", np.array(["F", "I", "M"])[z["X"][:, 0].astype(int)])
    shells["rings"] = z["y"]
    order = np.random.default_rng(2).permutation(len(shells))
    part, rest = shells.iloc[order[:3000]], shells.iloc[order[3000:]]
    for name, some in (("train", part), ("test", rest)):
        pyarrow.parquet.write_table(pyarrow.Table.from_pandas(some, preserve_index=False), f"{name}.parquet")
    assert run("train", "train.parquet", "--loss", "squared", "--model", "a.m", "--report", "a.html", "-q") == 0
    assert run("verify", "a.m", "train.parquet") == 0
    capsys.readouterr()
    other = _pipeline(list(shells.columns[1:8]), ["sex"], Ridge(alpha=1e-4 * 3000)).fit(part, part.rings)
    assert _score(capsys, "a.m", "test.parquet")["r2"] >= other.score(rest, rest.rings) - 1e-3
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(rest.assign(sex="X")), "new.parquet")
    assert run("predict", "a.m", "new.parquet", "-o", "out", "--quiet") == 0
    assert "was not in training" in capsys.readouterr().err
