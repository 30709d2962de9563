"""Data that lie on disk, as a user holds them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fenchel.data.types import MatrixLike


class Stored(NamedTuple):
    """Rows and targets on disk, in the place of X and y: `Problem(fenchel.open(folder), loss=...)`.

    X holds mapped arrays (ndarray or scipy CSR) that were checked when the folder was opened. labels are the words that
    targets 0, 1, ... stand for, features the names of the columns; None where there are none.
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
    """(y, groups), or those on disk where none are given."""
    if not isinstance(X, Stored):
        return y, groups
    return (X.y if y is None else y), (X.groups if groups is None else groups)


def folder_of(X: MatrixLike) -> Path | None:
    """Where the data lie, if they are on disk."""
    return X.folder if isinstance(X, Stored) else None
