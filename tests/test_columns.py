"""Sequences as they come in: column files, feature templates, named attributes; and the metrics of what goes out."""

import bz2
import gzip
import io
import itertools
import lzma
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics import accuracy_score, f1_score

from fenchel import metrics
from fenchel.errors import InputError, ReadError
from fenchel.readers.columns import read_columns
from fenchel.sequences.attributes import Attributes
from fenchel.sequences.templates import Templates, default_templates

SENTENCES = [[["the", "DT", "B"], ["dog", "NN", "I"]], [["it\u00a0is", "PRP", "B"]], [["#", "#", "O"], ["é", "X", "O"]]]


def written(sentences, gap=" ", end="\n", between="\n"):
    blocks = ["".join(gap.join(row) + end for row in rows) for rows in sentences]
    return (between.join(blocks)).encode()


@pytest.mark.parametrize("gap", [" ", "\t", "  \t "])
@pytest.mark.parametrize(("end", "between"), [("\n", "\n"), ("\r\n", "\r\n"), (" \n", "\n \n\n")])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_columns_come_back_as_they_were_written(gap, end, between, pack):
    text = written(SENTENCES, gap, end, between)
    for whole in (text, text.rstrip(), b"\xef\xbb\xbf" + text, b"\n\n" + text + b"\n\n"):
        data = read_columns(io.BytesIO(pack(whole)))
        assert data.sentences == SENTENCES
        assert data.labels == [[row[-1] for row in rows] for rows in SENTENCES]
        assert (data.width, data.label_column) == (3, 2)


def test_labels_are_in_any_column_or_in_none(tmp_path):
    file = tmp_path / "words.txt"
    file.write_bytes(written(SENTENCES))
    assert read_columns(file, label_column=1).labels[0] == ["DT", "NN"]
    assert read_columns(str(file), label_column=-3).label_column == 0
    without = read_columns(file, label_column=None)
    assert without.labels is None
    assert without.sentences == SENTENCES


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (b"", -1, r"words:1: .*no tokens"),
        (b"\n \n\n", -1, r"words:1: .*no tokens"),
        (b"a B\n\nb B\nc X I\n", -1, r"words:4: 3 columns, but the lines before have 2: 'c X I'"),
        (b"a B\nb\n", -1, r"words:2: 1 column, "),
        (b"a B\n\xff\xfe B\n", -1, r"words:2: .*not UTF-8"),
        (b"a\nb\n", -1, r"words:1: only one column"),
        (b"a B\n", 2, r"words:1: label_column is 2, but there are 2 columns"),
        (b"a B\n", -3, r"words:1: label_column is -3"),
        (gzip.compress(b"a B\n" * 100, mtime=0)[:-12], -1, r"words:1: the gzip data are damaged"),
        (b"PK\x03\x04 zip", -1, r"words:1:1: this is a zip file"),
    ],
)
def test_malformed_files_are_refused_with_their_place(text, column, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_bytes(text)
    with pytest.raises(ReadError, match="^" + message):
        read_columns("words", label_column=column)
    with pytest.raises(InputError, match="label_column"):
        read_columns(io.BytesIO(b"a B\n"), label_column="last")


def cell(sentence, t, row, column):
    """What CRF++ reads at a place."""
    place = t + row
    if place < 0:
        return f"_B{place}"
    return f"_B+{place - len(sentence) + 1}" if place >= len(sentence) else sentence[place][column]


def naive(line, sentence, t):
    return re.sub(r"%x\[([-+]?\d+),(\d+)\]", lambda m: cell(sentence, t, int(m[1]), int(m[2])), line)


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=2), min_size=1, max_size=5),
    places=st.lists(st.lists(st.tuples(st.integers(-6, 6), st.integers(0, 1)), max_size=3), min_size=1, max_size=4),
)
def test_templates_equal_a_substitution_per_token(words, places):
    lines = [f"U{k}:" + "/".join(f"%x[{row},{column}]" for row, column in ps) + "." for k, ps in enumerate(places)]
    found = Templates.parse("# comment\n\n" + "\n".join(lines)).apply(words)
    assert found == [[naive(line, words, t) for line in lines] for t in range(len(words))]


