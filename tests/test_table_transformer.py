"""TableTransformer: what columns hold, features by definition, every library, plain state, models that take tables."""

from __future__ import annotations

import datetime
import json
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel import TableTransformer
from fenchel.errors import InputError, ModelFileError
from fenchel.tables.cells import dates, number
from fenchel.tables.preparation import Preparation, preparation_from_plain

N = 120
RNG = np.random.default_rng(5)
MESSY = {
    "key": [f"c-{k}" for k in range(N)],
    "serial": list(range(7, N + 7)),
    "when": [f"2011-{1 + k % 12:02}-{1 + k % 28:02} {k % 24:02}:00" for k in range(N)],
    "euros": [f"{v:.2f}".replace(".", ",") for v in RNG.normal(size=N)],
    "people": [f"{int(v):,}" if k % 17 else "?" for k, v in enumerate(RNG.integers(1, 1e7, N))],
    "colour": RNG.choice(["red", "green", "blue"], N).tolist(),
    "smokes": RNG.choice(["no", "yes"], N).tolist(),
    "country": ["Utopia"] * N,
    "age": [None if v > 2 else float(v) for v in RNG.normal(size=N)],
    "postcode": RNG.choice(["01067", "80331", "10115"], N).tolist(),
    "town": ["Ulm" if k % 2 else f"village {k % 30}" for k in range(N)],
}
LABELS = np.where(np.array(MESSY["colour"]) == "red", "oak", "ash")


def frames():
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    yield dict(MESSY)
    yield {name: np.array(values, dtype=object) for name, values in MESSY.items()}
    yield pandas.DataFrame(MESSY)
    yield pandas.DataFrame(MESSY).astype({"colour": "category", "age": "Float64"})
    yield polars.DataFrame(MESSY)
    yield polars.DataFrame(MESSY).with_columns(polars.col("colour").cast(polars.Categorical))
    yield pyarrow.table(MESSY)


def test_every_column_is_taken_for_what_it_is():
    told = {row[0]: (row[1], row[2]) for row in TableTransformer().fit(MESSY).table_}
    assert told["key"] == ("left out", f"an identifier or free text: {N} distinct values in {N} rows")
    assert told["serial"] == ("left out", f"an identifier: {N} distinct integers")
    assert told["when"] == ("date", "days, month, weekday, hour")
    assert told["euros"][0] == "number" and "decimal comma" in told["euros"][1]
    assert told["people"][0] == "number" and f"{MESSY['people'].count('?')} missing" in told["people"][1]
    assert told["colour"] == ("category", "3 levels")
    assert told["smokes"] == ("category", "no or yes")
    assert told["country"] == ("left out", "constant: Utopia")
    assert told["age"][0] == "number"
    assert told["postcode"][0] == "category"  # a leading zero: a name, not a quantity
    assert told["town"][0] == "category" and "rare" in told["town"][1]


def test_every_library_gives_the_same_bits():
    first = TableTransformer().fit(MESSY)
    expected = first.transform(MESSY)
    for table in frames():
        made = TableTransformer().fit(table)
        assert made.rules_ == first.rules_, type(table)
        assert made.transform(table).tobytes() == expected.tobytes()
        assert made.feature_names_in_.tolist() == list(MESSY)
        sparse = TableTransformer(sparse_output=True).fit(table).transform(table)
        assert sparse.has_sorted_indices and (sparse.toarray() == expected).all()


