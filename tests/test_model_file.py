"""Model files: what is written is read back bit for bit, and nothing else is read at all."""

from __future__ import annotations

import ast
import errno
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from damage import refuses_every_accident, refuses_quickly
from fenchel import losses, multiclass, regularizers
from fenchel.errors import InputError, ModelFileError
from fenchel.files import atomic_write, container
from fenchel.models import file as model_file
from fenchel.models.model import Model
from fenchel.result import Certificate, Status

SOURCE = pathlib.Path(fenchel.__file__).parent
DIGEST = hashlib.sha256(b"rows").hexdigest()


def small_model(**changes) -> Model:
    values: dict = {
        "coef": np.array([0.1, -2.5e-308, -0.0]),
        "intercept": 0.25,
        "loss": losses.Hinge(),
        "regularizer": regularizers.L2(0.1),
        "fit_intercept": True,
        "labels": (-1.0, 1.0),
        "certificates": (Certificate(0.5, 0.4999999, "conjugate", 1e-16),),
        "statuses": (Status.CERTIFIED,),
        "tol": 1e-6,
        "solvers": ("DualAscent",),
        "digests": (DIGEST,),
        "n": 4,
        "index_base": 1,
        "dual_points": np.array([-1.0, 0.5, 0.25, 0.25]),
        "versions": {"fenchel": "0.1.0", "numpy": "2.0.0"},
    }
    return Model(**(values | changes))


def three_scores() -> Model:
    return small_model(
        coef=np.arange(6.0).reshape(3, 2),
        intercept=np.arange(3.0),
        labels=("a", "b", "ü \u202e\x1b[31m"),
        certificates=(Certificate(0.5, -np.inf, "derived", np.inf),) * 3,
        statuses=(Status.CERTIFIED, Status.INTERRUPTED, Status.MAX_ITER),
        solvers=("LBFGS",) * 3,
        digests=(DIGEST,) * 3,
        dual_points=np.arange(12.0).reshape(3, 4),
        feature_names=("<b>", "x\n"),
    )


def same(a: Model, b: Model) -> bool:
    plain = [f for f in vars(a) if f not in ("coef", "intercept", "dual_points")]
    arrays = [(np.asarray(getattr(a, f)), np.asarray(getattr(b, f))) for f in ("coef", "intercept")]
    arrays += [] if a.dual_points is None else [(a.dual_points, b.dual_points)]
    equal = all(x.tobytes() == y.tobytes() and x.shape == y.shape for x, y in arrays)
    return equal and all(getattr(a, f) == getattr(b, f) for f in plain)


