"""Read svmlight (libsvm) text: into one CSR matrix, or as a stream of row blocks in bounded memory.

    <label> [qid:<integer>] <index>:<value> ... [# comment]

Numbers are correctly rounded: every value is bit-identical to Python's `float` of its token. The indices of a row may be in
any order (they are sorted). A repeated index in a row, NaN, infinity, an overflow, several labels and anything that does not
have the form above are refused with `name:line:column:`, the token and what was expected; columns count bytes from 1.
Blank lines, comments, tabs, CRLF and a byte order mark are accepted. gzip, bzip2 and xz are recognised by their first bytes; a
damaged or truncated compressed file is refused. A last line without a newline is accepted, since many writers omit it; as a
*plain* file that was truncated inside its last number looks the same, the reader logs a warning.
"""

from __future__ import annotations

import operator
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from fenchel.errors import InputError
from fenchel.readers.byte_source import open_bytes, source_name

if TYPE_CHECKING:
    from fenchel.readers.svmlight.rows import Piece, RowReader

Path = str | os.PathLike[str] | BinaryIO
INT32_MAX = np.iinfo(np.int32).max
# The smallest magnitude that rounds to infinity as a float32.
FLOAT32_OVERFLOW = 2.0**128 - 2.0**103


class SvmlightData(NamedTuple):
    """Rows `X` (CSR, sorted indices counted from 0), labels `y`, query ids or None, and the file's own index base."""

    X: csr_matrix
    y: np.ndarray
    qid: np.ndarray | None
    index_base: int


class _Options(NamedTuple):
    n_features: int | None
    index_base: int | None
    dtype: np.dtype
    index_dtype: np.dtype | None
    qid: bool | None
    block_bytes: int


def read_svmlight(
    path: Path,
    *,
    n_features: int | None = None,
    index_base: Literal["auto", 0, 1] = "auto",
    dtype: Any = np.float64,
    index_dtype: Any = None,
    qid: Literal["auto", True, False] = "auto",
    block_bytes: int = 1 << 24,
) -> SvmlightData:
    """X[i, index - index_base] = value for every `index:value` of row i; y[i] = label.

    `index_base="auto"`: 0 if and only if an index 0 occurs in the file, else 1. `qid="auto"`: the first row decides,
    and every other row must agree; True requires a qid in every row, False ignores them. `n_features=None` takes the
    largest index. Indices are int32 if the number of entries and `n_features` fit, else int64. float32 values are the
    float64 values rounded once more. `block_bytes` (the text in memory at a time) never changes the result.

    >>> import io
    >>> data = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2 # two entries\\n-1 2:1e-3\\n"))
    >>> data.X.toarray().tolist(), data.y.tolist(), data.index_base
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0], 1)
    """
    options = _checked(n_features, index_base, dtype, index_dtype, qid, block_bytes)
    with open_bytes(path) as source:
        rows = _row_reader(source, options)
        table = _Table(options)
        while (piece := rows.next_piece()) is not None:
            table.add(piece)
        base, width = _base_and_width(rows, options)
        return table.build(base, width, _has_qid(rows))


def iter_svmlight(
    path: Path,
    rows: int = 1 << 16,
    *,
    n_features: int | None = None,
    index_base: Literal["auto", 0, 1] = "auto",
    dtype: Any = np.float64,
    index_dtype: Any = None,
    qid: Literal["auto", True, False] = "auto",
    block_bytes: int = 1 << 22,
) -> Iterator[SvmlightData]:
    """The rows of `read_svmlight` in order, `rows` at a time (the last block may be shorter), in bounded memory.

    Every block has the same number of columns and the same index base. Where `index_base="auto"` or `n_features=None`
    leaves them open, the whole file is read once beforehand to find them by the rules of `read_svmlight`; a source
    that cannot be read twice (a pipe) needs both to be given.

    >>> import io
    >>> [block.y.tolist() for block in iter_svmlight(io.BytesIO(b"1 1:1\\n2 1:1\\n3 2:1\\n"), rows=2)]
    [[1.0, 2.0], [3.0]]
    """
    options = _checked(n_features, index_base, dtype, index_dtype, qid, block_bytes)
    size = _integer("rows", rows, 1)
    if options.n_features is None or options.index_base is None:
        options = _scanned(path, options)
    return _blocks(path, size, options)


def _blocks(path: Path, size: int, options: _Options) -> Iterator[SvmlightData]:
    assert options.n_features is not None
    assert options.index_base is not None
    with open_bytes(path) as source:
        rows = _row_reader(source, options)
        table = _Table(options)
        while (piece := rows.next_piece(size - table.n_rows)) is not None:
            table.add(piece)
            if table.n_rows == size:
                yield table.build(options.index_base, options.n_features, _has_qid(rows))
                table = _Table(options)
        if table.n_rows:
            yield table.build(options.index_base, options.n_features, _has_qid(rows))


def _scanned(path: Path, options: _Options) -> _Options:
    """Determine the options that were not given by a pass over the file."""
    is_file = hasattr(path, "read")
    if not (path.seekable() if is_file else stat.S_ISREG(os.stat(path).st_mode)):  # type: ignore[union-attr, arg-type]
        raise InputError(
            f"index_base, n_features: {source_name(path)} can be read only once, so the index base and the number of "
            "columns cannot be determined beforehand; give index_base=0 or 1 and n_features"
        )
    start = path.tell() if is_file else 0  # type: ignore[union-attr]
    with open_bytes(path) as source:
        rows = _row_reader(source, options)
        while rows.next_piece() is not None:
            pass
        base, width = _base_and_width(rows, options)
    if is_file:
        path.seek(start)  # type: ignore[union-attr]
    return options._replace(index_base=base, n_features=width)


