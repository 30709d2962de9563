"""Files of structured models: written, read back bit for bit, refused when anything is off; estimators to files and back."""

from __future__ import annotations

import hashlib
import json
import pathlib
import pickle
import struct
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import fenchel
from damage import refuses_every_accident, refuses_quickly
from fenchel import MatchingModel, MultiLabelClassifier, SequenceLabeler, StructuredModel, regularizers
from fenchel.errors import InputError
from fenchel.files import container
from fenchel.models import file as model_file
from fenchel.models.structured_check import Shape
from fenchel.result import Certificate, Status
from fenchel.structured import (
    AssociativeGraph,
    Chain,
    Gibbs,
    Graph,
    Marginals,
    Matching,
    Multiclass,
    PairwiseLabels,
    Pool,
    Tree,
)

SOURCE = pathlib.Path(fenchel.__file__).parent
DIGEST = hashlib.sha256(b"rows").hexdigest()
POOL = Pool(
    np.array([0, 1, 1, 3]), np.array([0.5, 0.25, 0.75]), np.array([0, 2, 3, 4]), np.array([0, 1, 1, 0], dtype=np.int32)
)  # fmt: skip


def small(**changes) -> StructuredModel:
    values: dict = {
        "coef": np.array([0.1, -2.5e-308, -0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1 / 3, 7.0, 8.0, 9.0]),
        "loss": Chain(bias=False),
        "regularizer": regularizers.L2(0.1),
        "shape": Shape(2, 0, 2),
        "certificate": Certificate(0.5, 0.4999999, "exact max-oracle", 1e-16),
        "status": Status.CERTIFIED,
        "tol": 1e-3,
        "solver": "BlockFrankWolfe",
        "digest": DIGEST,
        "n": 3,
        "dual_point": POOL,
        "labels": ("B-ü", "O"),
        "attributes": ("U0:a", "U0:\x00\n\udc80é"),
        "template": ("U0:%x[0,0]", "B"),
        "columns": (3, 2),
        "versions": {"fenchel": "0.1.0", "numpy": "2.0.0"},
    }
    return StructuredModel(**(values | changes))


def log_model(**changes) -> StructuredModel:
    point = Gibbs(np.array([0.25, 0.75]), np.arange(24.0).reshape(2, 12))
    return small(**({"loss": Chain(loss="log", bias=False), "dual_point": point} | changes))


PLAIN = {"attributes": None, "template": None, "columns": None}
SMALL = {
    "pool": small(),
    "gibbs": log_model(),
    "marginals": small(dual_point=Marginals(np.array([0, 2, 2, 3]), np.array([0.5, 0.5, 1.0]), 0.875)),
    "no dual point": small(dual_point=None, certificate=Certificate(0.5, -np.inf, "exact max-oracle", np.inf)),
    "numbers as features": small(**PLAIN, labels=None),
    "numbers as labels": small(**PLAIN, labels=(3, 0.5)),
    "no features": small(**PLAIN, shape=Shape(0, 0, 2), coef=np.ones(8)),
    "observed": small(loss=Chain(bias=False, observed_only=True), coef=np.ones(3), places=np.array([0, 5, 11])),
    "edges": small(
        **{k: PLAIN[k] for k in ("template", "columns")}, loss=Chain(bias=False, edge_features=True), coef=np.ones(16),
        shape=Shape(2, 1, 2), link_attributes=("both",),
    ),
    "quadratic": small(regularizer=regularizers.Quadratic(0.1, sp.eye_array(12, format="csc"))),
    "matching": small(**PLAIN, loss=Matching(True, 1, 0.5), labels=None, shape=Shape(12, 0, 1)),
    "tree": small(**PLAIN, loss=Tree(2), coef=np.ones(10)),
    "classes": small(**PLAIN, loss=Multiclass(), coef=np.ones(4)),
    "sets": small(**PLAIN, loss=PairwiseLabels(nodes=7), coef=np.ones(7)),
    "graph": small(**PLAIN, loss=Graph(2, nodes=7), coef=np.ones(14), shape=Shape(2, 2, 2)),
    "associative graph": small(**PLAIN, loss=AssociativeGraph(), coef=np.ones(5), shape=Shape(2, 2, 2)),
}  # fmt: skip


