"""The svmlight reader and writer: right or refused, whatever the cut, and bit for bit there and back."""

from __future__ import annotations

import bz2
import gzip
import io
import locale
import lzma
import os
import random
import struct
import tempfile
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from clock import least_seconds
from fenchel.errors import InputError, ReadError
from fenchel.readers import byte_source
from fenchel.readers.svmlight import rows as svmlight_rows
from fenchel.readers.svmlight import state as codes
from fenchel.readers.svmlight.parse import parse_rows
from fenchel.readers.svmlight.read import iter_svmlight, read_svmlight
from fenchel.readers.svmlight.write import write_svmlight

# name: (bytes, rows as {column: value}, labels, qid, index base)
GOOD = {
    "plain": (b"1 1:2 3:4\n-1 2:5\n", [{0: 2.0, 2: 4.0}, {1: 5.0}], [1, -1], None, 1),
    "zero based": (b"1 0:2 3:4\n", [{0: 2.0, 3: 4.0}], [1], None, 0),
    "zero based late": (b"1 1:2\n2 0:4\n", [{1: 2.0}, {0: 4.0}], [1, 2], None, 0),
    "qid": (b"1 qid:7 1:2\n0 qid:-3 1:1\n", [{0: 2.0}, {0: 1.0}], [1, 0], [7, -3], 1),
    "largest qid": (b"1 qid:9223372036854775807 1:2\n", [{0: 2.0}], [1], [2**63 - 1], 1),
    "no final newline": (b"1 1:2\n2 1:3", [{0: 2.0}, {0: 3.0}], [1, 2], None, 1),
    "crlf": (b"1 1:2\r\n2 1:3\r\n", [{0: 2.0}, {0: 3.0}], [1, 2], None, 1),
    "crlf cut after cr": (b"1 1:2\r\n2 1:3\r", [{0: 2.0}, {0: 3.0}], [1, 2], None, 1),
    "blank lines": (b"\n\n1 1:2\n  \t\n\r\n2\n\n", [{0: 2.0}, {}], [1, 2], None, 1),
    "comments": (b"# head 1:2\n1 1:2 # tail 9:9\n2 1:3#x\n#\n", [{0: 2.0}, {0: 3.0}], [1, 2], None, 1),
    "utf-8 comment": ("1 1:2 # é 中\n".encode(), [{0: 2.0}], [1], None, 1),
    "tabs and spaces": (b" \t1\t 1:2  \t3:4 \n", [{0: 2.0, 2: 4.0}], [1], None, 1),
    "unsorted": (b"1 3:4 1:2 2:3\n", [{0: 2.0, 1: 3.0, 2: 4.0}], [1], None, 1),
    "labels": (b"+1 1:1\n1e0\n-1.5\n.5\n5.\n-0\n", [{0: 1.0}, {}, {}, {}, {}, {}], [1, 1, -1.5, 0.5, 5, -0.0], None, 1),
    "values": (
        b"1 1:+1 2:-.5 3:2. 4:1E3 5:1e-3 6:-0\n",
        [dict(enumerate([1.0, -0.5, 2.0, 1e3, 1e-3, -0.0]))],
        [1],
        None,
        1,
    ),
    "explicit zero": (b"1 2:0\n", [{1: 0.0}], [1], None, 1),
    "leading zeros": (b"01 007:002\n", [{6: 2.0}], [1], None, 1),
    "underflow": (b"1 1:1e-999 2:-1e-999 3:0e999\n", [{0: 0.0, 1: -0.0, 2: 0.0}], [1], None, 1),
    "hard and unsorted": (b"1 3:4 2:1e-320 1:2\n", [{0: 2.0, 1: 1e-320, 2: 4.0}], [1], None, 1),
    "hard label": (b"4e-324 1:1\n", [{0: 1.0}], [5e-324], None, 1),
    "byte order mark": (b"\xef\xbb\xbf1 1:2\n", [{0: 2.0}], [1], None, 1),
    "empty": (b"", [], [], None, 1),
    "only comments": (b"# a\n\n# b", [], [], None, 1),
    "largest index": (b"1 4611686018427387904:1\n", [{2**62 - 1: 1.0}], [1], None, 1),
}