def test_features_are_what_their_names_say():
    made = TableTransformer().fit(MESSY)
    X = dict(zip(made.get_feature_names_out(), made.transform(MESSY).T, strict=True))
    people = np.array([np.nan if v == "?" else float(v.replace(",", "")) for v in MESSY["people"]])
    scaled = (people - np.nanmean(people)) / np.nanstd(people)
    np.testing.assert_allclose(X["people"], np.nan_to_num(scaled), atol=1e-12)
    np.testing.assert_array_equal(X["people=(missing)"], np.isnan(people))
    for level in ("red", "green", "blue"):
        np.testing.assert_array_equal(X[f"colour={level}"], np.array(MESSY["colour"]) == level)
    np.testing.assert_array_equal(X["smokes=yes"], np.array(MESSY["smokes"]) == "yes")
    rare = np.array([MESSY["town"].count(town) < 5 for town in MESSY["town"]])
    np.testing.assert_array_equal(X["town=(rare)"], rare)
    moments = [datetime.datetime.fromisoformat(text) for text in MESSY["when"]]
    for part, value in (("month=03", lambda m: m.month == 3), ("hour=17", lambda m: m.hour == 17),
                        ("weekday=Mon", lambda m: m.weekday() == 0)):  # fmt: skip
        np.testing.assert_array_equal(X[f"when:{part}"], [value(moment) for moment in moments])
    days = np.array([(m - datetime.datetime(1970, 1, 1)).total_seconds() / 86400 for m in moments])
    np.testing.assert_allclose(X["when:days"], (days - days.mean()) / days.std(), rtol=1e-9, atol=1e-9)


def test_clean_columns_are_those_of_a_column_transformer():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": RNG.normal(3, 9, N), "b": RNG.choice(list("uvw"), N), "c": RNG.uniform(size=N)})
    other = ColumnTransformer([("a", StandardScaler(), ["a"]), ("b", OneHotEncoder(sparse_output=False), ["b"]),
                               ("c", StandardScaler(), ["c"])])  # fmt: skip
    np.testing.assert_allclose(TableTransformer().fit_transform(frame), other.fit_transform(frame), atol=1e-12)


def test_unseen_levels_missing_values_and_bad_cells_are_said_and_have_a_meaning():
    made = TableTransformer().fit(MESSY)
    rows = {name: values[:4] for name, values in MESSY.items()}
    rows |= {
        "colour": ["pink", "NA", "red", "red"],
        "town": ["Atlantis", "Ulm", "Ulm", "Ulm"],
        "euros": ["x", "1,5", "1,5", ""],
    }
    with pytest.warns(UserWarning, match="column") as seen:
        X = dict(zip(made.get_feature_names_out(), made.transform(rows).T, strict=True))
    said = "\n".join(str(one.message) for one in seen)
    assert "'colour': 1 row with a level that was not in training ('pink'): taken as the baseline" in said
    assert "'town': 1 row with a level that was not in training ('Atlantis'): taken as a rare level" in said
    assert "'x' in row 1" in said
    assert [X[f"colour={level}"][:2].tolist() for level in ("red", "green", "blue")] == [[0, 0]] * 3
    assert X["town=(rare)"].tolist() == [1, 0, 0, 0]
    assert X["euros"][0] == X["euros"][3] == 0.0


def test_a_table_without_a_needed_column_is_refused_and_order_and_extra_columns_do_not_matter():
    made = TableTransformer().fit(MESSY)
    backwards = {name: MESSY[name] for name in reversed(MESSY)} | {"new": [1] * N}
    assert made.transform(backwards).tobytes() == made.transform(MESSY).tobytes()
    for name in ("key", "country"):  # left out in training, so not needed
        backwards.pop(name)
    assert made.transform(backwards).tobytes() == made.transform(MESSY).tobytes()
    with pytest.raises(InputError, match=r"lacks 2 columns that the model needs: 'age', 'town'"):
        made.transform({name: values for name, values in MESSY.items() if name not in ("age", "town")})


def test_what_a_column_is_can_be_said():
    kinds = {"serial": "number", "postcode": "number", "age": "drop", "key": "category"}
    made = TableTransformer(kinds=kinds).fit(MESSY)
    told = {row[0]: row[1:3] for row in made.table_}
    assert told["serial"][0] == told["postcode"][0] == "number"
    assert told["age"] == ["left out", "excluded"]
    assert told["key"][0] == "category"
    with pytest.raises(InputError, match="did you mean 'postcode'"):
        TableTransformer(kinds={"postcde": "number"}).fit(MESSY)
    with pytest.raises(InputError, match="cannot be read as a date"):
        TableTransformer(kinds={"colour": "date"}).fit(MESSY)
    with pytest.raises(InputError, match="no column of the table gives a feature"):
        TableTransformer().fit({"country": ["a"] * 30})


