"""Rows on disk: a folder with a manifest and arrays that are mapped into memory.

    manifest.json   shape, storage, label and feature names, and for every block of rows the sha256 of its part of each file
    values.bin      the stored values, row by row (CSR), or the whole matrix (dense)
    columns.bin     their columns                     } CSR only
    starts.bin      where each row begins, n + 1 of them }
    y.bin           targets
    groups.bin      the query of each row, if there are any

Everything is little-endian. A folder is written under a temporary name and renamed when it is complete, so it never exists in
part. `open_store` reads every block once and verifies the digests, that values are finite and that columns are within bounds;
kernels then access the rows without further checks.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.data.mapped import release
from fenchel.data.stored import Stored
from fenchel.errors import InputError

FORMAT = "fenchel rows 1"
KINDS = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "int64": "<i8"}


def open_store(folder: str | os.PathLike[str]) -> Stored:
    """Memory-map the rows in a folder written by `fenchel convert` or `write_store`, after verifying every block.

    Examples
    --------
    >>> import tempfile, fenchel
    >>> from fenchel.data.write_store import RowBlock, write_store
    >>> folder = Path(tempfile.mkdtemp()) / "rows"
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
    >>> _ = write_store(folder, [RowBlock(X, y)])
    >>> fenchel.solve(fenchel.Problem(fenchel.open(folder), loss="hinge", alpha=0.1)).status.name
    'CERTIFIED'
    """
    place = Path(folder)
    manifest = _read_manifest(place)
    arrays = arrays_of(place, manifest)
    edges = manifest["edges"]
    for k, (a, b) in enumerate(itertools.pairwise(edges)):
        _check_block(place, manifest, arrays, k, a, b)
    return Stored(
        _matrix(manifest, arrays), arrays["y"], arrays.get("groups"), manifest["labels"], manifest["features"], place
    )


class StoredRows(NamedTuple):
    """A reference to rows a .. b - 1 of a folder: a few bytes to send to a worker, which reads the rows itself."""

    folder: Path
    a: int
    b: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.b - self.a, int(_read_manifest(self.folder)["columns"])

    def read(self) -> Any:
        """Memory-map the rows, after verifying the blocks that contain them."""
        manifest = _read_manifest(self.folder)
        arrays = arrays_of(self.folder, manifest)
        for k, (a, b) in enumerate(itertools.pairwise(manifest["edges"])):
            if a < self.b and self.a < b:
                _check_block(self.folder, manifest, arrays, k, a, b)
        return _matrix(manifest, arrays)[self.a : self.b]


def _matrix(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    n, d = manifest["rows"], manifest["columns"]
    if manifest["storage"] == "dense":
        return arrays["values"].reshape(n, d)
    X = sp.csr_matrix((arrays["values"], arrays["columns"], arrays["starts"]), shape=(n, d), copy=False)
    X.has_sorted_indices = X.has_canonical_format = True  # verified by _check_block
    return X


def _read_manifest(place: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{place} holds no rows: it has no manifest.json (create it with fenchel convert)") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place / 'manifest.json'} is damaged: {error}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(
            f"{place / 'manifest.json'} does not have the format {FORMAT!r}: it was written by another version, or is no store"
        )
    try:
        edges = [int(e) for e in manifest["edges"]]
        n, d, stored = (int(manifest[k]) for k in ("rows", "columns", "stored"))
        sound = n > 0 and d > 0 and stored >= 0 and edges[0] == 0 and edges[-1] == n
        sound = sound and all(a < b for a, b in itertools.pairwise(edges))
        sound = sound and len(manifest["digests"]) == len(edges) - 1 and manifest["storage"] in ("dense", "csr")
        sound = sound and all(kind in KINDS for kind in manifest["kinds"].values())
        sound = sound and (manifest["storage"] == "csr" or stored == n * d)
        sound = sound and {"labels", "features"} <= manifest.keys()
        needed = {"values", "y"} | ({"columns", "starts"} if manifest["storage"] == "csr" else set())
        sound = sound and needed <= manifest["kinds"].keys() <= needed | {"groups"}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        sound = False
    if not sound:
        raise InputError(f"{place / 'manifest.json'} is damaged: its numbers contradict each other")
    return manifest | {"edges": edges}


def arrays_of(place: Path, manifest: dict[str, Any]) -> dict[str, np.ndarray]:
    """Memory-map every file; its length must be the one that the manifest implies."""
    lengths = {"values": manifest["stored"], "columns": manifest["stored"], "starts": manifest["rows"] + 1}
    found = {}
    for name, kind in manifest["kinds"].items():
        file, dtype = place / f"{name}.bin", np.dtype(KINDS[kind])
        length = lengths.get(name, manifest["rows"])
        try:
            size = file.stat().st_size
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from None
        if size != length * dtype.itemsize:
            raise InputError(
                f"{file} has {size} bytes, expected {length * dtype.itemsize}: it was truncated or changed"
            )
        found[name] = np.memmap(file, dtype=dtype, mode="r", shape=(length,)) if length else np.empty(0, dtype)
    return found


def parts_of(manifest: dict[str, Any], arrays: dict[str, np.ndarray], a: int, b: int) -> dict[str, np.ndarray]:
    """The part of every file that belongs to rows a .. b."""
    if manifest["storage"] == "dense":
        first, last = a * manifest["columns"], b * manifest["columns"]
    else:
        first, last = int(arrays["starts"][a]), int(arrays["starts"][b])
    spans = {"values": (first, last), "columns": (first, last), "starts": (a, b + 1)}
    return {name: array[slice(*spans.get(name, (a, b)))] for name, array in arrays.items()}


def digest_of(part: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(part).data).hexdigest()


def _check_block(place: Path, manifest: dict, arrays: dict[str, np.ndarray], k: int, a: int, b: int) -> None:
    """Verify the digests, that values are finite, that row starts do not decrease, and that the columns of each row are within
    bounds and increase."""
    where = f"block {k} (rows {a} to {b - 1})"
    if manifest["storage"] == "csr":
        starts = arrays["starts"][a : b + 1]
        rising = starts[0] >= 0 and starts[-1] <= manifest["stored"] and bool((np.diff(starts) >= 0).all())
        if not rising or (a == 0 and starts[0] != 0) or (b == manifest["rows"] and starts[-1] != manifest["stored"]):
            raise InputError(f"{place / 'starts.bin'}: {where} is damaged: rows do not follow each other")
    parts = parts_of(manifest, arrays, a, b)
    for name, part in parts.items():
        if digest_of(part) != manifest["digests"][k].get(name):
            raise InputError(f"{place / (name + '.bin')}: {where} is damaged: its sha256 is not that of the manifest")
    if not (np.isfinite(parts["values"]).all() and np.isfinite(parts["y"]).all()):
        raise InputError(f"{place}: {where} contains NaN or infinity")
    if manifest["storage"] == "csr" and parts["columns"].size:
        columns, starts = parts["columns"], parts["starts"]
        inside = columns.min() >= 0 and columns.max() < manifest["columns"]
        steps = np.diff(columns) > 0
        borders = starts[1:-1] - starts[0] - 1
        steps[borders[(borders >= 0) & (borders < steps.size)]] = (
            True  # from one row to the next the column may decrease
        )
        if not (inside and steps.all()):
            raise InputError(f"{place / 'columns.bin'}: {where} is damaged: columns out of bounds or order")
    release(parts.values())