def test_templates_know_matches_tests_and_lower_case():
    text = 'U1:%m[0,0,".?.?$"]\nU2:%t[-1,0,"^[A-Z]"]\nU3:%X[0,0]\nU4:%M[1,0,"^."]\nU5\nB'
    templates = Templates.parse(text)
    found = templates.apply([["Big"], ["DOG"]])
    assert found[0] == ["U1:ig", "U2:_B-1", "U3:big", "U4:d", "U5"]
    assert found[1] == ["U1:OG", "U2:true", "U3:dog", "U4:_B+1", "U5"]
    assert templates.transitions
    assert not templates.edges
    assert pickle.loads(pickle.dumps(templates)) == templates


def test_templates_of_label_pairs():
    templates = Templates.parse("U0:%x[0,0]\nB1:%x[-1,0]/%x[0,0]")
    assert (templates.transitions, templates.edges) == (False, True)
    assert templates.apply_edges([["a"], ["b"], ["c"]]) == [["B1:a/b"], ["B1:b/c"]]
    assert templates.apply_edges([["a"]]) == []
    assert templates.apply([["a"], ["b"]]) == [["U0:a"], ["U0:b"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "t:1: there are no templates"),
        ("U0:%x[0,0]\nX:%x[0,0]", "t:2: a template begins with U"),
        ("U0:%x[0]", "t:1: '%x.*' is not a macro"),
        ("U0:%y[0,0]", "t:1: '%y.*' is not a macro"),
        ('\nU0:%x[0,0,"a"]', "t:2: .*%x takes a row and a column"),
        ("U0:%m[0,0]", "t:1: .*a pattern in quotes"),
        ('U0:%t[0,0,"("]', "t:1: the pattern of .* is not a regular expression"),
    ],
)
def test_wrong_templates_are_refused_with_their_line(text, message):
    with pytest.raises(ReadError, match="^" + message):
        Templates.parse(text, "t")


def test_templates_need_columns_that_are_there(tmp_path):
    file = tmp_path / "template"
    file.write_text("U0:%x[0,2]\n")
    templates = Templates.read(file)
    templates.require(3)
    with pytest.raises(InputError, match="needs column 2: columns are 0 to 1"):
        templates.require(2)
    with pytest.raises(InputError, match="which is the label"):
        templates.require(3, label_column=2)
    file.write_bytes(b"U0:\xff")
    with pytest.raises(ReadError, match="not UTF-8"):
        Templates.read(file)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_default_templates_make_different_attributes_for_every_line(width):
    sentence = [["Word-1"] * width, ["b"] * width, ["c3"] * width]
    for spelling in (None, False, True):
        templates = default_templates(width, spelling)
        templates.require(width)
        assert templates.transitions
        for token in templates.apply(sentence):
            assert len(set(token)) == len(token) == len(templates.lines) - 1
    assert len(default_templates(1).lines) > len(default_templates(1, spelling=False).lines)
    assert default_templates(2).lines == default_templates(2, spelling=False).lines
    with pytest.raises(InputError, match="at least one column"):
        default_templates(0)


def random_tokens(rng, n):
    def token():
        found = {f"n{k}": float(rng.normal()) for k in rng.integers(0, 8, 3)}
        found |= {f"s{k}": "abc"[rng.integers(3)] for k in rng.integers(0, 4, 2)}
        return found | {"flag": bool(rng.integers(2)), "int": int(rng.integers(-2, 3))}

    return [[token() for _ in range(rng.integers(1, 5))] for _ in range(n)]


def test_attributes_equal_scikit_learn():
    rng = np.random.default_rng(0)
    X, other = random_tokens(rng, 20), random_tokens(rng, 20)
    other[0][0]["unknown"], other[1][0]["s0"] = 1.0, "never seen"
    attributes, want = Attributes(), DictVectorizer(separator=":")
    rows, first = attributes.fit_transform(X)
    expected = want.fit_transform(list(itertools.chain(*X)))
    order = [want.feature_names_.index(name) for name in attributes.names]
    assert (rows != expected[:, order]).nnz == 0
    assert first.tolist() == np.cumsum([0] + [len(x) for x in X]).tolist()
    for copy in (attributes, pickle.loads(pickle.dumps(attributes)), Attributes(attributes.names), Attributes().fit(X)):
        assert copy.names == attributes.names
        rows, _ = copy.transform(other)
        assert (rows != want.transform(list(itertools.chain(*other)))[:, order]).nnz == 0
        assert rows.has_canonical_format


