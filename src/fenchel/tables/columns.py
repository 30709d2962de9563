"""The columns of a table, whichever library holds it: numbers, texts (as codes of their distinct values) or dates."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fenchel.errors import InputError
from fenchel.tables.cells import MISSING, NOT_A_TIME

NUMBER, TEXT, DATE = "number", "text", "date"


class Column(NamedTuple):
    """Numbers: float64, NaN if missing. Text: codes of `levels`, -1 if missing. Dates: datetime64[s], NaT if missing."""

    kind: str
    values: np.ndarray
    levels: tuple[str, ...] = ()

    @property
    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        if self.kind == TEXT:
            return self.values < 0
        return np.isnat(self.values) if self.kind == DATE else np.isnan(self.values)

    def take(self, rows: np.ndarray) -> Column:
        """Some of the rows."""
        return self._replace(values=self.values[rows])

    def counts(self) -> np.ndarray:
        """How often each level occurs."""
        return np.bincount(self.values[self.values >= 0], minlength=len(self.levels))

    def of_levels(self, values: np.ndarray, missing: Any) -> np.ndarray:
        """The values of the rows, given one for each level."""
        return np.append(values, np.array([missing], dtype=values.dtype))[self.values]


def text_column(words: Sequence[Any], missing: Collection[str] = MISSING) -> Column:
    """A column of texts without the blanks around them; spellings of "missing" are compared without case.

    >>> text_column(["b", " a", "NA", None]).values.tolist()
    [1, 0, -1, -1]
    """
    distinct = {word: None if word is None else _text(word) for word in dict.fromkeys(words)}
    kept = {word: text for word, text in distinct.items() if text is not None and text.lower() not in missing}
    levels = tuple(sorted(set(kept.values())))
    place = {text: k for k, text in enumerate(levels)}
    codes = {word: place[kept[word]] if word in kept else -1 for word in distinct}
    return Column(TEXT, np.fromiter(map(codes.__getitem__, words), np.int64, len(words)), levels)


def _text(word: Any) -> str | None:
    if isinstance(word, bytes):
        word = word.decode("utf-8", "backslashreplace")
    if isinstance(word, float) and np.isnan(word):
        return None
    return str(word).strip()


def is_table(X: Any) -> bool:
    """Whether X has named columns: a data frame of pandas, polars or pyarrow, or a dict of columns."""
    if isinstance(X, (np.ndarray, list, tuple)) or sp.issparse(X):
        return False
    return isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")


def columns_of(X: Any, missing: Collection[str] = MISSING) -> dict[str, Column]:
    """The columns of a data frame, a dict of columns or a matrix (whose columns are named x0, x1, ...)."""
    if sp.issparse(X):
        raise InputError("X is a sparse matrix, whose columns are features already: it needs no TableTransformer")
    spellings = frozenset(word.lower() for word in missing)
    if isinstance(X, Mapping):
        found = {str(name): _of_values(values, spellings) for name, values in X.items()}
    elif is_table(X):
        found = _of_frame(X, spellings)
    else:
        found = _of_matrix(X, spellings)
    sizes = {column.values.size for column in found.values()}
    if len(sizes) > 1:
        raise InputError(f"X has columns of different lengths: {sorted(sizes)}")
    if not found:
        raise InputError("X has no columns: 0 feature(s) (shape=(0, 0)) while a minimum of 1 is required.")
    return found


def _of_matrix(X: Any, missing: Collection[str]) -> dict[str, Column]:
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise InputError(
            f"X must be a table or an array of two dimensions, got {rows.ndim} dimension(s). Reshape your data, as in "
            "X.reshape(-1, 1) for a single column"
        )
    return {f"x{j}": _of_values(rows[:, j], missing) for j in range(rows.shape[1])}


def _of_values(values: Any, missing: Collection[str]) -> Column:
    """A column from an array, a list or a series, by what it holds."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=None if _plain(values) else object)
    if array.ndim != 1:
        raise InputError(f"a column of X must have one dimension, got {array.ndim}")
    if np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating):
        return _number(array)
    if np.issubdtype(array.dtype, np.datetime64):
        return Column(DATE, array.astype("datetime64[s]"))
    if np.issubdtype(array.dtype, np.complexfloating):
        raise InputError("Complex data not supported: X has a column of complex numbers")
    words = array.tolist()
    known = [word for word in words if word is not None and word == word]  # NaN differs from itself
    if known and all(isinstance(word, (int, float, np.number)) and not isinstance(word, bool) for word in known):
        return _number(np.array([np.nan if word is None else word for word in words], dtype=float))
    if known and all(hasattr(word, "isoformat") and hasattr(word, "day") for word in known):
        moments = np.full(len(words), NOT_A_TIME)
        places = [k for k, word in enumerate(words) if word is not None and word == word]
        moments[places] = [_moment(word) for word in known]
        return Column(DATE, moments)
    return text_column([word if word is not None and word == word else None for word in words], missing)


def _moment(word: Any) -> np.datetime64:
    return np.datetime64((word.replace(tzinfo=None) if hasattr(word, "tzinfo") else word).isoformat(), "s")


def _plain(values: Any) -> bool:
    """Whether NumPy finds the type of a column itself: a series knows it, and so does a list of numbers alone."""
    return hasattr(values, "dtype") or all(type(value) in (int, float) for value in values)


def _number(array: np.ndarray) -> Column:
    values = array.astype(float)
    return Column(NUMBER, np.where(np.isfinite(values), values, np.nan))


def _of_frame(X: Any, missing: Collection[str]) -> dict[str, Column]:
    try:
        import narwhals.stable.v2 as frames
    except ImportError:
        raise InputError(
            "data frames need narwhals: pip install 'fenchel[tables]' (a dict of columns needs nothing)"
        ) from None
    try:
        frame = frames.from_native(X, eager_only=True)
    except TypeError:
        raise InputError(f"X must be a data frame, a dict of columns or an array, got {type(X).__name__}") from None
    except ValueError as error:  # pandas allows two columns of one name
        raise InputError(f"X must be a data frame whose columns have different names: {error}") from None
    names = [str(name) for name in frame.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"X has several columns with the name {twice!r}: every column needs its own")
    return {
        name: _of_series(frames, frame.get_column(given), missing)
        for name, given in zip(names, frame.columns, strict=True)
    }


def _of_series(frames: Any, series: Any, missing: Collection[str]) -> Column:
    kind = series.dtype
    if kind.is_numeric():
        return _number(np.asarray(series.cast(frames.Float64()).to_numpy(), dtype=float))
    if kind == frames.Datetime or kind == frames.Date:
        plain = series.cast(frames.Datetime("us")) if kind == frames.Date else series.dt.replace_time_zone(None)
        return Column(DATE, np.asarray(plain.to_numpy()).astype("datetime64[s]"))
    if kind == frames.Categorical or kind == frames.Enum:
        series = series.cast(frames.String())
    return _of_values(np.array([*series.to_list(), None], dtype=object)[:-1], missing)
