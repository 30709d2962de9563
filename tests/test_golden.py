"""Model files of every release load for ever and predict bit-equal; a newer format is a named error."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel.errors import ModelFileError

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*/*.fenchel"))
ROWS = np.array([[1.0, -2.0, 0.5], [0.0, 0.25, 3.0], [-1.5, 1.0, 1.0], [2.0, 2.0, -4.0], [0.125, 0.0, -0.5]])


def expected(file):
    return json.loads((file.parent / "expected.json").read_text(encoding="utf-8"))[file.stem]


def test_every_release_has_its_golden_files():
    assert fenchel.__version__ in {file.parent.name for file in FILES}, "python tests/golden/make.py"
    for folder in {file.parent for file in FILES}:
        assert len(list(folder.glob("*.fenchel"))) >= 8


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_golden_file_loads_and_predicts_bit_equal(file):
    model, wanted = fenchel.load(file), expected(file)
    if file.stem == "chain":
        assert model.predict([ROWS])[0] == wanted["predictions"]
        return
    scores = np.reshape(model.scores(ROWS), (len(ROWS), -1))
    assert [[float(value).hex() for value in row] for row in scores] == wanted["scores"]
    found = model.predict(ROWS).tolist()
    assert [value.hex() if isinstance(value, float) else value for value in found] == wanted["predictions"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_golden_file_is_written_again_with_the_same_bytes(file, tmp_path):
    """As long as the format stays; a later format may drop this, never the test above."""
    fenchel.save(tmp_path / "again", fenchel.load(file))
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_a_newer_format_is_a_named_error(tmp_path):
    content = bytearray(FILES[0].read_bytes()[:-32])
    content[8:12] = struct.pack("<I", 2)
    (tmp_path / "newer").write_bytes(bytes(content) + hashlib.sha256(content).digest())
    with pytest.raises(ModelFileError, match="format version 2.*use a newer Fenchel"):
        fenchel.load(tmp_path / "newer")