@pytest.mark.parametrize(
    "parameters", [{"min_count": 0}, {"max_levels": 1.5}, {"decimal": ";"}, {"sparse_output": "no"}]
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InputError, match=next(iter(parameters))):
        TableTransformer(**parameters).fit(MESSY)


@given(st.floats(-1e12, 1e12).map(lambda v: round(v, 3)))
@settings(max_examples=200, deadline=None)
def test_numbers_are_read_as_python_writes_them(value):
    assert number(f"{value:,.3f}") == float(f"{value:.3f}")
    assert number(f"{value:.3f}") == float(f"{value:.3f}")
    german = f"{value:,.3f}".translate(str.maketrans(",.", ".,"))
    assert number(german, ",") == float(f"{value:.3f}")
    assert number(repr(value)) == value


@given(
    st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 1, 1)).map(lambda m: m.replace(microsecond=0))
)
@settings(max_examples=100, deadline=None)
def test_dates_are_read_in_three_orders(moment):
    text = f"{moment:%d.%m.}{moment.year:04} {moment:%H:%M:%S}"
    assert dates([text], "dmy")[0] == np.datetime64(moment, "s")
    assert dates([moment.isoformat()], "ymd")[0] == np.datetime64(moment, "s")
    assert dates([f"{moment:%m/%d/}{moment.year:04}"], "mdy")[0] == np.datetime64(moment.date(), "s")


def test_the_order_of_a_date_is_found_from_all_rows():
    days = [f"{d:02}/{m:02}/2020" for m in range(1, 13) for d in range(1, 25)]
    assert TableTransformer().fit({"d": days, "z": list(range(288))}).preparation_.rules[0].order == "dmy"
    turned = ["/".join([*reversed(day.split("/")[:2]), "2020"]) for day in days]
    made = TableTransformer().fit({"d": turned})
    assert made.preparation_.rules[0].order == "mdy"
    assert "month/day/year" in made.table_[0][2]


def test_the_state_is_plain_data():
    made = TableTransformer().fit(MESSY)
    again = json.loads(json.dumps(made.rules_))
    assert again == made.rules_
    assert preparation_from_plain(again) == made.preparation_
    assert pickle.loads(pickle.dumps(made)).transform(MESSY).tobytes() == made.transform(MESSY).tobytes()
    assert clone(made).get_params() == made.get_params()