# name: (bytes, line:column, words of the message)
BAD = {
    "nan value": (b"1 1:2\n1 2:nan\n", "2:5", "'nan' is not finite"),
    "inf value": (b"1 1:-Infinity\n", "1:5", "not finite"),
    "nan label": (b"NaN 1:2\n", "1:1", "not finite"),
    "inf label": (b"1 1:1\n\n +inf 1:2\n", "3:2", "not finite"),
    "value overflow": (b"1 1:1 2:1e999\n", "1:9", "'1e999' is too large"),
    "value just too large": (b"1 1:1.7976931348623159e308\n", "1:5", "too large"),
    "long value overflow": (b"1 1:" + b"9" * 310 + b"\n", "1:5", "too large"),
    "label overflow": (b"-1e400 1:1\n", "1:1", "label '-1e400' is too large"),
    "several labels": (b"1,2 1:1\n", "1:1", "several labels"),
    "no label": (b"1 1:1\n1:1 2:2\n", "2:1", "label is missing"),
    "word label": (b"spam 1:1\n", "1:1", "bad label 'spam'"),
    "header line": (b"y,x1,x2\n", "1:1", "expected"),
    "duplicate": (b"1 1:1\n1 5:1 2:1 05:2 # 2:1\n", "2:11", "'05:2' occurs twice"),
    "adjacent duplicate": (b"1 2:1 2:1\n", "1:7", "twice"),
    "negative index": (b"1 -3:1\n", "1:3", "negative index in '-3:1'"),
    "signed index": (b"1 +3:1\n", "1:3", "whole-number index"),
    "fractional index": (b"1 1.5:1\n", "1:3", "whole-number index"),
    "word index": (b"1 1:1 x:1\n", "1:7", "'x:1'"),
    "no colon": (b"1 1:1 2\n", "1:7", "'2'"),
    "no index": (b"1 :1\n", "1:3", "':1'"),
    "no value": (b"1 1: 2:1\n", "1:5", "no value"),
    "no value at the end": (b"1 1:", "1:5", "no value"),
    "space before colon": (b"1 1 :1\n", "1:3", "expected <index>:<value>"),
    "two colons": (b"1 1:2:3\n", "1:5", "'2:3'"),
    "two points": (b"1 1:1.2.3\n", "1:5", "'1.2.3'"),
    "only a point": (b"1 1:.\n", "1:5", "'.'"),
    "only a sign": (b"- 1:1\n", "1:1", "'-'"),
    "open exponent": (b"1 1:1e\n", "1:5", "'1e'"),
    "open exponent sign": (b"1 1:1e+ 2:1\n", "1:5", "'1e+'"),
    "hexadecimal": (b"1 1:0x10\n", "1:5", "'0x10'"),
    "underscore": (b"1 1:1_0\n", "1:5", "'1_0'"),
    "decimal comma": (b"1 1:1,5\n", "1:5", "'1,5'"),
    "index beyond 2^62": (b"1 4611686018427387905:1\n", "1:3", "beyond 2^62"),
    "index of 40 digits": (b"1 " + b"1" * 40 + b":1\n", "1:3", "beyond 2^62"),
    "bad qid": (b"1 qid:x 1:1\n", "1:3", "'qid:x'"),
    "empty qid": (b"1 qid: 1:1\n", "1:3", "'qid:'"),
    "qid overflow": (b"1 qid:9223372036854775808 1:1\n", "1:3", "63 bits"),
    "late qid": (b"1 qid:1 1:1 qid:2\n", "1:13", "wrong place"),
    "qid missing": (b"1 qid:1 1:1\n\n1 1:1\n", "3:3", "no query id"),
    "qid unexpected": (b"1 1:1\n1 qid:1 1:1\n", "2:3", "unexpected query id"),
    "NUL in a value": (b"1 1:1\0\n", "1:5", "NUL"),
    "NUL in a comment": (b"1 1:1 # a\0b\n", "1:10", "NUL"),
    "not UTF-8": (b"1 1:1\n1 1:\xff\n", "2:5", "\\xff"),
    "comment not UTF-8": (b"1 1:1\n2 # caf\xe9 \n", "2:8", "not UTF-8"),
    "UTF-16": ("1 1:1\n".encode("utf-16"), "1:1", "expected"),
    "old Mac line ends": (b"1 1:1\r2 1:1\r", "1:6", "carriage return"),
    "error after a byte order mark": (b"\xef\xbb\xbf1 1:x\n", "1:5", "'x'"),
    "zstandard": (b"\x28\xb5\x2f\xfd\x00\x00\x00", "1:1", "zstandard"),
    "error after hard tokens": (b"1 1:1e-320\n1 1:5e-324 2:x\n", "2:14", "'x'"),
    "non-breaking space": ("1\u00a01:1\n".encode(), "1:1", "expected"),
}