REGULARIZERS = [
    regularizers.L1(0.1),
    regularizers.ElasticNet(0.1, 0.3),
    regularizers.Entropy(0.3, [0.1, 0.2, 1 / 3], 2.0),
    regularizers.UnnormalisedEntropy(0.1, 0.7),
    regularizers.QNorm(0.1, 1.5),
    regularizers.Quadratic(0.1, [1.0, 2.0, 1 / 3]),
    regularizers.Quadratic(0.1, np.array([[2.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1 / 3]])),
    regularizers.Quadratic(0.1, sp.csc_array(np.array([[2.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1 / 3]]))),
]
MODELS = [small_model(), three_scores(), small_model(dual_points=None, labels=None, index_base=None)]
MODELS += [small_model(regularizer=regularizer) for regularizer in REGULARIZERS]
MODELS += [small_model(loss=losses.make(name)) for name in losses.LOSSES if name != "moreau"]
MODELS += [small_model(loss=losses.make(losses.Moreau(losses.Quantile(0.9), 0.5))), small_model(labels=("no", "yes"))]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m.loss).__name__}-{type(m.regularizer).__name__}")
def test_what_is_saved_is_loaded_bit_for_bit_and_saved_again_gives_the_same_bytes(model, tmp_path):
    fenchel.save(tmp_path / "a", model)
    back = fenchel.load(tmp_path / "a")
    assert same(model, back)
    fenchel.save(tmp_path / "b", back)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_solved_problem_survives_and_its_certificate_is_recomputed_from_the_file(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.sign(rng.normal(size=60))
    problem = fenchel.Problem(X, y, loss="hinge", alpha=0.05, fit_intercept=True)
    result = fenchel.solve(problem)
    fenchel.save(tmp_path / "m", result)
    model = fenchel.load(tmp_path / "m")
    again = fenchel.certify(problem, model.coef, model.intercept, model.dual_points)
    assert again.holds(result.tol)
    assert abs(again.primal - model.certificate.primal) <= again.floor
    assert model.digests == (problem.digest,)
    assert np.array_equal(model.scores(X), X @ result.coef + result.intercept)
    canary = X[17].tobytes()  # no row is in the file
    assert canary not in (tmp_path / "m").read_bytes()


def test_predictions_follow_the_labels():
    X = np.eye(3)
    assert small_model().predict(X).tolist() == [1.0, 1.0, 1.0]
    assert small_model(intercept=-0.05).predict(X).tolist() == [1.0, -1.0, -1.0]
    assert three_scores().predict([[1.0, 1.0], [-1.0, -9.0]]).tolist() == ["ü \u202e\x1b[31m", "a"]
    poisson = small_model(loss=losses.Poisson(), labels=None)
    assert np.allclose(np.log(poisson.predict(X)), poisson.scores(X))
    novelty = small_model(loss=losses.Novelty(), labels=None, intercept=1.0)
    assert novelty.predict([[-1.0, 0, 0], [1.0, 0, 0]]).tolist() == [-1, 1]
    logistic = small_model(loss=losses.Logistic())
    assert np.allclose(logistic.probabilities(X)[:, 1], 1 / (1 + np.exp(-logistic.scores(X))))
    many = replace(three_scores(), loss=losses.Logistic())
    assert np.allclose(many.probabilities(np.ones((4, 2))).sum(axis=1), 1.0)
    with pytest.raises(InputError, match="Hinge has no probabilities"):
        small_model().probabilities(X)
    with pytest.raises(InputError, match="2 features, but the model has 3"):
        small_model().scores(np.ones((1, 2)))


@pytest.mark.parametrize(
    "changes",
    [
        {"coef": np.array([np.nan])}, {"coef": np.ones((1, 3))}, {"coef": np.ones(3, dtype="f4")},
        {"intercept": np.inf},
        {"fit_intercept": False}, {"labels": (1.0,)}, {"labels": (1.0, 1.0)}, {"labels": (1.0, "a")}, {"tol": 0.0},
        {"n": 0}, {"index_base": 2}, {"dual_points": np.ones(3)}, {"feature_names": ("a",)}, {"solvers": ()},
        {"regularizer": regularizers.Quadratic(1.0, [1.0])},
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_are_refused(changes):
    with pytest.raises(InputError):
        small_model(**changes)


def test_losses_and_regularizers_of_your_own_are_refused_before_a_file_is_made(tmp_path):
    class Tilt(regularizers.Regularizer):
        def value(self, w):
            return 0.0

        def conjugate(self, v):
            return 0.0

    with pytest.raises(InputError, match="Tilt is not a built-in"):
        fenchel.save(tmp_path / "m", small_model(regularizer=Tilt(1.0)))
    with pytest.raises(InputError, match="not a built-in loss"):
        fenchel.save(tmp_path / "m", small_model(loss=object()))
    with pytest.raises(InputError, match="a Result or a fitted estimator"):
        fenchel.save(tmp_path / "m", {"coef": 1})
    assert list(tmp_path.iterdir()) == []


# Every bit, every length, every splice


def test_every_bit_flip_truncation_and_extension_is_refused(tmp_path):
    path = tmp_path / "m"
    fenchel.save(path, small_model())
    refuses_every_accident(path)


def test_a_splice_of_two_good_files_is_refused(tmp_path):
    path = tmp_path / "m"
    fenchel.save(path, small_model())
    first = path.read_bytes()
    fenchel.save(path, small_model(coef=np.array([1.0, 2.0, 3.0])))
    second = path.read_bytes()
    assert len(first) == len(second)
    cuts = [cut for cut in range(1, len(first)) if first[:cut] + second[cut:] not in (first, second)]
    assert cuts
    for cut in cuts:
        path.write_bytes(first[:cut] + second[cut:])
        with pytest.raises(ModelFileError):
            fenchel.load(path)


# Structure attacks: the checksum is always right


def forged(header: bytes, body: bytes = b"", version: int = container.FORMAT, length: int | None = None) -> bytes:
    header += b" " * (-len(header) % 8)
    start = struct.pack("<8sII", container.MAGIC, version, len(header) if length is None else length)
    return start + header + body + hashlib.sha256(start + header + body).digest()


def good_parts() -> tuple[dict, bytes]:
    whole = b"".join(container.encode(*model_file.plain(small_model())))
    length = struct.unpack("<I", whole[12:16])[0]
    return json.loads(whole[16 : 16 + length]), whole[16 + length : -32]


def canonical(header: dict) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def edited(**changes) -> bytes:
    header, body = good_parts()
    header.update({key: value for key, value in changes.items() if value is not KeyError})
    for key in [key for key, value in changes.items() if value is KeyError]:
        del header[key]
    return forged(canonical(header), body)


def with_arrays(change) -> bytes:
    header, body = good_parts()
    change(header["arrays"])
    return forged(canonical(header), body)


def deep(opening: bytes, levels: int) -> bytes:
    return forged(b'{"arrays":' + opening * levels + b"1" + (b"]" if opening == b"[" else b"}") * levels + b"}")


def moreaus(levels: int) -> dict:
    loss: dict = {"name": "hinge", "margin": 1.0}
    for _ in range(levels):
        loss = {"name": "moreau", "loss": loss, "gamma": 1.0}
    return loss


def joint_loss(loss: dict, thresholds=None, **arrays) -> bytes:
    """A model of two scores with that loss, every part of which is good but those given."""
    model = small_model(
        coef=np.ones((2, 3)), intercept=np.zeros(2), loss=multiclass.Softmax(), dual_points=None
    )  # fmt: skip
    header, stored = model_file.plain(model)
    header = {**header, "loss": loss, **({} if thresholds is None else {"thresholds": thresholds})}
    stored |= {f"loss/{name}": np.array(values) for name, values in arrays.items()}
    return b"".join(container.encode(header, stored))


def tree_loss(parent: list, leaf: list) -> bytes:
    loss = {"name": "hierarchical_softmax", "parent": {"array": "loss/parent"}, "leaf": {"array": "loss/leaf"}}
    return joint_loss(loss, parent=parent, leaf=leaf)


HEADER, BODY = good_parts()
TEXT = canonical(HEADER)
ATTACKS = {
    "length 2^63": with_arrays(lambda a: a[0].__setitem__(2, [2**63])),
    "length 2^64": with_arrays(lambda a: a[0].__setitem__(2, [2**64])),
    "product over 2^64": with_arrays(lambda a: a[0].__setitem__(2, [2**40, 2**40])),
    "1 TB array": with_arrays(lambda a: a[0].__setitem__(2, [2**37])),
    "negative length": with_arrays(lambda a: a[0].__setitem__(2, [-3])),
    "boolean length": with_arrays(lambda a: a[0].__setitem__(2, [True, 3])),
    "float length": with_arrays(lambda a: a[0].__setitem__(2, [3.0])),
    "three axes": with_arrays(lambda a: a[0].__setitem__(2, [1, 1, 3])),
    "wrong shape": with_arrays(lambda a: a[0].__setitem__(2, [3, 1])),
    "object dtype": with_arrays(lambda a: a[0].__setitem__(1, "|O8")),
    "big-endian dtype": with_arrays(lambda a: a[0].__setitem__(1, ">f8")),
    "integer coefficients": with_arrays(lambda a: a[0].__setitem__(1, "<i8")),
    "array twice": with_arrays(lambda a: a.__setitem__(1, a[0])),
    "array with an offset": with_arrays(lambda a: a[0].append(0)),
    "unknown array": with_arrays(lambda a: a[0].__setitem__(0, "../../etc/passwd")),
    "no array": with_arrays(lambda a: a.clear()),
    "arrays missing": edited(arrays=KeyError),
    "entry missing": edited(tol=KeyError),
    "entry too many": edited(surprise=1),
    "duplicate key": forged(TEXT.replace(b'"n":4', b'"n":4,"n":4'), BODY),
    "spaces": forged(TEXT.replace(b'"n":4', b'"n": 4'), BODY),
    "other order of keys": forged(json.dumps(dict(reversed(HEADER.items())), separators=(",", ":")).encode(), BODY),
    "NaN token": forged(TEXT.replace(b'"tol":1e-06', b'"tol":NaN'), BODY),
    "Infinity token": forged(TEXT.replace(b'"tol":1e-06', b'"tol":Infinity'), BODY),
    "number beyond floats": forged(TEXT.replace(b'"tol":1e-06', b'"tol":1e999'), BODY),
    "digits without end": forged(TEXT.replace(b'"n":4', b'"n":' + b"9" * 100_000), BODY),
    "deep lists": deep(b"[", 200_000),
    "deep dicts": deep(b'{"a":', 200_000),
    "deep losses": edited(loss=moreaus(200)),
    "not UTF-8": forged(b"\xff" * 8),
    "a list as header": forged(b"[]"),
    "header of 4 GB": forged(TEXT, BODY, length=2**32 - 8),
    "header to the end": forged(TEXT, BODY, length=len(TEXT) + len(BODY) + 64),
    "newer version": forged(TEXT, BODY, version=2),
    "pickle": b"\x80\x04cos\nsystem\n(S'true'\ntR.",
    "zip": b"PK\x03\x04" + bytes(100),
    "empty": b"",
    "unknown loss": edited(loss={"name": "os.system"}),
    "loss is no dict": edited(loss=[1]),
    "bad loss parameter": edited(loss={"name": "hinge", "margin": [1]}),
    "tree with a cycle": tree_loss([-1, 2, 1], [2]),
    "tree beyond its end": tree_loss([-1, 0, 9], [1, 2]),
    "leaf beyond the tree": tree_loss([-1, 0, 0], [1, 7]),
    "tree of fractions": tree_loss([-1.0, 0.0, 0.5], [1, 2]),
    "negative weights of ranks": joint_loss({"name": "weighted_top_k", "rho": {"array": "loss/rho"}}, rho=[1.0, -1.0]),
    "loss array that is not there": joint_loss({"name": "weighted_top_k", "rho": {"array": "loss/x"}}, rho=[1.0]),
    "text for k": joint_loss({"name": "top_k", "k": "2"}),
    "k missing": joint_loss({"name": "top_k"}),
    "several scores with thresholds": joint_loss({"name": "max_hinge"}, thresholds=[0.0]),
    "thresholds of text": edited(thresholds=["0"]),
    "constant of text": edited(constant="1"),
    "constant as a whole number": edited(constant=1),
    "constant that is a truth value": edited(constant=True),
    "thresholds without a measure": edited(thresholds=[0.0]),
    "unknown measure": edited(loss={"name": "ndcg", "k": 1.5, "decay": None}, labels=None),
    "extra loss parameter": edited(loss={"name": "hinge", "margin": 1.0, "x": 1.0}),
    "unknown regularizer": edited(regularizer=["l3", {"alpha": 1.0}]),
    "array that is not there": edited(regularizer=["l2", {"alpha": {"array": "regularizer/K"}}]),
    "coef as parameter": edited(regularizer=["quadratic", {"K": {"array": "intercept"}, "alpha": 1.0}]),
    "text as parameter": edited(regularizer=["l2", {"alpha": "1.0"}]),
    "unknown status": edited(statuses=["PERFECT"]),
    "certificate without a part": edited(certificates=[{"primal": 1.0, "dual": 1.0}]),
    "certificate with a list": edited(certificates=[{"primal": [1.0], "dual": 1.0, "basis": "x", "floor": 0.0}]),
    "wrong n": edited(n=5),
    "true for n": edited(n=True),
    "text for a flag": edited(weighted="no"),
    "short digest": edited(digests=["ab"]),
    "one label": edited(labels=[1]),
    "nested label": edited(labels=[[1], [2]]),
    "versions of numbers": edited(versions={"fenchel": 1}),
    "versions as list": edited(versions=[]),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_structure_attacks_are_refused_quickly_in_bounded_memory(attack, tmp_path):
    refuses_quickly(tmp_path / "m", ATTACKS[attack])


def test_the_forger_of_these_tests_can_also_forge_a_good_file(tmp_path):
    (tmp_path / "m").write_bytes(edited())
    assert same(fenchel.load(tmp_path / "m"), small_model())


def test_the_forger_can_also_forge_a_good_tree(tmp_path):
    (tmp_path / "m").write_bytes(tree_loss([-1, 0, 0], [1, 2]))
    assert fenchel.load(tmp_path / "m").loss == multiclass.HierarchicalSoftmax([-1, 0, 0])


def test_a_newer_format_is_named(tmp_path):
    (tmp_path / "m").write_bytes(ATTACKS["newer version"])
    with pytest.raises(ModelFileError, match="format version 2, and this Fenchel reads version 1"):
        fenchel.load(tmp_path / "m")


def test_a_terabyte_of_nothing_is_refused_at_once(tmp_path):
    path = tmp_path / "m"
    header = {**HEADER, "arrays": [["coef", "<f8", [2**37]], ["intercept", "<f8", []]]}
    path.write_bytes(forged(canonical(header)))
    os.truncate(path, 2**40)  # sparse: takes no room on the disk
    with pytest.raises(ModelFileError, match=r"largest=\.\.\."):
        fenchel.load(path)
    os.truncate(path, 2**33)
    with pytest.raises(ModelFileError, match="does not match its size"):
        fenchel.load(path)


def test_only_plain_files_are_read_and_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(ModelFileError, match="not a plain file"):
            fenchel.load(path)
        with pytest.raises(InputError, match="plain file"):
            fenchel.save(path, small_model())
    with pytest.raises((ModelFileError, IsADirectoryError)):
        fenchel.load(tmp_path)
    with pytest.raises(InputError, match="plain file"):
        fenchel.save(tmp_path, small_model())
    with pytest.raises(FileNotFoundError):
        fenchel.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        fenchel.save(tmp_path / "no" / "folder", small_model())


def test_links_are_followed_when_reading_and_replaced_when_writing(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    fenchel.save(target, small_model())
    link.symlink_to(target)
    assert same(fenchel.load(link), small_model())
    before = target.read_bytes()
    fenchel.save(link, three_scores())
    assert target.read_bytes() == before
    assert not link.is_symlink()
    assert same(fenchel.load(link), three_scores())


# Nothing runs


def test_the_load_path_contains_no_way_to_run_code():
    forbidden = {"pickle", "marshal", "shelve", "joblib", "eval", "exec", "compile", "__import__", "import_module"}
    forbidden |= {"system", "popen", "literal_eval", "load_module", "globals", "memmap"}
    parts = ("file", "stored", "stored_names", "stored_points", "plain_data")
    for name in (*(f"models/{part}.py" for part in parts), "files/container.py"):
        for node in ast.walk(ast.parse((SOURCE / name).read_text())):
            words = {getattr(node, "id", ""), getattr(node, "attr", "")}
            for alias in getattr(node, "names", []):
                words |= set(getattr(alias, "name", "").split("."))
            assert not words & forbidden, (name, getattr(node, "lineno", 0), words & forbidden)
        calls = [n for n in ast.walk(ast.parse((SOURCE / name).read_text())) if isinstance(n, ast.Call)]
        looked_up = [c.args[0] for c in calls if getattr(c.func, "id", "") == "getattr"]
        assert all(isinstance(arg, ast.Name) and arg.id == "os" for arg in looked_up)  # flags of the platform only


AUDIT = """
import sys, fenchel
fenchel.load(sys.argv[1])  # the modules themselves are imported once
events = []
sys.addaudithook(lambda event, args: events.append((event, str(args)[:80])) if watching else None)
watching = True
fenchel.load(sys.argv[1])
watching = False
print([e for e in events if e[0] in ("import", "exec", "compile", "pickle.find_class", "marshal.loads", "os.system",
       "subprocess.Popen", "socket.connect", "ctypes.dlopen")])
print(sum(e[0] == "open" for e in events) <= 2)
"""


def test_loading_imports_and_executes_nothing(tmp_path):
    fenchel.save(tmp_path / "m", small_model(regularizer=regularizers.Quadratic(0.1, [1.0, 2.0, 3.0])))
    code = "watching = False\n" + AUDIT
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "m"], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[]", "True"]


# Crash and full disk


def test_a_failure_at_any_call_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "m"
    fenchel.save(path, small_model())
    old = path.read_bytes()
    for module, name in [(os, "fsync"), (os, "replace"), (atomic_write.secrets, "token_hex")]:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, _failing)
            with pytest.raises(OSError, match="No space"):
                fenchel.save(path, three_scores())
        assert path.read_bytes() == old
        assert [p.name for p in tmp_path.iterdir()] == ["m"]


def _failing(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_interrupt_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def interrupted():
        with atomic_write.replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


KILL = """
import sys, os, signal, fenchel
model, path, count = fenchel.load(sys.argv[1]), sys.argv[1], int(sys.argv[2])
seen = 0
def hook(event, args):
    global seen
    if event in ("open", "os.chmod", "os.rename", "os.remove") and armed:
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)
armed = False
sys.addaudithook(hook)
from dataclasses import replace
other = replace(model, intercept=7.0)
armed = True
fenchel.save(path, other)
"""


def test_kill_at_every_step_of_saving_leaves_a_whole_file(tmp_path):
    path = tmp_path / "m"
    outcomes = set()
    for count in (1, 2, 3, 4, 5):
        fenchel.save(path, small_model())
        run = subprocess.run([sys.executable, "-c", KILL, path, str(count)], capture_output=True)
        outcomes.add((run.returncode, fenchel.load(path).intercept))
    assert outcomes <= {(-9, 0.25), (-9, 7.0), (0, 7.0)}
    assert len(outcomes) > 1


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    fenchel.save(tmp_path / "m", small_model())
    os.chmod(tmp_path / "m", 0o600)
    fenchel.save(tmp_path / "m", three_scores())
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o600