def test_nested_attributes_are_flattened_as_crfsuite_does():
    token = {"a": {"x": 1.5, "y": "q", "z": {"deep": True}}, "l": ["u", "v"], "s": {"k"}, "t": ("w",), b"b": b"bytes"}
    attributes = Attributes()
    rows, _ = attributes.fit_transform([[token, ["l:u", "l:u", "new"], {"l:v"}, [], {}, {"n": np.float32(2.0)}]])
    want = {"a:x": 1.5, "a:y:q": 1.0, "a:z:deep": 1.0, "l:u": 1.0, "l:v": 1.0, "s:k": 1.0, "t:w": 1.0, "b:bytes": 1.0}
    table = [dict(zip(attributes.names, row, strict=True)) for row in rows.toarray().tolist()]
    assert {name: value for name, value in table[0].items() if value} == want
    assert {name: value for name, value in table[1].items() if value} == {"l:u": 2.0, "new": 1.0}
    assert {name: value for name, value in table[2].items() if value} == {"l:v": 1.0}
    assert not any(table[3].values())
    assert not any(table[4].values())
    assert table[5]["n"] == 2.0


def test_rare_attributes_can_be_left_out():
    X = [[["a", "b"], ["a"]], [["c", "b"]]]
    attributes = Attributes(min_count=2)
    rows, _ = attributes.fit_transform(X)
    assert attributes.names == ["a", "b"]
    assert rows.toarray().tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert (attributes.transform(X)[0] != rows).nnz == 0
    with pytest.raises(InputError, match="no attributes"):
        Attributes(min_count=9).fit(X)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ({"a": np.nan}, "attribute 'a' of sequence 1, token 1 is nan: values must be finite"),
        ({"n": {"a": -np.inf}}, "attribute 'n:a' of sequence 1, token 1 is -inf"),
        ({"a": None}, "attribute 'a' of sequence 1, token 1 is None"),
        ({"a": 1j}, "attribute 'a' of sequence 1, token 1"),
        ({3: 1.0}, "sequence 1, token 1 has the attribute name 3: names must be strings"),
        (["a", 3], "sequence 1, token 1 has the attribute name 3"),
        ("abc", "sequence 1, token 1 is 'abc': expected a dictionary"),
        (7, "sequence 1, token 1 is 7: expected a dictionary"),
    ],
)
def test_wrong_attributes_are_refused_with_their_place(token, message):
    X = [[{"a": 1.0}], [{"a": 1.0}, token]]
    with pytest.raises(InputError, match=re.escape(message)):
        Attributes().fit(X)
    with pytest.raises(InputError, match=re.escape(message)):
        Attributes(["a"]).transform(X)


def conlleval(y_true, y_pred):
    """(correct, found, true) by the evaluation script's own rules: starts and ends seen from neighbouring tags."""

    def ends(before, now):
        tags = before[0] + now[0]
        return tags in ("BB", "BO", "IB", "IO") or (before[0] != "O" and before[1] != now[1])

    def starts(before, now):
        tags = before[0] + now[0]
        return tags in ("BB", "IB", "OB", "OI") or (now[0] != "O" and before[1] != now[1])

    correct = found = true = 0
    inside, last, guess_last = False, ("O", ""), ("O", "")
    rows = itertools.chain(*([*zip(a, b, strict=True), ("O", "O")] for a, b in zip(y_true, y_pred, strict=True)))
    for gold, guess in rows:
        gold, guess = ((label.partition("-")[0], label.partition("-")[2]) for label in (gold, guess))
        stop, guess_stop = ends(last, gold), ends(guess_last, guess)
        if inside:
            if stop and guess_stop and last[1] == guess_last[1]:
                inside, correct = False, correct + 1
            elif stop != guess_stop or gold[1] != guess[1]:
                inside = False
        start, guess_start = starts(last, gold), starts(guess_last, guess)
        inside = inside or (start and guess_start and gold[1] == guess[1])
        true, found = true + start, found + guess_start
        last, guess_last = gold, guess
    return correct, found, true