def bits(array):
    return np.ascontiguousarray(array).tobytes()


def table(data):
    """Everything a reader returns, as something that compares bit for bit."""
    qid = None if data.qid is None else data.qid.tolist()
    X = data.X
    return (
        X.shape,
        X.indices.tolist(),
        X.indptr.tolist(),
        bits(X.data),
        bits(data.y),
        qid,
        data.index_base,
        X.indices.dtype,
    )


def outcome(data, **options):
    try:
        return table(read_svmlight(io.BytesIO(data), **options))
    except ReadError as error:
        return str(error)


class Dribble(io.RawIOBase):
    """A source that gives the bytes in two parts and cannot be read twice."""

    def __init__(self, data, cut):
        self._parts = [data[:cut], data[cut:]]

    def readable(self):
        return True

    def readinto(self, buffer):
        while self._parts and not self._parts[0]:
            self._parts.pop(0)
        if not self._parts:
            return 0
        part = self._parts[0][: len(buffer)]
        self._parts[0] = self._parts[0][len(part) :]
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("name", GOOD)
def test_odd_but_good(name):
    text, rows, y, qid, base = GOOD[name]
    data = read_svmlight(io.BytesIO(text))
    X = data.X
    read = [
        dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr, X.indptr[1:], strict=False)
    ]
    assert read == rows
    assert [list(row) for row in read] == [sorted(row) for row in rows]
    assert np.signbit(X.data).tolist() == [np.signbit(row[j]) for row in rows for j in sorted(row)]
    assert bits(data.y) == bits(np.array(y, dtype=np.float64))
    assert (None if data.qid is None else data.qid.tolist()) == qid
    assert data.index_base == base
    assert X.shape == (len(y), max([j + 1 for row in rows for j in row], default=0))


@pytest.mark.parametrize("name", BAD)
def test_refused_with_its_place(name):
    text, place, words = BAD[name]
    with pytest.raises(ReadError) as error:
        read_svmlight(io.BytesIO(text))
    assert str(error.value).startswith(f"<stream>:{place}: ")
    assert words in str(error.value)


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_python_source_equals_compiled(name, monkeypatch):
    text = (GOOD.get(name) or BAD[name])[0]
    compiled = outcome(text)
    monkeypatch.setattr(svmlight_rows, "parse_rows", parse_rows.py_func)
    with np.errstate(all="raise"):
        assert outcome(text) == compiled


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_full_scratch_changes_nothing(name, monkeypatch):
    text = b"3 1:1 2:1e-320\n" * 3 + (GOOD.get(name) or BAD[name])[0]
    whole = outcome(text)
    for size in ("PIECE_ROWS", "PIECE_ENTRIES", "PIECE_HARD"):
        monkeypatch.setattr(svmlight_rows, size, 1)
    assert outcome(text, block_bytes=1) == whole


SMALL = b"# \xc3\xa9\n1 qid:1 1:0.1 3:-2e-5\r\n\n -1 qid:2 7:12345678901234567890 2:1e-320 # x\n0.5 qid:2\n2 qid:3 4:1"


def test_split_at_every_byte():
    whole = outcome(SMALL)
    assert not isinstance(whole, str)
    for cut in range(len(SMALL) + 1):
        assert table(read_svmlight(Dribble(SMALL, cut))) == whole
        assert outcome(SMALL, block_bytes=cut + 1) == whole