CHANGES = {
    "an entry of its own": lambda p: p["rules"][3].update(run="os.system"),
    "no kind": lambda p: p["rules"][3].pop("kind"),
    "another kind": lambda p: p["rules"][3].update(kind="python"),
    "levels that are no list": lambda p: p["rules"][5].update(levels="abc"),
    "levels that are no texts": lambda p: p["rules"][5].update(levels=[1, 2]),
    "a level twice": lambda p: p["rules"][5].update(levels=["a", "a"]),
    "a scale of another type": lambda p: p["rules"][3].update(scale="1"),
    "a scale that is not finite": lambda p: p["rules"][3].update(scale=float("inf")),
    "a negative scale": lambda p: p["rules"][3].update(scale=-1.0),
    "parts of parts": lambda p: p["rules"][2]["parts"][0].update(parts=[{"name": "a", "kind": "number"}]),
    "a column twice": lambda p: p["rules"].append(p["rules"][0]),
    "no rules": lambda p: p.pop("rules"),
    "a flag of another type": lambda p: p.update(sparse=1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_state_that_is_not_one_is_refused(change):
    plain = json.loads(json.dumps(TableTransformer().fit(MESSY).rules_))
    change(plain)
    with pytest.raises(InputError):
        preparation_from_plain(plain)


def test_a_saved_pipeline_predicts_on_tables_without_scikit_learn_objects(tmp_path):
    pipeline = make_pipeline(TableTransformer(), fenchel.Classifier("logistic", alpha=1e-3)).fit(MESSY, LABELS)
    fenchel.save(tmp_path / "m", pipeline)
    model = fenchel.load(tmp_path / "m")
    assert model.predict(MESSY).tolist() == pipeline.predict(MESSY).tolist()
    assert model.probabilities(MESSY).tobytes() == pipeline.predict_proba(MESSY).tobytes()
    assert model.predict(pipeline[0].transform(MESSY)).tolist() == model.predict(MESSY).tolist()
    fenchel.save(tmp_path / "again", model)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    with pytest.warns(UserWarning, match="not in training"):
        model.predict(MESSY | {"colour": ["pink"] * N})
    with pytest.raises(InputError, match="of pipelines"):
        fenchel.save(tmp_path / "n", make_pipeline(StandardScaler(), fenchel.Classifier()).fit([[0.0], [1.0]], [0, 1]))


def test_an_edited_preparation_is_a_model_file_error(tmp_path):
    from fenchel.files.container import encode
    from fenchel.models.stored import plain

    model = fenchel.models.file.as_model(
        make_pipeline(TableTransformer(), fenchel.Classifier(alpha=0.1)).fit(MESSY, LABELS)
    )
    header, arrays = plain(model)
    for change in CHANGES.values():
        edited = json.loads(json.dumps(header))
        try:
            change(edited["preparation"])
            parts = encode(edited, arrays)
        except ValueError:  # infinity is no JSON
            continue
        (tmp_path / "m").write_bytes(b"".join(parts))
        with pytest.raises(ModelFileError):
            fenchel.load(tmp_path / "m")


def test_coefficients_in_the_units_of_the_columns_give_the_same_scores():
    made = TableTransformer(sparse_output=True).fit(MESSY).preparation_
    X, _ = made.rows(MESSY)
    w = RNG.normal(size=(3, X.shape[1]))
    coef, intercept = made.original(w, np.ones(3))
    centre, scale = np.array([unit for rule in made.rules for unit in rule.units()]).T
    raw = X.toarray() * scale + centre
    np.testing.assert_allclose(raw @ coef.T + intercept, X @ w.T + 1.0, rtol=1e-9, atol=1e-9)


@given(st.lists(st.text(max_size=6), min_size=2, max_size=30), st.lists(st.text(max_size=6), min_size=1, max_size=9))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_finite_features(train, new):
    made = Preparation.fit(fenchel.tables.columns.columns_of({"a": train, "b": np.linspace(0.0, 1.0, len(train))}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, _ = made.rows({"a": new, "b": [0] * len(new)})
    X = X.toarray() if made.sparse else X
    assert X.shape == (len(new), len(made.features)) and np.isfinite(X).all()


def test_set_output_and_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MESSY)
    made = TableTransformer().set_output(transform="pandas").fit(frame)
    found = made.transform(frame)
    assert found.columns.tolist() == made.get_feature_names_out().tolist()
    assert found.index.equals(frame.index)


@parametrize_with_checks([TableTransformer()])
def test_sklearn(estimator, check):
    check(estimator)


def test_frames_whose_columns_are_numbers():
    """As those that pandas makes of an array."""
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(0).standard_normal((20, 3))
    for frame in (pandas.DataFrame(values), pandas.DataFrame(values, columns=[7, "a", 2.5])):
        made = TableTransformer().fit(frame)
        assert made.get_feature_names_out().tolist() == [str(name) for name in frame.columns]
        np.testing.assert_allclose(made.transform(frame), StandardScaler().fit_transform(values), rtol=1e-12)
        assert made.transform(frame[frame.columns[::-1]]).tobytes() == made.transform(frame).tobytes()


def test_columns_of_one_name_and_columns_without_any_spread_are_refused_with_words():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="(?s)different names.*'a' 2 times|several columns with the name"):
        TableTransformer().fit(pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    with pytest.raises(InputError, match="several columns with the name '1'"):
        TableTransformer().fit(pandas.DataFrame([[1, 2], [3, 4]], columns=[1, "1"]))
    with pytest.raises(InputError, match="a: constant"):  # its standard deviation underflows
        TableTransformer().fit({"a": [1e-320, 2e-320, 3e-320]})
