"""Write rows to disk, block by block, in bounded memory; `store.py` describes the format."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.data.store import FORMAT, KINDS, arrays_of, digest_of, parts_of
from fenchel.errors import InputError
from fenchel.files.atomic_write import force_to_disk

BLOCK_BYTES = 1 << 25  # bytes of values per block
INT32_MAX = np.iinfo(np.int32).max


class RowBlock(NamedTuple):
    """Consecutive rows (dense or CSR), their targets, and the query of each row or None."""

    X: Any
    y: np.ndarray
    groups: np.ndarray | None = None


def write_store(
    folder: str | os.PathLike[str],
    blocks: Iterable[RowBlock],
    labels: list[str] | None = None,
    features: list[str] | None = None,
) -> Path:
    """Write blocks of rows into a new folder. The blocks on disk have boundaries of their own, so what is written depends on
    the order of the rows alone.

    >>> import tempfile
    >>> from fenchel.data.store import open_store
    >>> folder = Path(tempfile.mkdtemp()) / "rows"
    >>> _ = write_store(folder, [RowBlock(np.eye(2), np.array([1.0, -1.0]))])
    >>> stored = open_store(folder)
    >>> stored.X.tolist(), stored.y.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    """
    place = Path(folder)
    if os.path.lexists(place):
        raise InputError(f"{place} already exists: remove it or choose another folder")
    if not place.parent.is_dir():
        raise InputError(f"the folder {str(place.parent)!r} of {str(place)!r} does not exist; create it first")
    temporary = place.parent / f".{place.name[:40]}.{secrets.token_hex(8)}.tmp"
    temporary.mkdir(mode=0o777)
    try:
        with ExitStack() as stack:
            writer = _Writer(temporary, stack)
            for part in blocks:
                writer.add(part)
        manifest = writer.manifest(labels, features)
        with open(temporary / "manifest.json", "w", encoding="utf-8") as out:
            json.dump(manifest, out, indent=1)
            out.flush()
            force_to_disk(out.fileno())
        os.rename(temporary, place)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return place


class _Writer:
    """The growing files of a store."""

    def __init__(self, folder: Path, stack: ExitStack):
        self.folder, self.stack = folder, stack
        self.files: dict[str, BinaryIO] = {}
        self.n = self.stored = self.width = 0
        self.sparse: bool | None = None
        self.dtype: np.dtype | None = None
        self.grouped = False
        self.edges = [0]  # first rows of the blocks
        self.pending = 0  # bytes of values in the current block

    def append(self, name: str, array: np.ndarray, kind: str) -> None:
        if name not in self.files:
            self.files[name] = self.stack.enter_context((self.folder / f"{name}.bin").open("xb"))
        self.files[name].write(np.ascontiguousarray(array, dtype=KINDS[kind]).data)

    def add(self, part: RowBlock) -> None:
        sparse = sp.issparse(part.X)
        if self.sparse is None:
            self.sparse, self.dtype, self.grouped = sparse, part.X.dtype, part.groups is not None
            if str(self.dtype) not in ("float32", "float64"):
                raise InputError(f"values must be float32 or float64, got {self.dtype}")
            if sparse:
                self.append("starts", np.zeros(1), "int64")
        if (sparse, part.X.dtype, part.groups is not None) != (self.sparse, self.dtype, self.grouped):
            raise InputError("all blocks of rows must be of one kind (dense or CSR, one dtype, with or without groups)")
        if not sparse and self.n and part.X.shape[1] != self.width:
            raise InputError(f"a block has {part.X.shape[1]} columns, the ones before it {self.width}")
        rows = part.X.shape[0]
        if sparse:
            X = sp.csr_matrix(part.X)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            if X.indices.size and int(X.indices.max()) > INT32_MAX:
                raise InputError("more than 2^31 columns are not supported on disk")
            self.append("values", X.data, str(self.dtype))
            self.append("columns", X.indices, "int32")
            self.append("starts", X.indptr[1:].astype(np.int64) + self.stored, "int64")
            self.start_blocks(np.diff(X.indptr) * X.dtype.itemsize)
            self.stored += X.nnz
        else:
            self.append("values", part.X, str(self.dtype))
            self.start_blocks(np.full(rows, part.X.shape[1] * part.X.dtype.itemsize))
            self.stored += part.X.size
        self.append("y", part.y, "float64")
        if part.groups is not None:
            self.append("groups", part.groups, "int64")
        self.width = max(self.width, part.X.shape[1])
        self.n += rows

    def start_blocks(self, sizes: np.ndarray) -> None:
        """Start a new block whenever the current one is full; `sizes` are the bytes of the values of each row."""
        ends, row = self.pending + np.cumsum(sizes), self.n
        while ends.size and ends[-1] >= BLOCK_BYTES:
            k = int(np.searchsorted(ends, BLOCK_BYTES))
            row += k + 1
            self.edges.append(row)
            ends = ends[k + 1 :] - ends[k]
        self.pending = int(ends[-1]) if ends.size else 0

    def manifest(self, labels: list[str] | None, features: list[str] | None) -> dict[str, Any]:
        """The manifest of the folder, with the digests of every block."""
        if self.n == 0:
            raise InputError("there are no rows to write")
        index = "int32" if self.stored <= INT32_MAX else "int64"
        if self.sparse:
            _recode(self.folder / "starts.bin", "int64", index)
            _recode(self.folder / "columns.bin", "int32", index)
        edges = [e for e in self.edges if e < self.n] + [self.n]
        kinds = {"values": str(self.dtype), "y": "float64"}
        if self.sparse:
            kinds |= {"columns": index, "starts": index}
        if self.grouped:
            kinds["groups"] = "int64"
        found = {
            "format": FORMAT, "rows": self.n, "columns": self.width, "stored": self.stored,
            "storage": "csr" if self.sparse else "dense", "kinds": kinds, "labels": labels, "features": features,
            "edges": edges,
        }  # fmt: skip
        arrays = arrays_of(self.folder, found)
        found["digests"] = [
            {name: digest_of(part) for name, part in parts_of(found, arrays, a, b).items()}
            for a, b in itertools.pairwise(edges)
        ]
        return found


def _recode(path: Path, old: str, new: str, chunk: int = 1 << 22) -> None:
    """Convert a file of integers from one integer type to another, a chunk at a time."""
    if old == new:
        return
    fresh = path.with_suffix(".new")
    with open(path, "rb") as source, open(fresh, "xb") as out:
        while content := source.read(chunk * np.dtype(KINDS[old]).itemsize):
            out.write(np.frombuffer(content, dtype=KINDS[old]).astype(KINDS[new]).data)
    os.replace(fresh, path)