def test_stream_equals_reading_at_once():
    whole = read_svmlight(io.BytesIO(SMALL))
    for rows in (1, 2, 3, 4, 9):
        for block_bytes in (1, 5, 30, 1 << 20):
            blocks = list(iter_svmlight(io.BytesIO(SMALL), rows=rows, block_bytes=block_bytes))
            assert [len(b.y) for b in blocks[:-1]] == [rows] * (len(blocks) - 1)
            assert {b.X.shape[1] for b in blocks} == {whole.X.shape[1]}
            joined = sp.vstack([b.X for b in blocks], format="csr")
            assert bits(joined.data) == bits(whole.X.data)
            assert joined.indices.tolist() == whole.X.indices.tolist()
            assert joined.indptr.tolist() == whole.X.indptr.tolist()
            assert bits(np.concatenate([b.y for b in blocks])) == bits(whole.y)
            assert np.concatenate([b.qid for b in blocks]).tolist() == whole.qid.tolist()


def test_stream_decides_the_base_once(tmp_path):
    path = tmp_path / "late.svm"
    path.write_bytes(b"1 1:1\n1 2:1\n1 0:1\n")
    assert [(b.index_base, b.X.indices.tolist()) for b in iter_svmlight(path, rows=1)] == [(0, [1]), (0, [2]), (0, [0])]


def test_stream_of_a_pipe_needs_base_and_width():
    with pytest.raises(InputError, match="index_base=0 or 1 and n_features"):
        iter_svmlight(Dribble(SMALL, 3), rows=2, n_features=9)
    blocks = list(iter_svmlight(Dribble(SMALL, 3), rows=3, n_features=9, index_base=1))
    assert [b.X.shape for b in blocks] == [(3, 9), (1, 9)]


def test_truncation_keeps_complete_lines(caplog):
    lines = SMALL.split(b"\n")
    for end in range(len(SMALL)):
        caplog.clear()
        text = SMALL[:end]
        read = outcome(text)
        complete = text.rpartition(b"\n")[0]
        if isinstance(read, str):
            assert int(read.split(":")[1]) == text.count(b"\n") + 1  # only the cut line can be wrong
            continue
        prefix = read_svmlight(io.BytesIO(complete + b"\n"))
        data = read_svmlight(io.BytesIO(text))
        stored = len(prefix.X.data)
        assert bits(data.X.data[:stored]) == bits(prefix.X.data)
        assert bits(data.y[: len(prefix.y)]) == bits(prefix.y)
        assert bool(caplog.records) == bool(text and not text.endswith(b"\n"))
    assert len(lines) == 6


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(compress, tmp_path):
    packed = compress(SMALL)
    path = tmp_path / "data.txt"  # the name says nothing
    path.write_bytes(packed)
    assert table(read_svmlight(path)) == table(read_svmlight(str(path))) == outcome(SMALL)
    assert outcome(packed, block_bytes=3) == outcome(SMALL)
    assert outcome(compress(b"1 1:1\n") + compress(b"2 1:2\n")) == outcome(b"1 1:1\n2 1:2\n")
    for end in range(1, len(packed)):
        read = outcome(packed[:end])
        assert isinstance(read, str)
        assert read.startswith("<stream>:")


def test_damaged_gzip_is_refused():
    packed = bytearray(gzip.compress(SMALL))
    packed[-6] ^= 1  # the checksum
    assert "damaged" in outcome(bytes(packed))


def random_tokens(count):
    """Decimal texts of every shape: random doubles, denormals, halves between doubles, long and short digit strings."""
    rng = random.Random(0)
    for _ in range(count // 8):
        value = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0]
        value = value if np.isfinite(value) else 1.5
        yield repr(value)
        yield f"{value:.{rng.randrange(16, 30)}e}"
        yield repr(struct.unpack("<d", struct.pack("<Q", rng.getrandbits(rng.randrange(1, 53))))[0])
        sign = rng.choice(["+", "-", ""])
        yield f"{sign}{rng.getrandbits(rng.randrange(1, 90))}.{rng.getrandbits(rng.randrange(1, 90))}"
        yield f"{rng.getrandbits(64)}e{rng.randrange(-345, 289)}"
        half = 2 * (2**52 + rng.getrandbits(52)) + 1  # half-way between two doubles, times a power of two
        scale = rng.randrange(-60, 60)
        exact = half << scale if scale >= 0 else half * 5**-scale
        tail = "" if scale >= 0 else f"e{scale}"
        yield f"{exact}{tail}"
        yield f"{exact}{'' if tail else '.'}{tail or '0' * rng.randrange(30) + '1'}"
        yield f"0.{'0' * rng.randrange(330)}{rng.getrandbits(rng.randrange(1, 200))}"