def _row_reader(source: Any, options: _Options) -> RowReader:
    from fenchel.readers.svmlight import state as codes
    from fenchel.readers.svmlight.rows import RowReader

    greatest = 2**62 if options.n_features is None else options.n_features - (options.index_base == 0)
    largest = FLOAT32_OVERFLOW if options.dtype == np.float32 else np.inf
    limits = codes.Limits(options.index_base or 0, greatest, largest)
    mode = {None: codes.QID_AUTO, True: codes.QID_REQUIRED, False: codes.QID_IGNORED}[options.qid]
    return RowReader(source, options.block_bytes, limits, mode)


def _has_qid(rows: RowReader) -> bool:
    from fenchel.readers.svmlight import state as codes

    return bool(rows.state[codes.QID_MODE] == codes.QID_REQUIRED)


def _base_and_width(rows: RowReader, options: _Options) -> tuple[int, int]:
    """The index base and the number of columns, after the whole file has been read."""
    from fenchel.readers.svmlight import state as codes
    from fenchel.readers.svmlight.errors import read_error

    state = rows.state.tolist()
    base = options.index_base
    if base is None:
        base = 0 if state[codes.HAS_ZERO] else 1
        if base == 0 and options.n_features is not None and state[codes.LIMIT_LINE]:
            message = (
                f"index {options.n_features} is too large for n_features={options.n_features} in a file that "
                f"counts from 0 (it has an index 0); expected at most {options.n_features - 1}"
            )
            raise read_error(rows.source.name, state[codes.LIMIT_LINE], state[codes.LIMIT_COLUMN], message)
    if options.n_features is not None:
        return base, options.n_features
    return base, max(state[codes.GREATEST] + 1 - base, 0)


class _Table:
    """Pieces of rows, copied from the parser's buffers in their final types and joined at the end."""

    def __init__(self, options: _Options):
        self._options = options
        self._columns: dict[str, list[np.ndarray]] = {k: [] for k in ("labels", "qids", "ends", "indices", "values")}
        self.n_rows = self._n_stored = 0

    def add(self, piece: Piece) -> None:
        columns = self._columns
        columns["labels"].append(piece.labels.copy())
        columns["qids"].append(piece.qids.copy())
        columns["ends"].append(piece.row_ends + self._n_stored)
        small = len(piece.indices) == 0 or piece.indices.max() <= INT32_MAX
        columns["indices"].append(piece.indices.astype(np.int32 if small else np.int64))
        columns["values"].append(piece.values.astype(self._options.dtype))
        self.n_rows += len(piece.labels)
        self._n_stored += len(piece.indices)

    def build(self, base: int, n_features: int, has_qid: bool) -> SvmlightData:
        index_dtype = self._index_dtype(n_features)
        indices = self._joined("indices", index_dtype)
        indices -= index_dtype.type(base)
        indptr = np.zeros(self.n_rows + 1, dtype=index_dtype)
        indptr[1:] = self._joined("ends", index_dtype)
        X = csr_matrix((self.n_rows, n_features), dtype=self._options.dtype)
        # Assigned, because the constructor would convert int64 indices to int32 if possible, and scan them to find out.
        X.data, X.indices, X.indptr = self._joined("values", self._options.dtype), indices, indptr
        X.has_sorted_indices = X.has_canonical_format = True
        qid = self._joined("qids", np.dtype(np.int64)) if has_qid else None
        return SvmlightData(X, self._joined("labels", np.dtype(np.float64)), qid, base)

    def _joined(self, name: str, dtype: np.dtype) -> np.ndarray:
        """One array; its pieces are released immediately, so that only one column at a time is in memory twice."""
        pieces = self._columns.pop(name)
        return np.concatenate(pieces, dtype=dtype, casting="unsafe") if pieces else np.empty(0, dtype=dtype)

    def _index_dtype(self, n_features: int) -> np.dtype:
        wanted = self._options.index_dtype
        fits = max(n_features, self._n_stored) <= INT32_MAX
        if wanted == np.int32 and not fits:
            raise InputError(
                f"index_dtype: {n_features} columns and {self._n_stored} entries do not fit in int32; use int64 or None"
            )
        return wanted or np.dtype(np.int32 if fits else np.int64)


def _checked(
    n_features: Any, index_base: Any, dtype: np.dtype, index_dtype: np.dtype, qid: Any, block_bytes: Any
) -> _Options:
    base = _choice("index_base", index_base, {"auto": None, 0: 0, 1: 1})
    with_qid = _choice("qid", qid, {"auto": None, True: True, False: False})
    values, indices = np.dtype(dtype), None if index_dtype is None else np.dtype(index_dtype)
    if values not in (np.float32, np.float64):
        raise InputError(f"dtype: must be float32 or float64, got {values}")
    if indices is not None and indices not in (np.int32, np.int64):
        raise InputError(f"index_dtype: must be None, int32 or int64, got {indices}")
    width = None if n_features is None else _integer("n_features", n_features, 0)
    return _Options(width, base, values, indices, with_qid, _integer("block_bytes", block_bytes, 1))


def _choice(name: str, value: object, allowed: dict[Any, Any]) -> Any:
    try:
        return allowed[value]
    except (KeyError, TypeError):
        raise InputError(f"{name}: must be one of {list(allowed)}, got {value!r}") from None


def _integer(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name}: must be a whole number, got {value!r}") from None
    if not least <= number <= 2**62 + 1:
        raise InputError(f"{name}: must be between {least} and 2^62 + 1, got {number}")
    return number
