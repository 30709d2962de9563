"""Rows on disk: the same bits as in memory, bounded memory, and nothing damaged goes unnoticed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
from cluster_problems import CASES, bits
from fenchel.cli import main
from fenchel.data import mapped, write_store
from fenchel.data.accept import accept_matrix
from fenchel.data.row_blocks import VALUES, limit_threads, map_row_blocks
from fenchel.data.write_store import RowBlock
from fenchel.engines import Local, local
from fenchel.errors import InputError
from fenchel.readers.convert import convert
from fenchel.solvers.subsampling.samples import drawn, strided
from fenchel.structured import Chain, Matching


def data(sparse, dtype=np.float64, n=300, d=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return (sp.csr_matrix(X, dtype=dtype) if sparse else X.astype(dtype)), y


def pieces(X, y, groups=None, step=37):
    for a in range(0, X.shape[0], step):
        span = slice(a, a + step)
        yield RowBlock(X[span], y[span], None if groups is None else groups[span])


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(write_store, "BLOCK_BYTES", 2000)


def written(tmp_path, X, y, groups=None):
    return write_store.write_store(tmp_path / "rows", pieces(X, y, groups))


def test_samples_of_rows_on_disk_are_in_the_order_in_which_they_lie(tmp_path):
    X, y = data(True)
    rows = accept_matrix(fenchel.open(written(tmp_path, X, y)))[1]
    few = y.size // 5
    assert np.array_equal(drawn(rows, y.size, few), strided(y.size, few))
    assert not np.array_equal(drawn(accept_matrix(X)[1], y.size, few), strided(y.size, few))  # in memory by length


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_opened_is_what_was_written(tmp_path, small_blocks, sparse, dtype):
    X, y = data(sparse, dtype)
    groups = np.arange(y.size) // 10
    stored = fenchel.open(written(tmp_path, X, y, groups))
    back = stored.X.toarray() if sparse else np.asarray(stored.X)
    assert back.dtype == dtype
    assert back.tolist() == (X.toarray() if sparse else X).tolist()
    assert (stored.y.tolist(), stored.groups.tolist()) == (y.tolist(), groups.tolist())
    assert mapped.is_mapped(accept_matrix(stored)[1])
    manifest = json.loads((tmp_path / "rows" / "manifest.json").read_text())
    assert len(manifest["digests"]) > 2


def test_the_cut_does_not_depend_on_how_the_rows_came(tmp_path, small_blocks):
    X, y = data(True)
    for name, step in (("a", 11), ("b", 300)):
        write_store.write_store(tmp_path / name, pieces(X, y, step=step))
    for file in sorted((tmp_path / "a").iterdir()):
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


TASKS = {
    "scalar": {"loss": "logistic", "solver": "lbfgs", "fit_intercept": True},
    "nonsmooth": {"loss": "hinge", "solver": "bundle"},
    "dual": {"loss": "hinge", "solver": "dual_ascent"},
    "classes": {"loss": "softmax", "solver": "lbfgs"},
    "measure": {"loss": "roc_area", "solver": "bundle"},
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("sparse", [False, True])
def test_disk_and_memory_give_the_same_bits(tmp_path, small_blocks, monkeypatch, task, sparse):
    monkeypatch.setattr(local, "SMALLEST_BLOCK", 100)
    X, y = data(sparse)
    options = dict(TASKS[task])
    solver = options.pop("solver")
    y = (y > 0).astype(int) if options["loss"] == "softmax" else y
    stored = fenchel.open(written(tmp_path, X, y.astype(float)))
    target = y if options["loss"] == "softmax" else None
    results = [
        fenchel.solve(fenchel.Problem(*source, alpha=1e-2, **options), solver=solver, tol=1e-3, engine=Local(threads=t))
        for source in ((X, y), (stored, target))
        for t in (1, 2)
    ]
    assert all(r.converged for r in results)
    assert len({r.coef.tobytes() for r in results}) == 1
    assert len({(r.certificate.primal, r.certificate.dual) for r in results}) == 1
    assert len({r.problem.digest for r in results}) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_are_read_ahead_and_let_go_of_after_use(tmp_path, small_blocks, monkeypatch, threads):
    """A block is asked for while one before it computes, and every one is let go of once it is done."""
    monkeypatch.setattr(local, "SMALLEST_BLOCK", 100)
    problem = fenchel.Problem(fenchel.open(written(tmp_path, *data(False))), loss="logistic", alpha=1e-2)
    seen = []
    monkeypatch.setattr(local, "fetch", lambda rows: seen.append(("fetch", rows)))
    monkeypatch.setattr(local, "release", lambda rows: seen.append(("release", rows)))
    engine = Local(threads)
    blocks = engine.blocks(problem)
    assert len(blocks) > 8
    number = {id(block.rows): k for k, block in enumerate(blocks)}
    found = engine.map(lambda block: seen.append(("work", block.rows)) or block.start, blocks)
    assert found == [block.start for block in blocks]
    order = [(what, number[id(rows)]) for what, rows in seen]
    for k in range(len(blocks)):
        assert order.index(("work", k)) < order.index(("release", k))
        if k >= threads:  # the first are needed at once
            assert order.index(("fetch", k)) < order.index(("work", k - threads)), "by whoever works on that one"


def test_queries_come_from_the_folder(tmp_path):
    X, _ = data(False)
    rng = np.random.default_rng(1)
    relevance, groups = rng.integers(0, 3, X.shape[0]).astype(float), np.arange(X.shape[0]) // 10
    stored = fenchel.open(written(tmp_path, X, relevance, groups))
    problems = [
        fenchel.Problem(stored, loss="ndcg", alpha=0.1),
        fenchel.Problem(X, relevance, loss="ndcg", alpha=0.1, groups=groups),
    ]
    assert problems[0].digest == problems[1].digest


@pytest.mark.parametrize("name", ["values", "columns", "starts", "y"])
def test_a_flipped_bit_names_file_and_block(tmp_path, small_blocks, name):
    folder = written(tmp_path, *data(True))
    file = folder / f"{name}.bin"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}\.bin: block \d+ \(rows \d+ to \d+\) is damaged"):
        fenchel.open(folder)


@pytest.mark.parametrize("name", ["values", "columns", "starts", "y"])
def test_a_file_cut_off_or_missing_is_named(tmp_path, name):
    folder = written(tmp_path, *data(True))
    file = folder / f"{name}.bin"
    os.truncate(file, file.stat().st_size - 1)
    with pytest.raises(InputError, match=rf"{name}\.bin has \d+ bytes, expected \d+"):
        fenchel.open(folder)
    file.unlink()
    with pytest.raises(InputError, match=rf"{name}\.bin cannot be read"):
        fenchel.open(folder)


EDITS = [
    lambda m: m.update(rows=m["rows"] + 1),
    lambda m: m.update(columns=0),
    lambda m: m.update(edges=m["edges"][::-1]),
    lambda m: m.update(digests=m["digests"][1:]),
    lambda m: m.update(storage="other"),
    lambda m: m.update(kinds={"values": "float64"}),
    lambda m: m.pop("labels"),
    lambda m: m.update(format="fenchel rows 99"),
]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_manifest_is_refused(tmp_path, small_blocks, edit):
    folder = written(tmp_path, *data(True))
    manifest = json.loads((folder / "manifest.json").read_text())
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError):
        fenchel.open(folder)


@pytest.mark.parametrize("name", ["columns", "starts"])
def test_numbers_that_would_send_a_kernel_astray_are_refused_even_with_a_right_digest(tmp_path, name):
    folder = written(tmp_path, *data(True))
    file = folder / f"{name}.bin"
    array = np.fromfile(file, dtype="<i4")
    array[array.size // 2] = 10**6
    array.tofile(file)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["digests"][0][name] = hashlib.sha256(file.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="damaged"):
        fenchel.open(folder)


def test_no_manifest_and_no_json(tmp_path):
    with pytest.raises(InputError, match="no manifest"):
        fenchel.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        fenchel.open(tmp_path)


def test_a_failure_leaves_nothing_behind(tmp_path):
    X, y = data(False)

    def broken():
        yield RowBlock(X, y)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_store.write_store(tmp_path / "rows", broken())
    assert list(tmp_path.iterdir()) == []
    written(tmp_path, X, y)
    with pytest.raises(InputError, match="already exists"):
        written(tmp_path, X, y)
    with pytest.raises(InputError, match="does not exist"):
        write_store.write_store(tmp_path / "no" / "rows", pieces(X, y))
    with pytest.raises(InputError, match="no rows"):
        write_store.write_store(tmp_path / "empty", [])
    with pytest.raises(InputError, match="one kind"):
        write_store.write_store(tmp_path / "mixed", [RowBlock(X, y), RowBlock(sp.csr_matrix(X), y)])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_walk_covers_every_row_once_in_order_and_keeps_few_results(threads):
    X, _ = data(True)
    rows = accept_matrix(X)[1]
    begun = []

    def work(span, part):
        begun.append(span.start)
        return span.start, span.stop

    with limit_threads(threads):
        spans, most = [], 0
        for span in map_row_blocks(rows, 300, work, values=20):
            spans.append(span)
            most = max(most, len(begun) - len(spans))
    assert len(spans) > 30
    assert (spans[0][0], spans[-1][1]) == (0, 300)
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    assert most <= 2 * threads + 1


@pytest.mark.parametrize("threads", [1, 2])
def test_the_certificate_of_several_blocks_is_that_of_the_definition(threads):
    rng = np.random.default_rng(0)
    X, w, u = rng.standard_normal((130_000, 20)), rng.standard_normal(20), rng.random(130_000) - 0.5
    y = X @ w + rng.standard_normal(130_000)
    problem = fenchel.Problem(X, y, loss="squared", alpha=0.5)
    assert X.size > 2 * VALUES
    with limit_threads(threads):
        found = fenchel.certify(problem, 0.9 * w, dual_point=u)
    v = -X.T @ u / y.size
    assert found.primal == pytest.approx(np.mean((0.9 * X @ w - y) ** 2) / 2 + 0.25 * np.sum((0.9 * w) ** 2), rel=1e-12)
    assert found.dual == pytest.approx(-np.mean(u**2 / 2 + u * y) - v @ v, rel=1e-12)


def test_an_error_in_a_walk_is_raised():
    rows = accept_matrix(np.ones((50, 2)))[1]

    def work(span, part):
        if span.start <= 20 < span.stop:
            raise OSError("the disk is gone")

    with limit_threads(2), pytest.raises(OSError, match="gone"):
        list(map_row_blocks(rows, 50, work, values=20))


# --- fenchel convert -------------------------------------------------------------------------------------------------


def test_convert_and_train_on_the_command_line(tmp_path, capsys):
    text = "".join(f"{'+1' if k % 3 else '-1'} 1:{k % 7} 3:{k % 5}\n" for k in range(60))
    (tmp_path / "a.svm").write_text(text)
    source, rows = str(tmp_path / "a.svm"), str(tmp_path / "rows")
    assert main(["convert", source, rows]) == 0
    assert "60 rows, 3 columns" in capsys.readouterr().out
    for data_path, model in ((source, "one"), (rows, "two")):
        assert main(["train", data_path, "--model", str(tmp_path / model), "--loss", "logistic"]) == 0
    one, two = fenchel.load(tmp_path / "one"), fenchel.load(tmp_path / "two")
    assert one.coef.tobytes() == two.coef.tobytes()
    assert one.digests == two.digests
    for data_path in (source, rows):
        assert main(["verify", str(tmp_path / "two"), data_path]) == 0
        assert main(["predict", str(tmp_path / "two"), data_path]) == 0
    assert main(["convert", source, rows]) == 1
    assert "already exists" in capsys.readouterr().err


TABLE = "length,species,width\n1.5,ash,2\n0.5,oak,3\n2.5,ash,-1\n"


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_tables_with_words_as_targets(tmp_path, kind):
    pytest.importorskip("pyarrow")
    file = tmp_path / f"trees.{kind}"
    if kind == "parquet":
        import io

        import pandas

        pandas.read_csv(io.StringIO(TABLE)).to_parquet(file)
    else:
        file.write_text(TABLE if kind == "csv" else TABLE.replace(",", "\t"))
    stored = fenchel.open(convert(file, tmp_path / "rows", target="species"))
    assert stored.X.tolist() == [[1.5, 2.0], [0.5, 3.0], [2.5, -1.0]]
    assert (stored.y.tolist(), stored.labels, stored.features) == ([0.0, 1.0, 0.0], ["ash", "oak"], ["length", "width"])


BAD = {
    "no column 'height'; its columns are length, species, width": {"target": "height"},
    "column 'species' holds string, not numbers": {"target": "width"},
    "are for svmlight text": {"n_features": 3},
}


@pytest.mark.parametrize("message", BAD)
def test_bad_tables_say_what_is_wrong(tmp_path, message):
    pytest.importorskip("pyarrow")
    (tmp_path / "trees.csv").write_text(TABLE)
    with pytest.raises(InputError, match=message):
        convert(tmp_path / "trees.csv", tmp_path / "rows", **BAD[message])
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,\n", "column 'b' is missing"),
        ("a,b\n", "no row"),
        ("a,b\n1,2,3\n", "cannot be read"),
        ("b\n1\n", "no column other than"),
    ],
)
def test_damaged_tables(tmp_path, text, message):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        convert(tmp_path / "t.csv", tmp_path / "rows")


GROW = """
import sys, numpy as np, fenchel
from fenchel.data.write_store import RowBlock, write_store