def test_numbers_are_correctly_rounded(monkeypatch):
    tokens = list(random_tokens(24_000))
    expected = np.array([float(token) for token in tokens])
    text = "".join(f"{token} 1:{token}\n" for token in tokens).encode()
    data = read_svmlight(io.BytesIO(text))
    assert bits(data.X.data) == bits(expected)
    assert bits(data.y) == bits(expected)
    part = "".join(f"{token} 1:{token}\n" for token in tokens[:400]).encode()
    compiled = outcome(part)
    monkeypatch.setattr(svmlight_rows, "parse_rows", parse_rows.py_func)
    with np.errstate(all="raise"):
        assert outcome(part) == compiled


def test_hard_tokens_are_rare():
    rng = np.random.default_rng(0)
    text = "".join(
        f"0 1:{value!r}\n" for value in (rng.standard_normal(5000) * 10.0 ** rng.integers(-30, 30, 5000)).tolist()
    )
    buffers = codes.row_buffers(5000, 5000, 5000)
    state = np.zeros(codes.STATE_SIZE, dtype=np.int64)
    limits = codes.Limits(0, 2**62, np.inf)
    data = np.frombuffer(bytearray(text.encode()), dtype=np.uint8)
    parse_rows(data, len(data), 5000, buffers, svmlight_rows.power_tables(), limits, state)
    assert state[codes.ROWS] == 5000
    assert state[codes.HARD_TOKENS] <= 5


finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([-0.0, 0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1e22, 1e23]),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(finite, st.dictionaries(st.integers(0, 30), finite, max_size=6)), max_size=8),
    st.booleans(),
    st.sampled_from([0, 1]),
    st.sampled_from(["", ".gz", ".bz2", ".xz"]),
    st.sampled_from([np.float64, np.float32]),
)
def test_round_trip(rows, with_qid, base, extension, dtype):
    with np.errstate(over="ignore"):
        values = np.array([row[j] for _, row in rows for j in sorted(row)]).astype(dtype)
    values[~np.isfinite(values)] = np.finfo(dtype).max
    indices = [j for _, row in rows for j in sorted(row)]
    indptr = np.cumsum([0, *(len(row) for _, row in rows)])
    X = sp.csr_matrix((values, np.array(indices, dtype=np.int32), indptr), shape=(len(rows), 31))
    y = np.array([label for label, _ in rows], dtype=np.float64)
    qid = np.arange(len(rows)) * -(2**60) // 7 if with_qid else None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data" + extension)
        write_svmlight(path, X, y, qid=qid, index_base=base, comment="a\nb é")
        data = read_svmlight(path, n_features=31, index_base=base, dtype=dtype)
        assert os.listdir(folder) == ["data" + extension]
    assert data.X.dtype == dtype
    assert bits(data.X.data) == bits(X.data)
    assert data.X.indices.tolist() == indices
    assert data.X.indptr.tolist() == indptr.tolist()
    assert bits(data.y) == bits(y)
    assert (data.qid is None) == (qid is None or not len(rows))
    assert data.qid is None or data.qid.tolist() == qid.tolist()


def test_round_trip_of_the_largest_index(tmp_path):
    X = sp.csr_matrix((1, 2**62), dtype=np.float64)
    X.data, X.indices, X.indptr = np.array([1.0, -2.0]), np.array([5, 2**62 - 1]), np.array([0, 2])
    write_svmlight(tmp_path / "wide", X, [1.0])
    data = read_svmlight(tmp_path / "wide")
    assert data.X.shape == (1, 2**62)
    assert data.X.indices.tolist() == [5, 2**62 - 1]
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int64


