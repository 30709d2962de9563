"""Tables, standard input and words as labels at the command line; cells that a spreadsheet would run."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fenchel
from cli_case import GRADES, NAMES, QID, REAL, THREE, TWO, WORDS, X, csv_text, one_line
from cli_case import run_as_is as run
from fenchel.readers.svmlight.write import write_svmlight
from fenchel.readers.table.csv_text import csv_line, guarded, unguarded
from fenchel.readers.table.read import Table

pytest.importorskip("pyarrow")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trees.csv").write_text(csv_text(WORDS))
    (tmp_path / "two.csv").write_text(csv_text(TWO, target="y"))
    (tmp_path / "real.tsv").write_text(csv_text(REAL, "\t", target="y"))
    return tmp_path


def standard_input(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_words_are_labels_all_the_way(files, capsys):
    assert run("train", "trees.csv", "--loss", "softmax", "--alpha", "0.01", "--model", "m") == 0
    assert "labels   ash, oak, yew" in capsys.readouterr().out
    model = fenchel.load("m")
    assert model.labels == ("ash", "oak", "yew")
    assert model.feature_names == tuple(NAMES)
    problem = fenchel.Problem(X, THREE, "softmax", alpha=0.01)
    assert fenchel.certify(problem, model.coef, model.intercept, model.dual_points).holds(1e-6)
    assert run("verify", "m", "trees.csv") == 0
    assert "data and problem are those of the model" in capsys.readouterr().out
    assert run("predict", "m", "trees.csv", "--target", "kind") == 0
    shown = capsys.readouterr()
    assert shown.out.split() == model.predict(X).tolist()
    assert f"{(model.predict(X) == WORDS).sum()} of 60" in shown.err
    assert run("evaluate", "m", "trees.csv", "--json", "--resamples", "0") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["accuracy"]["value"] == (model.predict(X) == WORDS).mean()


def test_one_against_the_rest_and_folders_keep_the_words(files, capsys):
    assert run("convert", "trees.csv", "rows") == 0
    for data in ("trees.csv", "rows"):
        assert run("train", data, "--alpha", "0.1", "--model", "m", "--json") == 0
        found = json.loads(capsys.readouterr().out.split("\n")[-2])
        assert found["labels"] == ["ash", "oak", "yew"]
        model = fenchel.load("m")
        for k in range(3):
            problem = fenchel.Problem(X, np.where(k == THREE, 1, -1), alpha=0.1)
            assert fenchel.certify(problem, model.coef[k]).holds(1e-6)
        for other in ("trees.csv", "rows"):
            assert run("verify", "m", other, "--json") == 0
            assert all(fit["same_digest"] for fit in json.loads(capsys.readouterr().out)["fits"])
            assert run("predict", "m", other, "--quiet") == 0
            assert capsys.readouterr().out.split() == model.predict(X).tolist()


def test_columns_may_come_in_any_order_and_with_others(files, capsys):
    assert run("train", "trees.csv", "--alpha", "0.1", "--model", "m", "--quiet") == 0
    capsys.readouterr()
    order = [2, 0, 3, 1]
    text = csv_text(WORDS, columns=[NAMES[j] for j in order], rows=X[:, order])
    lines = text.strip().split("\n")
    (files / "turned.csv").write_text(
        "\n".join(["id," + lines[0], *(f"no {k},{r}" for k, r in enumerate(lines[1:])), ""])
    )
    model = fenchel.load("m")
    assert run("predict", "m", "turned.csv", "--quiet") == 0
    assert capsys.readouterr().out.split() == model.predict(X).tolist()
    assert run("verify", "m", "turned.csv", "--target", "kind") == 0
    for command in ("verify", "evaluate"):  # the model knows what it predicts
        assert run(command, "m", "turned.csv") == 0
    capsys.readouterr()
    (files / "renamed.csv").write_text((files / "turned.csv").read_text().replace("kind", "sort", 1))
    assert run("evaluate", "m", "renamed.csv") == 1
    assert "the columns id, sort in addition to the features: name the" in one_line(capsys)
    (files / "bare.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in csv_text(WORDS).split("\n")))
    assert run("predict", "m", "bare.csv") == 0
    assert capsys.readouterr().out.split() == model.predict(X).tolist()
    assert run("evaluate", "m", "bare.csv") == 1
    assert "in addition to the features" in one_line(capsys)


def test_every_form_of_a_table_is_the_same_table(files, capsys, monkeypatch):
    import pandas

    (files / "t.csv.gz").write_bytes(gzip.compress(csv_text(WORDS).encode()))
    pandas.read_csv("trees.csv").to_parquet("t.parquet")
    pandas.read_csv("trees.csv").astype({"kind": "category"}).to_parquet("c.parquet")
    (files / "t.tsv").write_text(csv_text(WORDS, "\t"))
    written = []
    for data in ("trees.csv", "t.csv.gz", "t.parquet", "c.parquet", "t.tsv"):
        assert run("train", data, "--alpha", "0.1", "--model", "m") == 0
        written.append((files / "m").read_bytes())
    for content, form in ((csv_text(WORDS).encode(), "csv"), ((files / "t.parquet").read_bytes(), "parquet"),
                          (gzip.compress(csv_text(WORDS, "\t").encode()), "tsv")):  # fmt: skip
        standard_input(monkeypatch, content)
        assert run("train", "-", "--format", form, "--alpha", "0.1", "--model", "m") == 0
        written.append((files / "m").read_bytes())
        for command in ("predict", "verify", "evaluate"):
            standard_input(monkeypatch, content)
            assert run(command, "m", "-", "--format", form, *(["--quiet"] if command == "predict" else [])) == 0
    assert len(set(written)) == 1


def test_svmlight_from_standard_input(files, monkeypatch, capsys):
    write_svmlight("two", X, TWO)
    content = (files / "two").read_bytes()
    standard_input(monkeypatch, content)
    assert run("train", "-", "--alpha", "0.1", "--model", "m") == 0
    for command in ("predict", "verify", "evaluate"):
        standard_input(monkeypatch, content)
        assert run(command, "m", "-") == 0


def test_numbers_as_targets_regression_and_queries(files, capsys):
    assert run("train", "two.csv", "--alpha", "0.1", "--model", "m") == 0
    assert fenchel.load("m").labels == (3, 7)
    assert run("train", "real.tsv", "--loss", "squared", "--alpha", "0.1", "--model", "m") == 0
    model = fenchel.load("m")
    problem = fenchel.Problem(X, REAL, loss="squared", alpha=0.1)
    assert fenchel.certify(problem, model.coef).holds(1e-6)
    lines = csv_text(GRADES).strip().split("\n")
    table = "\n".join([lines[0] + ",query", *(f"{row},{q}" for row, q in zip(lines[1:], QID, strict=True)), ""])
    (files / "ranked.csv").write_text(table)
    words = ["ranked.csv", "--target", "kind", "--group", "query"]
    assert run("train", *words, "--measure", "ndcg", "--alpha", "0.1", "--model", "m") == 0
    assert fenchel.load("m").feature_names == tuple(NAMES)
    assert run("verify", "m", *words) == 0
    assert run("evaluate", "m", *words, "--resamples", "5") == 0
    capsys.readouterr()
    assert run("train", "ranked.csv", "--target", "kind", "--measure", "ndcg", "--model", "m") == 1
    assert "--group" in one_line(capsys)


def test_a_label_that_looks_like_a_number_stays_a_word_among_words(files):
    targets = np.where(TWO == 7, "1", "x")
    (files / "mixed.csv").write_text(csv_text(targets))
    assert run("train", "mixed.csv", "--alpha", "0.1", "--model", "m") == 0
    assert fenchel.load("m").labels == ("1", "x")
    (files / "ones.csv").write_text(csv_text(targets[TWO == 7], rows=X[TWO == 7]))
    assert run("evaluate", "m", "ones.csv", "--resamples", "0") == 0


def test_columns_are_left_out_in_every_command_that_makes_something_of_them(files, capsys):
    lines = csv_text(WORDS).strip().split("\n")
    table = [f"plot,day,{lines[0]}", *(f'"a, {k}",2024-01-{k % 28 + 1:02},{row}' for k, row in enumerate(lines[1:]))]
    (files / "more.csv").write_text("\n".join(table) + "\n")
    out = ["--drop", "plot", "--drop", "day"]
    assert run("train", "trees.csv", "--alpha", "0.1", "--model", "plain") == 0
    assert run("train", "more.csv", *out, "--alpha", "0.1", "--model", "m") == 0
    left, plain = fenchel.load("m"), fenchel.load("plain")
    assert (left.dropped, plain.dropped) == (("plot", "day"), ()) and left.target == plain.target == "kind"
    assert left.digests == plain.digests and left.coef.tobytes() == plain.coef.tobytes()
    assert run("convert", "more.csv", "rows", *out) == 0
    assert run("train", "rows", "--alpha", "0.1", "--model", "r") == 0
    assert fenchel.load("r").digests == fenchel.load("plain").digests
    assert run("path", "more.csv", *out, "--alphas", "1", "--folds", "2", "--model", "p", "-q") == 0
    assert fenchel.load("p").feature_names == tuple(NAMES)
    assert run("compare", "more.csv", *out, "--repeat", "1") == 0
    for command in ("predict", "evaluate", "verify"):  # a model knows its columns
        assert run(command, "m", "more.csv", "--target", "kind") == 0


FAILURES = {
    "no column": (["train", "trees.csv", "--target", "sort", "--model", "x"], "no column 'sort'; its columns are length"),
    "no group": (["train", "trees.csv", "--group", "q", "--model", "x"], "no column 'q'"),
    "words as numbers": (["train", "trees.csv", "--loss", "squared", "--model", "x"], "Squared needs numbers"),
    "words as features": (["train", "trees.csv", "--target", "age", "--model", "x"], "column 'kind' holds string, not num"),
    "one bad cell": (["train", "cell.csv", "--model", "x"], "column 'a' holds string, not numbers (row 1: '2..5')"),
    "not text": (["train", "latin.csv", "--model", "x"], "latin.csv is not UTF-8 text"),
    "broken parquet": (["train", "cut.parquet", "--model", "x"], "cut.parquet cannot be read"),
    "one word": (["train", "same.csv", "--model", "x"], "only one label ('oak')"),
    "missing": (["train", "holes.csv", "--model", "x"], "column 'width' is missing or not finite in row 1"),
    "missing target": (["train", "gaps.csv", "--loss", "squared", "--model", "x"], "column 'y' is missing"),
    "twice": (["train", "twice.csv", "--model", "x"], "several columns with the name 'a'"),
    "ragged": (["train", "ragged.csv", "--model", "x"], "ragged.csv cannot be read"),
    "empty": (["train", "empty.csv", "--model", "x"], "empty.csv"),
    "header only": (["train", "header.csv", "--model", "x"], "no row"),
    "no file": (["train", "none.csv", "--model", "x"], "none.csv: No such file"),
    "damaged": (["train", "cut.csv.gz", "--model", "x"], "the gzip data are damaged or truncated"),
    "target of svmlight": (["train", "two", "--target", "y", "--model", "x"], "is read as svmlight text: see --format"),
    "index base of a table": (["train", "trees.csv", "--index-base", "1", "--model", "x"], "are for svmlight text"),
    "ordered words": (["train", "trees.csv", "--measure", "ordinal", "--model", "x"], "Ordinal needs numbers in their order"),
    "half queries": (["train", "half.csv", "--target", "y", "--group", "q", "--measure", "mrr", "--model", "x"], "integers"),
    "no header": (["train", "bald.csv", "--model", "x"], "looks like a row: put a line with the names"),
    "no header, words": (["train", "wordy.csv", "--model", "x"], "looks like a row: put a line with the names"),
    "target not last": (["train", "first.csv", "--model", "x"], "name it with --target (now the target is 'a')"),
    "text to leave out": (["train", "first.csv", "--target", "a", "--model", "x"], "or exclude it (--drop)\n"),
    "dropped, unknown": (["train", "trees.csv", "--drop", "sort", "--model", "x"], "no column 'sort'; its columns are"),
    "dropped target": (["train", "trees.csv", "--drop", "kind", "--target", "kind", "--model", "x"], "cannot be the target"),
    "drop of svmlight": (["train", "two", "--drop", "y", "--model", "x"], "is read as svmlight text: see --format"),
    "target of a folder": (["train", "rows", "--target", "y", "--model", "x"], "but rows is a folder of rows"),
    "other table": (["verify", "m", "first.csv"], "no column 'length', which the model has as a feature"),
    "label lacking": (["verify", "joint", "fewer.csv"], "no row with the label 'yew': the model was fitted to other rows"),
    "semicolons": (["train", "semi.csv", "--model", "x"], "are its columns separated by something else?"),
    "other columns": (["predict", "m", "twice.csv"], "several columns with the name"),
    "fewer columns": (["predict", "m", "holes.csv"], "no column 'height', which the model has as a feature"),
    "strange word, verified": (["verify", "m", "strange.csv"], "row 2 has the label 'elm'"),
    "numbers for words": (["evaluate", "m", "two"], "has numbers as labels, but the model has words"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_failures_name_the_place(case, files, capsys):
    assert run("train", "trees.csv", "--alpha", "0.1", "--model", "m") == 0
    capsys.readouterr()
    write_svmlight("two", X, TWO)
    (files / "cell.csv").write_text("a,y\n1.5,1\n2..5,-1\n3,1\n")
    (files / "latin.csv").write_bytes("größe,y\n1,2\n".encode("latin-1"))
    (files / "cut.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    (files / "same.csv").write_text(csv_text(["oak"] * 60))
    (files / "holes.csv").write_text("length,width,kind\n1,2,a\n1,,b\n3,4,a\n")
    (files / "gaps.csv").write_text("a,y\n1,2\n1,\n3,4\n")
    (files / "twice.csv").write_text("a,a,b\n1,2,3\n")
    (files / "bald.csv").write_text("1.5,2,3\n2.5,3,4\n")
    (files / "wordy.csv").write_text("1.5,2,oak\n2.5,3,ash\n")
    (files / "first.csv").write_text("kind,b,a\noak,1,2\nash,3,4\n")
    (files / "fewer.csv").write_text(csv_text(WORDS[WORDS != "yew"], rows=X[WORDS != "yew"]))
    if case == "label lacking":
        assert run("train", "trees.csv", "--loss", "softmax", "--alpha", "0.1", "--model", "joint") == 0
    if case == "target of a folder":
        assert run("convert", "trees.csv", "rows") == 0
    capsys.readouterr()
    (files / "semi.csv").write_text("a;b\n1;2\n")
    (files / "ragged.csv").write_text("a,b\n1,2,3\n")
    (files / "empty.csv").write_text("")
    (files / "header.csv").write_text("a,b\n")
    (files / "half.csv").write_text("a,q,y\n1,0.5,1\n2,1,0\n")
    (files / "cut.csv.gz").write_bytes(gzip.compress(csv_text(WORDS).encode())[:-20])
    (files / "strange.csv").write_text(csv_text(["ash", "elm", *WORDS[2:]]))
    words, message = FAILURES[case]
    assert run(*words) == 1
    assert message in one_line(capsys)
    assert not (files / "x").exists()


# promise: CSV injection payloads are neutralised, and our reader gives them back


PAYLOADS = [
    "=cmd|' /C calc'!A0", "+1+cmd", "-2+3+cmd", "@SUM(1+9)", "\t=1", "\r=1", "\n=1", "'=quoted", "''=twice", " =blank",
    "＝wide", "a;=b", 'say "=1"', "=HYPERLINK(\"http://x\",\"y\")", "-", "+", "@", "=",
]  # fmt: skip
STARTS = tuple("=+-@\t\r\n＝＋－＠")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_as_labels_and_features_are_written_harmless_and_read_back(payload, files, capsys):
    labels = np.where(TWO == 7, payload, "zz")
    (files / "evil.csv").write_text(
        csv_line([*NAMES[:3], payload, "kind"])
        + "".join(csv_line([*row, label]) for row, label in zip(X.tolist(), labels.tolist(), strict=True)), newline=""
    )  # fmt: skip
    assert run("train", "evil.csv", "--target", "kind", "--loss", "logistic", "--alpha", "0.1", "--model", "m") == 0
    model = fenchel.load("m")
    assert model.labels == tuple(sorted((payload, "zz")))
    assert model.feature_names == (*NAMES[:3], payload)
    for words in ([], ["--proba"], ["--top-k", "2"]):
        assert run("predict", "m", "evil.csv", *words, "-o", "out.csv", "--quiet") == 0
        with open("out.csv", newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(STARTS) and not _is_number(cell)]
    assert run("predict", "m", "evil.csv", "-o", "out.csv") == 0
    with open("out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["prediction"]
    assert [unguarded(row[0]) for row in rows[1:]] == model.predict(X).tolist()
    capsys.readouterr()
    assert run("predict", "m", "evil.csv") == 0
    shown = capsys.readouterr()
    assert all(c.isprintable() or c == "\n" for c in shown.out + shown.err)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_any_text_survives_our_writer_and_reader(words):
    for word in words:
        assert unguarded(guarded(word)) == word
        shown = guarded(word)
        assert _is_number(shown) or not shown.lstrip(" ").startswith(STARTS)
    content = csv_line(["a", "t"]) + "".join(csv_line([1.0, word]) for word in [*words, "x"])
    table = Table(content.encode(), "csv", as_words=True)
    assert table.labels == sorted({*words, "x"})


def test_csv_on_a_terminal_has_no_control_characters(files, capsys, monkeypatch):
    (files / "red.csv").write_text(csv_text(np.where(TWO == 7, "\x1b[31mred", "blue")))
    assert run("train", "red.csv", "--alpha", "0.1", "--model", "m") == 0
    assert "\\x1b[31mred" in capsys.readouterr().out
    assert run("predict", "m", "red.csv", "--csv") == 0
    assert "\x1b[31mred" in capsys.readouterr().out  # a pipe gets what there is
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    for words in (["predict", "m", "red.csv", "--csv"], ["predict", "m", "red.csv"], ["evaluate", "m", "red.csv"],
                  ["verify", "m", "red.csv"], ["path", "red.csv", "--alphas", "1", "--folds", "2", "--model", "p", "-q"],
                  ["export", "m", "--format", "json"]):  # fmt: skip
        assert run(*words) == 0
        shown = capsys.readouterr()
        assert all(c.isprintable() or c == "\n" for c in shown.out + shown.err), words


def test_columns_that_are_only_counted_are_names(files):
    (files / "counted.csv").write_text(csv_text(TWO, columns=["0", "1", "2", "3"], target="4"))
    assert run("train", "counted.csv", "--alpha", "0.1", "--model", "m") == 0
    assert fenchel.load("m").feature_names == ("0", "1", "2", "3")


def test_whole_numbers_may_be_followed_by_others_in_later_blocks():
    text = "a,b,t\n" + "1,,0\n" * 200_000 + "1.5,2,x\n"
    with pytest.raises(fenchel.errors.InputError, match="column 'b' is missing"):
        next(Table(text.encode(), "csv").blocks())
    table = Table(text.replace(",,", ",3,").encode(), "csv")
    assert table.labels == ["0", "x"]
    parts = list(table.blocks())
    assert len(parts) > 1
    assert parts[-1].X[-1].tolist() == [1.5, 2.0]


def test_a_text_without_its_last_newline_may_have_been_cut_off(files, capsys, monkeypatch):
    whole = csv_text(TWO)
    (files / "cut.csv").write_text(whole[:-1])
    assert run("train", "cut.csv", "--alpha", "0.1", "--model", "m") == 0
    assert "cut.csv: the last line has no newline" in capsys.readouterr().err
    standard_input(monkeypatch, whole[:-1].encode())
    assert run("train", "-", "--format", "csv", "--alpha", "0.1", "--model", "m") == 0
    assert capsys.readouterr().err.count("no newline") == 1
    (files / "cut.csv.gz").write_bytes(gzip.compress(whole[:-1].encode()))
    for data in ("two.csv", "cut.csv.gz"):
        assert run("train", data, "--alpha", "0.1", "--model", "m") == 0
        assert capsys.readouterr().err == ""


def test_a_small_file_that_claims_to_be_a_huge_table_is_refused(files, capsys):
    import pyarrow
    import pyarrow.parquet

    column = pyarrow.array(np.zeros(2_000_000))
    pyarrow.parquet.write_table(pyarrow.table({"a": column, "y": column}), "bomb.parquet", compression="gzip")
    assert (files / "bomb.parquet").stat().st_size < 100_000
    assert run("train", "bomb.parquet", "--model", "x") == 1
    assert "more than 200 times its size" in one_line(capsys)


def test_without_pyarrow_the_remedy_is_named(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run("train", "trees.csv", "--model", "m") == 1
    assert "pip install 'fenchel[tables]'" in one_line(capsys)


def test_models_without_names_take_columns_by_place(files, capsys):
    write_svmlight("two", X, TWO)
    assert run("train", "two", "--alpha", "0.1", "--model", "m") == 0
    model = fenchel.load("m")
    capsys.readouterr()
    bare = "\n".join(line.rsplit(",", 1)[0] for line in csv_text(TWO).split("\n"))
    (files / "bare.csv").write_text(bare)
    for data in ("two.csv", "bare.csv"):
        assert run("predict", "m", data, "--quiet") == 0
        assert capsys.readouterr().out.split() == [str(label) for label in model.predict(X)]
    assert run("verify", "m", "two.csv") == 0
    assert run("evaluate", "m", "two.csv", "--resamples", "0") == 0
    capsys.readouterr()
    assert run("evaluate", "m", "bare.csv") == 1
    assert "no target column" in one_line(capsys)
    (files / "narrow.csv").write_text("a,b\n1,2\n")
    assert run("predict", "m", "narrow.csv") == 1
    assert "has 2 features, but the model m has 4" in one_line(capsys)


def test_json_and_csv_of_predictions(files, capsys):
    assert run("train", "trees.csv", "--loss", "softmax", "--alpha", "0.1", "--model", "m") == 0
    model = fenchel.load("m")
    capsys.readouterr()
    assert run("predict", "m", "trees.csv", "--json", "--quiet") == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"labels": ["ash", "oak", "yew"], "columns": None, "predictions": model.predict(X).tolist()}
    assert run("predict", "m", "trees.csv", "--json", "--proba", "-o", "p.json", "--quiet") == 0
    found = json.loads((files / "p.json").read_text())
    assert found["columns"] == ["ash", "oak", "yew"]
    assert found["predictions"] == model.probabilities(X).tolist()
    assert run("predict", "m", "trees.csv", "--csv", "--scores", "--quiet") == 0
    rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == ["ash", "oak", "yew"]
    assert np.array_equal(np.array(rows[1:], dtype=float), model.label_scores(X))
    assert run("predict", "m", "trees.csv", "--csv", "--top-k", "2", "--quiet") == 0
    assert capsys.readouterr().out.split("\n")[0] == '"label 1","label 2"'
