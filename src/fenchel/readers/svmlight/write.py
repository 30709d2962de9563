"""Write svmlight text that is read back bit for bit. The file is replaced atomically."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from scipy.sparse import csr_matrix, issparse

from fenchel.data.dtypes import is_integer, is_number_or_bool
from fenchel.errors import InputError
from fenchel.files.atomic_write import replacing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import Matrix, MatrixLike


def write_svmlight(
    path: str | os.PathLike[str],
    X: ArrayLike,
    y: ArrayLike,
    *,
    qid: Any = None,
    index_base: int = 1,
    comment: str | None = None,
) -> None:
    """One line `<label> [qid:<integer>] <index>:<value> ...` per row, index = column + index_base.

    Every number is the shortest decimal that is read back as the same double (float32 entries are written as the doubles
    that they equal, so that they are exact in either precision). Stored zeros are kept; of a dense X all entries except +0.0
    are written. Files whose names end in .gz, .bz2 or .xz are compressed. The text is written to a temporary file in the same
    folder, which replaces `path` when it is complete and on disk. The number of columns is not part of the format: give
    `n_features` when reading.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.svm"
    >>> write_svmlight(path, [[0.1, 0.0], [0.0, 2.0]], [1, -1], comment="two rows")
    >>> path.read_text()
    '# two rows\\n1 1:0.1\\n-1 2:2\\n'
    """
    matrix, labels, queries = _checked(X, y, qid)
    if index_base not in (0, 1):
        raise InputError(f"index_base: must be 0 or 1, got {index_base!r}")
    header = "".join(f"# {line}\n" for line in comment.splitlines()) if comment else ""
    if "\0" in header:
        raise InputError("comment: must not contain a NUL character")
    name = os.fsdecode(path)
    with replacing(os.path.realpath(name)) as file, _compressed(file, name) as stream:
        stream.write(header.encode("utf-8"))
        for line in _lines(matrix, labels, queries, index_base):
            stream.write(line)


def _lines(X: csr_matrix, y: np.ndarray, qid: np.ndarray | None, base: int) -> Iterator[bytes]:
    for i in range(X.shape[0]):
        begin, end = X.indptr[i], X.indptr[i + 1]
        words = [_text(y[i].item())]
        if qid is not None:
            words.append(f"qid:{qid[i]}")
        pairs = zip(X.indices[begin:end].tolist(), X.data[begin:end].tolist(), strict=True)
        words += [f"{index + base}:{_text(value)}" for index, value in pairs]
        yield (" ".join(words) + "\n").encode("ascii")


def _text(value: float) -> str:
    """The shortest text of a number; `-0.0` becomes `-0`, which is still negative zero when read."""
    return repr(value).removesuffix(".0")


def _checked(X: MatrixLike, y: ArrayLike, qid: ArrayLike) -> tuple[csr_matrix, np.ndarray, np.ndarray | None]:
    matrix = _as_csr(X)
    labels = np.asarray(y)
    if labels.shape != (matrix.shape[0],):
        raise InputError(f"y: must have shape ({matrix.shape[0]},), one label per row of X, got {labels.shape}")
    labels = _real("y", labels)
    if not np.isfinite(labels).all():
        raise InputError(
            f"y: row {int(np.argmin(np.isfinite(labels)))} is not finite; svmlight text needs finite labels"
        )
    finite = np.isfinite(matrix.data)
    if not finite.all():
        k = int(np.argmin(finite))
        row = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        raise InputError(f"X: row {row}, column {matrix.indices[k]} is not finite; svmlight text needs finite values")
    if qid is None:
        return matrix, labels, None
    queries = np.asarray(qid)
    if queries.shape != labels.shape or not is_integer(queries):
        raise InputError(f"qid: must be {len(labels)} integers, got shape {queries.shape} of {queries.dtype}")
    return matrix, labels, queries


def _as_csr(X: Matrix) -> csr_matrix:
    matrix: csr_matrix
    sparse: bool = issparse(X)
    if sparse:
        if X.ndim != 2:
            raise InputError(f"X: must have two dimensions, got {X.ndim}")
        matrix = csr_matrix(X)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
    else:
        dense = np.asarray(X)
        if dense.ndim != 2:
            raise InputError(f"X: must have two dimensions, got {dense.ndim}")
        dense = _real("X", dense)
        rows, columns = np.nonzero((dense != 0) | np.signbit(dense))
        indptr = np.searchsorted(rows, np.arange(dense.shape[0] + 1))
        matrix = csr_matrix((dense[rows, columns], columns, indptr), shape=dense.shape)
    if (data := _real("X", matrix.data)) is not matrix.data:
        matrix = csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix


def _real(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype in (np.float32, np.float64) or is_integer(values):
        return values
    if is_number_or_bool(values) and values.dtype.itemsize <= 8:
        return values.astype(np.float64)
    raise InputError(f"{name}: must hold real numbers of at most 64 bits, got {values.dtype}")


def _compressed(file: BinaryIO, path: str) -> Any:
    """A stream that writes to `file` through the compressor of the file extension."""
    if path.endswith(".gz"):
        # Without name and time, so that the same data give the same bytes.
        return io.BufferedWriter(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0), 1 << 16)
    if path.endswith(".bz2"):
        return io.BufferedWriter(bz2.BZ2File(file, "wb"), 1 << 16)
    if path.endswith(".xz"):
        return io.BufferedWriter(lzma.LZMAFile(file, "wb"), 1 << 16)
    return nullcontext(file)
