"""A fuzzer of everything that reads a file: `python tests/fuzz.py [--seconds 60] [reader ...]`, or `make fuzz`.

Good files are mutated (bits, spans, tokens, splices, cuts) and read. Allowed is an answer or an error of Fenchel, within a
second; anything else is written to a file named fuzz-... and reported. What svmlight text means is also asked of the parser's
Python source, which must agree with the compiled one to the last bit; whatever a signed file holds is given a right checksum,
so that what lies behind it is reached.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import hashlib
import io
import json
import logging
import lzma
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fenchel
from fenchel.data.write_store import RowBlock, write_store
from fenchel.errors import FenchelError
from fenchel.files import container
from fenchel.readers.columns import read_columns
from fenchel.readers.svmlight import rows as svmlight_rows
from fenchel.readers.svmlight.parse import parse_rows
from fenchel.readers.svmlight.read import iter_svmlight, read_svmlight
from fenchel.sequences.templates import Templates
from fenchel.solving.checkpoint import CheckpointWriter

SVMLIGHT = [
    b"1 1:2 3:4\n-1 2:5 # note\n", b"+1 qid:3 1:0.5 7:1e-3\n0 qid:4 2:-0\n", b"\xef\xbb\xbf1 0:1\r\n2 5:4.9e-324 9:1e308\r\n",
    b"# \xc3\xa9\n\n 1\t3:1 1:2  2:3\n", b"1 4611686018427387904:1\n",
]  # fmt: skip
COLUMNS = [b"the DT B-NP\ndog NN I-NP\n\nit PRP B-NP\n", b"\xc3\xa9\tx\n#\ty\n", b"a b\r\n\r\nc d\r\n"]
TEMPLATE = [b"U00:%x[-2,0]\nU01:%x[0,1]/%x[1,0]\n# note\nB\n", b"U:%x[0,0]\nB01:%x[-1,0]\n"]
TOKENS = [
    b":", b" ", b"\n", b"\r", b"\t", b"#", b"qid:", b"nan", b"inf", b"-", b"+", b".", b"e", b"e308", b"1e-400", b"0", b"9" * 25,
    b"18446744073709551616", b"1_0", b"0x1", b"\0", b"\xff", b"\xe2\x80\xa8", b"%x[", b"]", b"U", b"{", b"}", b"[]", b'"',
    b"null", b"1e999", b"true", b"-1", b"/", b"\xc2\xa0",
]  # fmt: skip


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    """Some changes to a good file."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 4, 10))):
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        match rng.randrange(8):
            case 0 if data:
                data[min(a, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del data[a : min(b, a + 20)]
            case 2:
                data[a:a] = data[a:b][:50] * rng.choice((1, 1, 2, 30))
            case 3 | 4:
                data[a:a] = rng.choice(TOKENS)
            case 5:
                data[a : a + rng.randrange(4)] = rng.choice(TOKENS)
            case 6:
                data[a:] = rng.choice(seeds)[rng.randrange(4) :]
            case _:
                del data[a:]
    return bytes(data)


def outcome(read, data: bytes) -> object:
    try:
        found = read(io.BytesIO(data))
    except FenchelError as error:
        return str(error)
    parts = (found.X.indptr, found.X.indices, found.X.data, found.y, found.qid)
    return [None if part is None else (part.dtype.str, part.tobytes()) for part in parts] + [
        found.index_base,
        found.X.shape,
    ]


def svmlight(data: bytes) -> None:
    """Compiled and Python source agree; so do small blocks; an error says where."""
    found = outcome(read_svmlight, data)
    assert not isinstance(found, str) or found.startswith("<stream>:"), found
    compiled = svmlight_rows.parse_rows
    svmlight_rows.parse_rows = parse_rows.py_func
    try:
        assert outcome(read_svmlight, data) == found
    finally:
        svmlight_rows.parse_rows = compiled
    assert outcome(lambda file: read_svmlight(file, block_bytes=7), data) == found
    with_blocks(data, found)


def with_blocks(data: bytes, found: object) -> None:
    """A stream of row blocks reads the same, or says the same."""
    said: object = None
    try:
        rows = sum(block.X.shape[0] for block in iter_svmlight(io.BytesIO(data), rows=2))
    except FenchelError as error:
        said = str(error)
    assert said == found if isinstance(found, str) else rows == found[-1][0]


def compressed(data: bytes) -> None:
    """Damaged compressed files: what is read is a table, or an error of Fenchel."""
    outcome(read_svmlight, data)
    columns(data)


def columns(data: bytes) -> None:
    try:
        found = read_columns(io.BytesIO(data), -1)
    except FenchelError:
        return
    assert all(len(row) == found.width for sentence in found.sentences for row in sentence)


def template(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            Templates.read(file.name)
        except FenchelError:
            return


def signed(data: bytes) -> bytes:
    """With a right length of the header, if it can be found, and a right checksum."""
    body = data[: -container.DIGEST]
    return body + hashlib.sha256(body).digest()


def model(data: bytes) -> None:
    for content in (data, signed(data)):
        PLACES["model"].write_bytes(content)
        try:
            found = fenchel.load(PLACES["model"])
        except FenchelError:
            continue
        assert np.isfinite(found.coef).all()


def checkpoint(data: bytes) -> None:
    for content in (data, signed(data)):
        PLACES["checkpoint"].write_bytes(content)
        try:
            CheckpointWriter(PLACES["checkpoint"], PROBLEM, "auto").read()
        except FenchelError:
            continue


def manifest(data: bytes) -> None:
    (PLACES["store"] / "manifest.json").write_bytes(data)
    try:
        found = fenchel.open(PLACES["store"])
    except FenchelError:
        return
    assert found.X.shape == (3, 2)


PROBLEM = fenchel.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -1.0, 1.0], loss="hinge", alpha=0.1)
PLACES: dict[str, Path] = {}
READERS = {
    "svmlight": svmlight, "compressed": compressed, "columns": columns, "template": template, "model": model,
    "checkpoint": checkpoint, "manifest": manifest,
}  # fmt: skip


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """Good files of every kind."""
    PLACES.update(model=folder / "model", checkpoint=folder / "checkpoint", store=folder / "store")
    result = fenchel.solve(PROBLEM, solver="bundle")
    fenchel.save(PLACES["model"], result)
    CheckpointWriter(PLACES["checkpoint"], PROBLEM, "auto").keep(
        lambda: {"iteration": 3, "w": result.coef, "x": [np.inf, None, "w"]}
    )
    write_store(PLACES["store"], [RowBlock(np.eye(3)[:, :2], np.ones(3))])
    text = (PLACES["store"] / "manifest.json").read_bytes()
    small = json.dumps(json.loads(text)).encode()
    packed = [
        pack(data)
        for pack in (gzip.compress, bz2.compress, lzma.compress)
        for data in (SVMLIGHT[0] * 9, COLUMNS[0] * 9)
    ]
    return {
        "svmlight": SVMLIGHT, "compressed": packed, "columns": COLUMNS, "template": TEMPLATE, "manifest": [text, small],
        "model": [PLACES["model"].read_bytes()], "checkpoint": [PLACES["checkpoint"].read_bytes()],
    }  # fmt: skip


def run(name: str, good: list[bytes], seconds: float, seed: int) -> int:
    """Cases that were read; AssertionError, or whatever a reader lets out, for the first that went wrong."""
    rng, began, count = random.Random(f"{name} {seed}"), time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        data = mutated(rng, good)
        count += 1
        started = time.process_time()
        try:
            READERS[name](data)
            assert time.process_time() - started < 1.0, "it took more than a second"
        except BaseException as error:
            place = Path(f"fuzz-{name}-{hashlib.sha256(data).hexdigest()[:12]}")
            place.write_bytes(data)
            error.add_note(f"reader {name}, case {count} of seed {seed}, kept as {place}")
            raise
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(READERS)}; default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        good = seeds(Path(folder))
        for name in options.readers or READERS:
            print(
                f"{name}: {run(name, good[name], options.seconds, options.seed)} cases, seed {options.seed}", flush=True
            )


if __name__ == "__main__":
    sys.exit(main())
