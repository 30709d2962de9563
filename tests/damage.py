"""What accidents do to files, for the tests of model files."""

import io
import tracemalloc

import pytest

import fenchel
from clock import least_seconds
from fenchel.errors import ModelFileError
from fenchel.files import container


def refuses_every_accident(path):
    """Every flipped bit, every truncation and an extension of a good model file must be noticed."""
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ModelFileError):
            container.decode(io.BytesIO(changed), len(changed))
    for changed in [*(whole[:end] for end in range(len(whole))), whole + b"\0", whole + whole]:
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            fenchel.load(path)


def refuses_quickly(path, content):
    """A file that is made up with skill is refused at once, and takes no more memory than it has bytes."""
    path.write_bytes(content)

    def refused():
        with pytest.raises(ModelFileError, match="cannot be read as a model"):
            fenchel.load(path)

    assert least_seconds(refused, 0.1) < 0.1
    tracemalloc.start()
    refused()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000 + 60 * len(content)