def same(a: StructuredModel, b: StructuredModel) -> bool:
    arrays = [(a.coef, b.coef), (a.places, b.places), *zip(a.dual_point or (), b.dual_point or (), strict=True)]
    equal = all(x is y or np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in arrays)
    kinds = all(np.asarray(x).dtype == np.asarray(y).dtype and np.shape(x) == np.shape(y) for x, y in arrays)
    plain = [f for f in a.__dataclass_fields__ if f not in ("coef", "places", "dual_point", "regularizer")]
    names = type(a.dual_point) is type(b.dual_point) and a.regularizer.fingerprint() == b.regularizer.fingerprint()
    return equal and kinds and names and all(getattr(a, f) == getattr(b, f) for f in plain)


@pytest.mark.parametrize("name", SMALL)
def test_what_is_saved_is_loaded_bit_for_bit_and_saved_again_gives_the_same_bytes(name, tmp_path):
    fenchel.save(tmp_path / "a", SMALL[name])
    back = fenchel.load(tmp_path / "a")
    assert same(SMALL[name], back)
    fenchel.save(tmp_path / "b", back)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


RNG = np.random.default_rng(5)
WORDS = [RNG.normal(size=(length, 3)) for length in (3, 1, 2, 4)]
TAGS = [RNG.integers(0, 3, len(x)) for x in WORDS]
TAGS[0][:] = [0, 1, 2]
EDGES = [(x, RNG.normal(size=(len(x) - 1, 2))) for x in WORDS]
GRIDS = [RNG.normal(size=(3, 3, 2)) for _ in range(4)]
FORESTS = [(x, [-1, *range(len(x) - 1)]) for x in WORDS]
CYCLES = [(x, [[v, (v + 1) % len(x)] for v in range(len(x)) if len(x) > 1]) for x in WORDS]
ROWS = RNG.normal(size=(8, 3))
PROBLEMS = {
    "chain": (WORDS, TAGS, Chain()),
    "chain log": (WORDS, TAGS, Chain(loss="log")),
    "observed": (WORDS, TAGS, Chain(loss="log", observed_only=True)),
    "slack, observed": (WORDS, TAGS, Chain(observed_only=True, beta=1.0, normalise=True)),
    "edges": (EDGES, TAGS, Chain(edge_features=True, ends=False)),
    "matching": (GRIDS, [RNG.permutation(3) for _ in GRIDS], Matching()),
    "tree": (FORESTS, TAGS, Tree(loss="log")),
    "graph": (CYCLES, TAGS, Graph(normalise=True)),
    "associative graph": (CYCLES, [np.minimum(y, 1) for y in TAGS], AssociativeGraph()),
    "classes": (ROWS, np.arange(8) % 3, Multiclass()),
    "sets": (ROWS, RNG.integers(0, 2, (8, 3)), PairwiseLabels(loss="log")),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solved_problem_survives_and_its_certificate_is_recomputed_from_the_file(name, tmp_path):
    examples, labels, loss = PROBLEMS[name]
    problem = fenchel.Problem(examples, labels, loss=loss, alpha=0.1)
    result = fenchel.solve(problem, tol=1e-3)
    fenchel.save(tmp_path / "m", result)
    model = fenchel.load(tmp_path / "m")
    assert model.coef.tobytes() == result.coef.tobytes()
    assert (model.digest, model.n, model.weighted) == (problem.digest, len(labels), False)
    again = fenchel.certify(problem, model.coef, 0.0, model.dual_point)
    assert again.holds(1e-3)
    assert abs(again.primal - result.certificate.primal) <= again.floor
    assert abs(again.dual - result.certificate.dual) <= again.floor
    full = problem.model.full(result.coef) if isinstance(loss, Chain) else result.coef
    assert np.array_equal(model.full_coef, full)
    found = model.predict(examples)
    assert [np.asarray(y).tolist() for y in found] == [np.asarray(loss.predict(full, x)).tolist() for x in examples]
    if loss.loss == "log":
        for x, p in zip(examples, model.probabilities(examples), strict=True):
            expected = loss.marginals(full, x)
            assert np.array_equal(p, expected[0] if isinstance(loss, Chain) else expected)
    else:
        with pytest.raises(InputError, match="no probabilities"):
            model.probabilities(examples)
    assert ROWS[3].tobytes() not in (tmp_path / "m").read_bytes()  # no row is in the file


def test_predictions_have_the_names_of_the_labels_and_need_the_features_of_the_model():
    problem = fenchel.Problem(WORDS, TAGS, loss=Chain(), alpha=0.1)
    model = StructuredModel.from_result(fenchel.solve(problem, tol=1e-2), labels=np.array(["x", "y", "z"]))
    numbers = [problem.loss.predict(model.coef, x) for x in WORDS]
    assert model.predict(WORDS) == [["xyz"[k] for k in path] for path in numbers]
    assert model.predict([sp.csr_array(x) for x in WORDS]) == model.predict(WORDS)
    assert model.predict([]) == []
    with pytest.raises(InputError, match="example 1 has 2 features, but the model has 3"):
        model.predict([WORDS[0], WORDS[0][:, :2]])
    named = replace(model, attributes=("a", "b", "c"))
    token = {"a": 0.5, "c": -1.0, "new": 3.0}
    expected = problem.loss.predict(model.coef, [[0.5, 0.0, -1.0]])
    assert named.predict([[token]]) == [["xyz"[expected[0]]]]
    with pytest.raises(InputError, match="example 0 must be a list of dictionaries"):
        named.predict(WORDS)
    with pytest.raises(InputError, match="no template"):
        model.attributes_of([])


def test_weights_are_noted_and_the_dual_point_can_be_left_out():
    problem = fenchel.Problem(WORDS, TAGS, loss=Chain(), alpha=0.1, sample_weight=[1.0, 2.0, 1.0, 1.0])
    model = StructuredModel.from_result(fenchel.solve(problem, tol=1e-2), keep_dual=False)
    assert model.weighted
    assert model.dual_point is None


@pytest.mark.parametrize(
    "changes",
    [
        {"coef": np.full(12, np.nan)}, {"coef": np.ones(11)}, {"coef": np.ones(12, dtype="f4")}, {"coef": np.ones((3, 4))},
        {"places": np.arange(12)}, {"shape": Shape(2, 1, 2)}, {"shape": Shape(-1, 0, 2)}, {"shape": Shape(2, 0, 0)},
        {"shape": Shape(True, 0, 2)}, {"loss": Chain(3, bias=False)}, {"loss": Chain(bias=1)}, {"loss": object()},
        {"labels": ("a",)}, {"labels": ("a", "a")}, {"labels": ("a", 1)}, {"labels": ("a b", "c")}, {"labels": (1, 2)},
        {"labels": None}, {"labels": (("a",), ("b",))}, {"tol": 0.0}, {"n": 0}, {"n": 4},
        {"attributes": ("a",)}, {"attributes": ("a", "a")}, {"attributes": ("a", 1)}, {"attributes": None},
        {"template": None}, {"columns": None}, {"columns": (3, 0)}, {"columns": (1, 0)}, {"columns": (3, 3)},
        {"template": ("U0:%x[0,2]", "B")}, {"template": ("U0:%x[0,9]",)}, {"template": ("",)}, {"template": (1,)},
        {"template": ('U0:%m[0,0,"("]',)}, {"template": ('U0:%m[0,0,"a{99999999999999999999}"]',)},
        {"template": ("U", "B0:%x[0,0]")}, {"link_attributes": ()},
        {"dual_point": POOL._replace(start=np.array([0, 1, 3, 2]))}, {"dual_point": POOL._replace(weights=np.ones(2))},
        {"dual_point": POOL._replace(start=np.array([0, 2**62, -(2**62), 3]))},
        {"dual_point": POOL._replace(weights=np.array([0.5, -0.25, 0.75]))},
        {"dual_point": POOL._replace(offsets=np.array([0, 2, 3, 5]))}, {"dual_point": log_model().dual_point},
        {"dual_point": Marginals(np.array([0, 2, 2, 3]), np.array([0.5, 0.5, 1.0]), 2.0)},
        {"dual_point": np.ones(3)}, {"regularizer": regularizers.Quadratic(1.0, [1.0])},
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused(changes):
    with pytest.raises((InputError, fenchel.errors.ReadError)):
        small(**changes)


def test_observed_weights_need_their_places():
    for places in (None, np.array([0, 5, 12]), np.array([0, 5, 5]), np.array([-1, 5, 6]), np.array([0.0, 5.0, 6.0])):
        with pytest.raises(InputError, match="coef must be"):
            small(loss=Chain(bias=False, observed_only=True), coef=np.ones(3), places=places)


def test_models_and_regularizers_of_your_own_are_refused_before_a_file_is_made(tmp_path):
    class Own(Chain):
        pass

    problem = fenchel.Problem(WORDS, TAGS, loss=Own(), alpha=0.1)
    with pytest.raises(InputError, match="Own is not a built-in model"):
        fenchel.save(tmp_path / "m", fenchel.solve(problem, tol=1e-2))

    class Mine(regularizers.L2):
        pass

    with pytest.raises(InputError, match="Mine is not a built-in regularizer"):
        fenchel.save(tmp_path / "m", small(regularizer=Mine(1.0)))
    assert list(tmp_path.iterdir()) == []


# Every bit, every length, every structure


def test_every_bit_flip_truncation_and_extension_is_refused(tmp_path):
    path = tmp_path / "m"
    fenchel.save(path, small())
    refuses_every_accident(path)


def forged(model=None, change=None, **changes) -> bytes:
    """A file with a good checksum, some of whose entries and arrays are others."""
    header, arrays = model_file.plain(small() if model is None else model)
    header |= {key: value for key, value in changes.items() if value is not KeyError}
    for key in [key for key, value in changes.items() if value is KeyError]:
        del header[key]
    arrays |= change or {}
    return b"".join(container.encode(header, {key: array for key, array in arrays.items() if array is not None}))


def chain(**changes) -> dict:
    return model_file.plain(small())[0]["loss"] | changes


def names(text: bytes) -> dict:
    return {"attributes": np.frombuffer(text, dtype="<i8")}


ATTACKS = {
    "kind of another world": forged(kind="kernel"),
    "entry missing": forged(tol=KeyError),
    "entry too many": forged(surprise=1),
    "regularizer missing": forged(regularizer=KeyError),
    "array too many": forged(change={"surprise": np.ones(1)}),
    "no coefficients": forged(change={"coef": None}),
    "coefficients too few": forged(change={"coef": np.ones(3)}),
    "coefficients of integers": forged(change={"coef": np.arange(12)}),
    "infinite coefficient": forged(change={"coef": np.full(12, np.inf)}),
    "places without need": forged(change={"places": np.arange(12)}),
    "places beyond the end": forged(SMALL["observed"], change={"places": np.array([0, 5, 12])}),
    "places of fractions": forged(SMALL["observed"], change={"places": np.array([0.0, 5.0, 11.0])}),
    "unknown model": forged(loss={"name": "os.system"}),
    "model is no dict": forged(loss=[1]),
    "model without a name": forged(loss={}),
    "number as a flag": forged(loss=chain(ends=2)),
    "text as a number": forged(loss=chain(beta="0")),
    "parameter too many": forged(loss=chain(x=1)),
    "parameter missing": forged(loss={"name": "chain"}),
    "unknown loss": forged(loss=chain(loss="squared")),
    "negative classes": forged(loss=chain(classes=-1)),
    "huge shape": forged(shape=[2**63, 0, 2]),
    "negative shape": forged(shape=[-2, 0, 2]),
    "shape of floats": forged(shape=[2.0, 0, 2]),
    "short shape": forged(shape=[2, 0]),
    "shape of another size": forged(shape=[3, 0, 2]),
    "other count of attributes": forged(attributes=3),
    "text as a count": forged(attributes="2"),
    "attributes that are not there": forged(change={"attributes": None}),
    "attributes not said": forged(attributes=None),
    "attribute twice": forged(change=names(b"a\xffa\xff".ljust(8, b"\0"))),
    "attribute not UTF-8": forged(change=names(b"\xc0\x80\xffa\xff".ljust(8, b"\0"))),
    "attributes with a tail": forged(change=names(b"a\xffb\xff".ljust(16, b"\0"))),
    "attributes of floats": forged(change={"attributes": np.ones(1)}),
    "attributes in rows": forged(change={"attributes": np.frombuffer(b"a\xffb\xff\0\0\0\0", "<i8").reshape(1, 1)}),
    "dual point of no kind": forged(dual=["pickle"]),
    "dual point with a name": forged(dual="pool"),
    "marginals without scale": forged(dual=["marginals"]),
    "Gibbs for a hinge": forged(log_model(), loss=chain()),
    "pool without weights": forged(change={"dual/weights": None}),
    "labels beyond int32": forged(change={"dual/labels": np.array([0, 1, 1, 2**40])}),
    "labels of floats": forged(change={"dual/labels": np.ones(4)}),
    "offsets beyond the end": forged(change={"dual/offsets": np.array([0, 2, 3, 2**62])}),
    "offsets that fall": forged(change={"dual/offsets": np.array([0, 3, 2, 4])}),
    "start of another n": forged(n=4),
    "true for n": forged(n=True),
    "labels as dict": forged(labels={"a": 1, "b": 2}),
    "labels as text": forged(labels="ab"),
    "label with a blank": forged(labels=["a b", "c"]),
    "template that is none": forged(template=["X"]),
    "empty line of a template": forged(template=[""]),
    "template as text": forged(template="U"),
    "number in the template": forged(template=[1]),
    "pattern beyond all": forged(template=['U:%m[0,0,"a{99999999999999999999}"]']),
    "nested pattern": forged(template=['U:%m[0,0,"' + "(" * 5000 + ")" * 5000 + '"]']),
    "column beyond the file": forged(template=["U:%x[0," + "9" * 5000 + "]"]),
    "columns of text": forged(columns=["3", "2"]),
    "one column": forged(columns=[3]),
    "label beyond the columns": forged(columns=[3, 3]),
    "unknown status": forged(status="PERFECT"),
    "status of a list": forged(status=["CERTIFIED"]),
    "certificate with a list": forged(certificate={"primal": [1.0], "dual": 1.0, "basis": "x", "floor": 0.0}),
    "certificate without a part": forged(certificate={"primal": 1.0}),
    "text for a flag": forged(weighted="no"),
    "short digest": forged(digest="ab"),
    "digest of numbers": forged(digest=1),
    "solver of numbers": forged(solver=1),
    "versions of numbers": forged(versions={"fenchel": 1}),
    "integer for tol": forged(tol=1),
    "unknown regularizer": forged(regularizer=["l3", {"alpha": 1.0}]),
    "coef as parameter": forged(regularizer=["quadratic", {"K": {"array": "coef"}, "alpha": -1.0}]),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_structure_attacks_are_refused_quickly_in_bounded_memory(attack, tmp_path):
    refuses_quickly(tmp_path / "m", ATTACKS[attack])


def test_the_forger_of_these_tests_can_also_forge_a_good_file(tmp_path):
    (tmp_path / "m").write_bytes(forged())
    assert same(fenchel.load(tmp_path / "m"), small())
    length = struct.unpack("<I", forged()[12:16])[0]
    assert json.loads(forged()[16 : 16 + length])["kind"] == "structured"


def test_files_of_other_models_do_not_say_their_kind(tmp_path):
    problem = fenchel.Problem([[0.0], [1.0]], [-1, 1], loss="hinge", alpha=0.1)
    fenchel.save(tmp_path / "m", fenchel.solve(problem))
    assert b'"kind"' not in (tmp_path / "m").read_bytes()


def test_many_attributes_do_not_meet_the_limit_of_the_header(tmp_path):
    many = tuple(f"attribute-with-a-long-name-{k:07d}" for k in range(600_000))
    assert sum(map(len, many)) > container.LONGEST_HEADER
    model = small(**PLAIN | {"attributes": many}, shape=Shape(600_000, 0, 2), coef=np.zeros(1_200_008), dual_point=None)
    fenchel.save(tmp_path / "m", model)
    assert fenchel.load(tmp_path / "m").attributes == many


AUDIT = """
import sys, fenchel
watching = False
fenchel.load(sys.argv[1])  # the modules themselves are imported once
events = []
sys.addaudithook(lambda event, args: events.append(event) if watching else None)
watching = True
fenchel.load(sys.argv[1])
watching = False
bad = ("import", "exec", "compile", "pickle.find_class", "marshal.loads", "os.system", "subprocess.Popen", "ctypes.dlopen")
print([e for e in events if e in bad], events.count("open") <= 2)
"""


def test_loading_imports_and_executes_nothing(tmp_path):
    fenchel.save(tmp_path / "m", small())
    run = subprocess.run([sys.executable, "-c", AUDIT, tmp_path / "m"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[] True"


# Estimators

SENTENCES = [[{"word": w, "n": 0.5} for w in text.split()] for text in ("the dog barks", "a cat", "the cat sleeps")]
PARTS = [["D", "N", "V"], ["D", "N"], ["D", "N", "V"]]


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "log"}, {"loss": "hinge", "rescaling": "slack", "normalise": True},
        {"loss": "log", "observed_only": True, "bias": False, "ends": False},
        {"loss": "log", "regularizer": "elastic_net", "l1_ratio": 0.25},
    ],
)  # fmt: skip
def test_a_sequence_labeler_is_the_same_after_a_file(options, tmp_path):
    model = SequenceLabeler(alpha=0.05, tol=1e-3, **options).fit(SENTENCES, PARTS)
    model.save(tmp_path / "m")
    copy = SequenceLabeler.load(tmp_path / "m")
    asked = [*SENTENCES, [{"word": "the"}, {"word": "bird"}]]
    assert copy.predict(asked) == model.predict(asked) == fenchel.load(tmp_path / "m").predict(asked)
    assert copy.score(SENTENCES, PARTS) == model.score(SENTENCES, PARTS)
    assert (copy.certificate_, copy.status_, copy.solver_) == (model.certificate_, model.status_, model.solver_)
    assert (copy.objective_, copy.dual_gap_, copy.converged_) == (model.objective_, model.dual_gap_, True)
    assert copy.state_features_ == model.state_features_
    assert copy.transition_features_ == model.transition_features_
    assert copy.classes_.tolist() == model.classes_.tolist()
    for name in ("loss", "bias", "ends", "rescaling", "normalise", "observed_only", "tol"):
        assert getattr(copy, name) == getattr(model, name)
    if options["loss"] == "log":
        assert copy.predict_marginals(asked) == model.predict_marginals(asked)
    copy.save(tmp_path / "again")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    assert pickle.loads(pickle.dumps(copy)).predict(asked) == model.predict(asked)


def test_a_loaded_estimator_is_a_warm_start(tmp_path):
    SequenceLabeler("log", alpha=0.05, observed_only=True, tol=1e-6).fit(SENTENCES, PARTS).save(tmp_path / "m")
    copy = SequenceLabeler.load(tmp_path / "m")
    steps = SequenceLabeler("log", alpha=0.05, observed_only=True, tol=1e-6).fit(SENTENCES, PARTS).n_iter_
    assert copy.set_params(warm_start=True).fit(SENTENCES, PARTS).n_iter_ < max(steps, 2)
    assert copy.converged_


def test_links_and_numbers_survive_too(tmp_path):
    links = [(x, [{"same": float(a["word"] == b["word"])} for a, b in pairwise(x)]) for x in SENTENCES]
    for X, y, more in ((links, PARTS, {"edge_features": True}), (WORDS, TAGS, {})):
        model = SequenceLabeler("log", alpha=0.05, **more).fit(X, y)
        model.save(tmp_path / "m")
        copy = SequenceLabeler.load(tmp_path / "m")
        assert copy.predict(X) == model.predict(X)
        assert copy.n_features_in_ == model.n_features_in_
        assert fenchel.load(tmp_path / "m").predict(X) == model.predict(X)


def test_matchings_and_label_sets_survive(tmp_path):
    y = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]]
    model = MatchingModel(false_negative=2.0, partial=True, alpha=0.1, tol=1e-2).fit(GRIDS, y)
    model.save(tmp_path / "m")
    copy = MatchingModel.load(tmp_path / "m")
    assert [a.tolist() for a in copy.predict(GRIDS)] == [a.tolist() for a in model.predict(GRIDS)]
    assert (copy.false_negative, copy.partial, copy.score(GRIDS, y)) == (2.0, True, model.score(GRIDS, y))
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    sets = MultiLabelClassifier("log", alpha=0.1, tol=1e-2).fit(frame, PROBLEMS["sets"][1])
    sets.save(tmp_path / "s")
    back = MultiLabelClassifier.load(tmp_path / "s")
    assert np.array_equal(back.predict(frame), sets.predict(frame))
    assert np.array_equal(back.predict_proba(frame), sets.predict_proba(frame))
    assert np.array_equal(back.pairs_, sets.pairs_)
    assert list(back.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(InputError, match="is a model of Matching, not of SequenceLabeler"):
        SequenceLabeler.load(tmp_path / "m")


def test_what_a_file_cannot_hold_is_said(tmp_path):
    labels = [[("D", 1) if tag == "D" else (tag, 0) for tag in tags] for tags in PARTS]
    model = SequenceLabeler(alpha=0.05).fit(SENTENCES, labels)
    with pytest.raises(InputError, match="distinct strings or numbers"):
        model.save(tmp_path / "m")
    problem = fenchel.Problem(WORDS, TAGS, loss=Chain(beta=0.5), alpha=0.1)
    fenchel.save(tmp_path / "b", fenchel.solve(problem, tol=1e-2))
    with pytest.raises(InputError, match=r"beta=0\.5 cannot be a SequenceLabeler"):
        SequenceLabeler.load(tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
