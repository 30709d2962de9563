"""Readers and what they are given: mutated files for a moment (`make fuzz` for hours), and files cut off at every byte."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import scipy.sparse as sp

import fenchel
import fuzz
from fenchel.data.write_store import RowBlock, write_store
from fenchel.errors import FenchelError, InputError, ReadError
from fenchel.readers.columns import read_columns
from fenchel.readers.convert import convert


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return fuzz.seeds(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("name", fuzz.READERS)
def test_mutated_files_give_an_answer_or_an_error_of_ours(good, name, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)  # where a case that fails is kept
    caplog.set_level(logging.CRITICAL)
    assert fuzz.run(name, good[name], 1.5, seed=0) > 50


def test_a_column_file_cut_off_at_every_byte(tmp_path, caplog):
    text = "the DT B-NP\nd\u00f6g NN I-NP\n\nit PRP B-NP\nis VBZ O\n".encode()
    path = tmp_path / "words"
    path.write_bytes(text)
    whole = [row for sentence in read_columns(path).sentences for row in sentence]
    for end in range(len(text)):
        path.write_bytes(text[:end])
        caplog.clear()
        try:
            rows = [row for sentence in read_columns(path).sentences for row in sentence]
        except ReadError:
            continue
        complete = text[:end].endswith(b"\n") or not text[:end].rpartition(b"\n")[2]
        assert bool(caplog.records) != complete
        assert rows[: len(rows) - (not complete)] == whole[: len(rows) - (not complete)]


def test_a_table_cut_off_at_every_byte(tmp_path, caplog):
    pytest.importorskip("pyarrow")
    text = b"a,b,y\n1.25,2,1\n-3.5,1e-3,0\n77,8.125,1\n"
    (tmp_path / "t.csv").write_bytes(text)
    whole = np.asarray(fenchel.open(convert(tmp_path / "t.csv", tmp_path / "whole")).X).tolist()
    for end in range(len(text)):
        (tmp_path / "t.csv").write_bytes(text[:end])
        caplog.clear()
        try:
            X = np.asarray(fenchel.open(convert(tmp_path / "t.csv", tmp_path / f"rows{end}")).X).tolist()
        except FenchelError:
            continue
        cut = not text[:end].endswith(b"\n")
        assert bool(caplog.records) == cut
        assert X[: len(X) - cut] == whole[: len(X) - cut]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_store_cut_off_at_every_byte(tmp_path, sparse):
    X = np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 5.0]])
    write_store(tmp_path / "rows", [RowBlock(sp.csr_matrix(X) if sparse else X, np.array([1.0, -1.0, 1.0]))])
    for file in sorted((tmp_path / "rows").iterdir()):
        content = file.read_bytes()
        for end in range(len(content.rstrip())):
            file.write_bytes(content[:end])
            with pytest.raises(InputError):
                fenchel.open(tmp_path / "rows")
        file.write_bytes(content)
    assert fenchel.open(tmp_path / "rows").shape == (3, 2)


def test_a_parquet_file_cut_off_anywhere(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table({"a": [1.0, 2.0], "y": [1, 0]}), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    for end in range(0, len(content), 13):
        (tmp_path / "t.parquet").write_bytes(content[:end])
        with pytest.raises(InputError):
            convert(tmp_path / "t.parquet", tmp_path / "rows")
