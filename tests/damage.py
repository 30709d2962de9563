"""What accidents do to files, for the tests of model files."""

import io

import pytest

import fenchel
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