def test_dense_round_trip_keeps_negative_zero(tmp_path):
    X = np.array([[0.0, -0.0, 1.5], [0.0, 0.0, 0.0]])
    write_svmlight(tmp_path / "dense.gz", X, [True, False])
    back = read_svmlight(tmp_path / "dense.gz", n_features=3)
    assert bits(back.X.toarray()[0, 2]) == bits(1.5)
    assert np.signbit(back.X.data).tolist() == [True, False]
    assert back.y.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("with_qid", [True, False])
def test_equals_scikit_learn(zero_based, with_qid, tmp_path):
    rng = np.random.default_rng(7)
    X = sp.random(300, 40, density=0.2, format="lil", random_state=rng, data_rvs=rng.standard_normal)
    X[0, 0] = 3.0  # an index 0 when counted from 0
    X = X.tocsr()
    y = rng.standard_normal(300)
    qid = np.sort(rng.integers(0, 20, 300)) if with_qid else None
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, query_id=qid, comment="made up")
    theirs = load_svmlight_file(str(path), query_id=with_qid)
    ours = read_svmlight(path)
    assert ours.index_base == int(not zero_based)
    assert ours.X.shape == theirs[0].shape
    assert bits(ours.X.data) == bits(theirs[0].data)
    assert ours.X.indices.tolist() == theirs[0].indices.tolist()
    assert ours.X.indptr.tolist() == theirs[0].indptr.tolist()
    assert bits(ours.y) == bits(theirs[1])
    assert not with_qid or ours.qid.tolist() == theirs[2].tolist()


def test_long_unsorted_row():
    order = np.random.default_rng(1).permutation(200_000)
    for columns in (order, np.arange(200_000)[::-1]):
        text = ("1 " + " ".join(f"{j}:{j}.5" for j in columns.tolist()) + "\n").encode()
        X = read_svmlight(io.BytesIO(text)).X
        assert least_seconds(lambda text=text: read_svmlight(io.BytesIO(text)), 1.0) < 1.0
        assert np.array_equal(X.indices, np.arange(200_000))
        assert np.array_equal(X.data, np.arange(200_000) + 0.5)


def test_n_features():
    text = b"1 1:1\n1 2:1 9:1\n1 12:1\n"
    assert read_svmlight(io.BytesIO(text), n_features=20).X.shape == (3, 20)
    assert outcome(text, n_features=8).startswith("<stream>:2:7: index '9:1' is larger than 8")
    assert outcome(text, n_features=12, index_base=0).startswith("<stream>:3:3:")
    assert outcome(text + b"1 0:1\n", n_features=12).startswith("<stream>:3:3:")
    assert not isinstance(outcome(text, n_features=12), str)


def test_index_base_given():
    assert outcome(b"1 1:1\n1 2:1 0:1\n", index_base=1).startswith("<stream>:2:7: index 0 in '0:1'")
    assert read_svmlight(io.BytesIO(b"1 1:1\n"), index_base=0).X.indices.tolist() == [1]


def test_qid_asked_for():
    assert outcome(b"1 1:1\n", qid=True).startswith("<stream>:1:3: no query id")
    assert read_svmlight(io.BytesIO(b"1 1:1\n1 qid:2 1:1\n"), qid=False).qid is None


def test_types():
    data = read_svmlight(io.BytesIO(SMALL), dtype=np.float32, index_dtype=np.int64)
    assert (data.X.dtype, data.X.indices.dtype, data.X.indptr.dtype) == (np.float32, np.int64, np.int64)
    assert bits(data.X.data) == bits(read_svmlight(io.BytesIO(SMALL)).X.data.astype(np.float32))
    data.X.check_format(full_check=True)
    assert outcome(b"1 2:3e38 1:3.5e38\n", dtype=np.float32).startswith("<stream>:1:12: value '3.5e38' is too large")
    with pytest.raises(InputError, match="index_dtype"):
        read_svmlight(io.BytesIO(SMALL), n_features=2**31, index_dtype=np.int32)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_features", -1),
        ("n_features", 1.5),
        ("index_base", 2),
        ("dtype", int),
        ("index_dtype", float),
        ("qid", "yes"),
        ("block_bytes", 0),
    ],
)
def test_bad_arguments(argument, value):
    with pytest.raises(InputError, match=f"^{argument}: "):
        read_svmlight(io.BytesIO(SMALL), **{argument: value})


