"""Every example in a docstring is run: what the documentation shows is what happens."""

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import fenchel

ROOT = Path(fenchel.__file__).parent
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
MODULES = sorted(
    ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for file in ROOT.rglob("*.py")
    if file.stem != "__main__"  # importing it runs the command line
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_are_true(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write a file
    with np.printoptions():
        result = doctest.testmod(importlib.import_module(module), optionflags=OPTIONS)
    assert result.failed == 0


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("fenchel", ["Problem", "certify", "solve"]),
        ("fenchel.losses", ["Hinge", "Logistic", "check", "make"]),
        ("fenchel.regularizers", ["L1", "L2", "ElasticNet"]),
    ],
)
def test_the_way_in_has_examples(module, names):
    for name in names:
        thing = getattr(importlib.import_module(module), name)
        assert any(found.examples for found in doctest.DocTestFinder(recurse=False).find(thing, name)), name