def blocks():
    rng = np.random.default_rng(0)
    for _ in range(40):
        X = rng.standard_normal((40_000, 25))  # 8 MB
        yield RowBlock(X, np.where(X[:, 0] > 0, 1.0, -1.0))

folder = sys.argv[1] + "/rows"
write_store(folder, blocks())
tiny = fenchel.Problem(np.eye(25), np.ones(25), loss="logistic", alpha=0.1)
for solver in ("lbfgs", "newton_cg"):
    fenchel.solve(tiny, solver=solver)
def peak():
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmHWM")) / 1024
open("/proc/self/clear_refs", "w").write("5")
before = peak()
problem = fenchel.Problem(fenchel.open(folder), loss="logistic", alpha=1e-3)
for solver in ("lbfgs", "newton_cg"):
    assert fenchel.solve(problem, solver=solver, tol=1e-3, checkpoint=sys.argv[1] + "/" + solver).converged
print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="reads the kernel's high-water mark")
def test_resident_memory_stays_far_below_the_data(tmp_path):
    out = subprocess.run([sys.executable, "-c", GROW, str(tmp_path)], capture_output=True, text=True, check=True).stdout
    vectors = 10 * 1.6e6 * 8 / 2**20  # y, weights, offset, scores and dual variables are in memory
    assert float(out) < 0.4 * 320 + vectors


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["chain", "chain log"])
def test_sequences_on_disk_give_the_bits_of_memory(tmp_path, small_blocks, name, sparse):
    case = CASES[name]
    examples = [sp.csr_matrix(x) for x in case.X] if sparse else case.X
    X = sp.vstack(examples, format="csr") if sparse else np.vstack(examples)
    numbers = np.repeat(np.arange(len(examples))[::-1], [len(y) for y in case.y])
    stored = fenchel.open(written(tmp_path, X, np.concatenate(case.y).astype(float), numbers))
    there, here = fenchel.Problem(stored, **case.options), fenchel.Problem(examples, case.y, **case.options)
    assert mapped.is_mapped(there.model.rows)
    assert there.digest == here.digest
    expected = bits(case.solve(here, engine=Local(1, case.cut)))
    for threads in (1, 2):
        assert bits(case.solve(there, engine=Local(threads, case.cut))) == expected
    result = fenchel.solve(there, tol=1e-3)
    assert result.status is fenchel.Status.CERTIFIED
    assert fenchel.certify(here, result.coef, dual_point=result.dual_point).holds(1e-3)


def test_rows_on_disk_that_are_no_sequences_are_refused(tmp_path):
    X, _ = data(False)
    y = np.arange(300.0) % 3
    chain = {"loss": Chain(), "alpha": 0.1}
    cases = {
        "which sequence": (y, None, chain),
        "sequence 4 are not consecutive": (y, np.arange(300) // 10 % 25 + 4, chain),
        "row 7 .* has target 1.5": (np.where(np.arange(300) == 7, 1.5, y), np.arange(300) // 10, chain),
        "edge_features=False": (y, np.arange(300) // 10, {"loss": Chain(edge_features=True), "alpha": 0.1}),
        "Chain only": (y, np.arange(300) // 10, {"loss": Matching(), "alpha": 0.1}),
    }
    for number, (words, (targets, groups, options)) in enumerate(cases.items()):
        stored = fenchel.open(write_store.write_store(tmp_path / str(number), pieces(X, targets, groups)))
        with pytest.raises(InputError, match=words):
            fenchel.Problem(stored, **options)