def test_chunks_are_counted_as_conlleval_counts_them():
    rng = np.random.default_rng(0)
    labels = ["O", "B-NP", "I-NP", "B-VP", "I-VP", "I-A-B"]
    for _ in range(50):
        sizes = rng.integers(1, 9, 6)
        y_true = [rng.choice(labels, size).tolist() for size in sizes]
        y_pred = [np.where(rng.random(len(y)) < 0.7, y, rng.choice(labels, len(y))).tolist() for y in y_true]
        correct, found, true = conlleval(y_true, y_pred)
        scores = metrics.chunk_scores(y_true, y_pred)
        assert scores[3:] == (correct, found, true)
        precision, recall = correct / max(found, 1), correct / max(true, 1)
        assert scores[:2] == pytest.approx((precision, recall))
        assert metrics.chunk_f1(y_true, y_pred) == pytest.approx(2 * precision * recall / max(precision + recall, 1e-9))


def test_the_same_chunks_in_other_alphabets():
    iob, other = (
        ["B-A", "I-A", "B-A", "O", "B-C", "B-C", "I-C", "I-C"],
        ["B-A", "E-A", "S-A", "O", "U-C", "B-C", "I-C", "L-C"],
    )
    assert metrics.chunk_f1([iob], [other]) == 1.0
    assert metrics.chunk_scores([["O", "O"]], [["O", "O"]])[:3] == (0.0, 0.0, 0.0)
    assert metrics.chunk_scores([["B", "I", "O"]], [["B", "I", "O"]]).correct == 1


def test_token_and_sequence_errors_equal_scikit_learn():
    rng = np.random.default_rng(1)
    y_true = [rng.integers(0, 2, 3) for _ in range(20)]
    y_pred = [np.where(rng.random(3) < 0.8, y, 1 - y) for y in y_true]
    assert metrics.token_error(y_true, y_pred) == pytest.approx(1 - accuracy_score(np.ravel(y_true), np.ravel(y_pred)))
    assert metrics.sequence_error(y_true, y_pred) == pytest.approx(
        1 - accuracy_score(np.array(y_true), np.array(y_pred))
    )


def test_alignment_error_rate_of_known_alignments():
    pairs = [(i, j) for i in range(4) for j in range(4)]
    rng = np.random.default_rng(2)
    sure, predicted = ([{p for p in pairs if rng.random() < 0.4} for _ in range(5)] for _ in range(2))
    flat = [[p in part for part in group for p in pairs] for group in (sure, predicted)]
    assert metrics.alignment_error_rate(sure, predicted) == pytest.approx(1 - f1_score(*flat))
    assert metrics.alignment_error_rate(sure, sure, possible=predicted) == 0.0
    assert metrics.alignment_error_rate(sure, [s | p for s, p in zip(sure, predicted, strict=True)], predicted) == 0.0
    assert metrics.alignment_error_rate([[(0, 1), (2, 0)]], [np.array([1, -1, 0])]) == 0.0
    assert metrics.alignment_error_rate([{(0, 0)}], [[]]) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.chunk_f1([["O"]], []), "1 sequences, y_pred has 0"),
        (lambda: metrics.chunk_f1([["O"], ["O", "O"]], [["O"], ["O"]]), "sequence 1 has 2 labels in y_true and 1"),
        (lambda: metrics.chunk_f1([["O", "NP"]], [["O", "O"]]), "y_true of sequence 0, token 1 is 'NP'"),
        (lambda: metrics.chunk_f1([[1]], [[2]]), "y_true of sequence 0, token 0 is 1"),
        (lambda: metrics.token_error(["a", "b"], ["a", "b"]), "sequence 0 is 'a'"),
        (lambda: metrics.token_error([1, 2], [1, 2]), "sequence 0 is 1"),
        (lambda: metrics.sequence_error([], []), "no labels"),
        (lambda: metrics.alignment_error_rate([[]], [[]]), "not defined"),
        (lambda: metrics.alignment_error_rate([[(0, 0)]], []), "1 sure, 0 predicted"),
        (lambda: metrics.alignment_error_rate([[(0, 0)]], [[(0.5, 1.0)]]), "predicted links of sentence pair 0"),
    ],
)
def test_metrics_refuse_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