def test_sources(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_svmlight(tmp_path / "none")
    with pytest.raises(InputError, match="'rb'"):
        read_svmlight(io.StringIO("1 1:1\n"))
    path = tmp_path / "a b.svm"
    path.write_bytes(b"1 1:1\n1 x\n")
    with open(path, "rb") as file, pytest.raises(ReadError) as error:
        read_svmlight(file)
    assert str(error.value).startswith(f"{path}:2:3: ")


def test_long_line_and_bomb_stay_small(monkeypatch):
    monkeypatch.setattr(byte_source, "LONGEST_LINE", 1000)
    assert outcome(b"1 1:1\n1 " + b"1" * 3000, block_bytes=10).startswith("<stream>:2:1: this line is longer than 1000")
    assert outcome(gzip.compress(bytes(1_000_000)), block_bytes=10).startswith("<stream>:1:1: this line is longer")


@pytest.mark.parametrize("filler", [b"\n", b"# 1:1 2:2\n", b"\0\n", "# é\n".encode()])
def test_bombs_stay_small(filler):
    bomb = gzip.compress(filler * (20_000_000 // len(filler)))
    tracemalloc.start()
    outcome(bomb, block_bytes=1 << 16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_comments_are_utf8_as_python_has_it():
    rng = random.Random(2)
    leads = [0x41, 0x7F, 0x80, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
    others = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
    for _ in range(3000):
        comment = bytes([rng.choice(leads), *(rng.choice(others) for _ in range(rng.randrange(5)))])
        read = outcome(b"1 # " + comment + b"\n")
        bad = len(comment.decode("utf-8", "replace").partition("\ufffd")[0].encode())
        if bad < len(comment):
            assert read.startswith(f"<stream>:1:{5 + bad}: ")
        else:
            assert not isinstance(read, str)


def test_threads_do_not_matter():
    with ThreadPoolExecutor(4) as pool:
        assert set(map(repr, pool.map(outcome, [SMALL] * 32))) == {repr(outcome(SMALL))}


def test_write_refuses_and_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "data.svm"
    path.write_bytes(b"old")
    X = np.array([[1.0, 2.0], [0.0, np.nan]])
    with pytest.raises(InputError, match="row 1, column 1"):
        write_svmlight(path, X, [1, 2])
    with pytest.raises(InputError, match="y: row 0"):
        write_svmlight(path, np.eye(2), [np.inf, 2])
    with pytest.raises(InputError, match="y: must have shape"):
        write_svmlight(path, np.eye(2), [1])
    with pytest.raises(InputError, match="qid"):
        write_svmlight(path, np.eye(2), [1, 2], qid=[0.5, 1])

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_svmlight(path, np.eye(2), [1, 2])
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["data.svm"]


def test_locale_does_not_matter(tmp_path):
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma is installed")
    try:
        write_svmlight(tmp_path / "data.svm", [[0.1, 1e-320]], [2.5])
        data = read_svmlight(tmp_path / "data.svm")
    finally:
        locale.setlocale(locale.LC_ALL, before)
    assert data.X.data.tolist() == [0.1, 1e-320]
    assert data.y.tolist() == [2.5]


def test_three_times_as_fast_as_scikit_learn(tmp_path):
    rng = np.random.default_rng(3)
    X = sp.random(10_000, 1000, density=0.03, format="csr", random_state=rng, data_rvs=rng.standard_normal)
    path = tmp_path / "data.svm"
    write_svmlight(path, X, rng.standard_normal(10_000))

    def seconds(read):
        start = time.perf_counter()
        read(str(path))
        return time.perf_counter() - start

    seconds(read_svmlight)
    pairs = [(seconds(load_svmlight_file), seconds(read_svmlight)) for _ in range(5)]
    theirs, ours = np.min(pairs, axis=0)
    assert theirs >= 3 * ours


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_that_is_replaced_keeps_its_permissions_and_a_pipe_is_refused(tmp_path):
    path, pipe = tmp_path / "rows", tmp_path / "pipe"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_svmlight(path, [[1.0]], [1])
    assert path.read_bytes() == b"1 1:1\n" and path.stat().st_mode & 0o777 == 0o640
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="pipe"):
        write_svmlight(pipe, [[1.0]], [1])
