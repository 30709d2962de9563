"""A handle to data on disk, as `fenchel.open` returns it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


class Stored(NamedTuple):
    """Rows and targets on disk, passed in place of X and y: `Problem(fenchel.open(folder), loss=...)`.

    X holds mapped arrays (ndarray or scipy CSR) that were verified when the folder was opened. `labels` are the names of the
    targets 0, 1, ..., `features` the names of the columns; each is None if there are none.
    """

    X: Any
    y: np.ndarray
    groups: np.ndarray | None
    labels: list[str] | None
    features: list[str] | None
    folder: Path

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def __matmul__(self, w: np.ndarray) -> np.ndarray:
        return self.X @ w


def targets_of(X: MatrixLike, y: ArrayLike | None, groups: ArrayLike | None = None) -> tuple[Any, Any]:
    """(y, groups), taken from the data on disk where they are None."""
    if not isinstance(X, Stored):
        return y, groups
    return (X.y if y is None else y), (X.groups if groups is None else groups)


def folder_of(X: MatrixLike) -> Path | None:
    """The folder of data that are on disk, else None."""
    return X.folder if isinstance(X, Stored) else None
