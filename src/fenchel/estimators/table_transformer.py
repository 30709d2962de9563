"""Tables of mixed columns as rows of numbers: a scikit-learn transformer whose state is plain data."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InputError
from fenchel.estimators.parameters import documented, keep
from fenchel.tables.cells import MISSING
from fenchel.tables.columns import columns_of, is_table
from fenchel.tables.decide import Choices
from fenchel.tables.preparation import Preparation, preparation_from_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


@documented({})
class TableTransformer(TransformerMixin, BaseEstimator):
    """x -> (x - mean) / sd for numbers, indicators [x = level] for categories, and rules for everything else in a table.

    Tables are data frames of pandas, polars or pyarrow, dicts of columns, or arrays. What a column holds is decided in `fit`:

    - numbers, also in text with a decimal comma or separated thousands: standardised;
    - few distinct texts, booleans: one indicator per level, a single one for two levels. Rare levels share one;
    - dates: the number of days, which is standardised, and month, weekday and hour as categories;
    - missing values (None, NaN, or a spelling in `missing`): the mean or no level, and an indicator of their own;
    - identifiers, free text, constant and empty columns: left out.

    In `transform` a level that was not seen in training counts as a rare one, or as the baseline (no indicator) if none was
    rare, with a warning. Columns may come in another order and with others; a missing one is an error.

    Parameters
    ----------
    kinds : a dict from columns to "number", "category", "date" or "drop", for those that would be decided otherwise.
    min_count : a level in fewer rows is rare (at most n / 20, so that small tables keep their levels).
    max_levels : the largest number of levels of a column with an indicator of their own; the others count as rare.
    decimal : "." or ","; None: a comma if some column has numbers with a decimal comma only.
    missing : texts for "no value", compared without case.
    sparse_output : True: a CSR matrix; "auto": one if there are many features of which a row uses few.

    Attributes
    ----------
    rules_ : plain data with what was done with each column (`fenchel.save` of a pipeline writes it into the model file).
    table_ : the same in words: [column, kind, what was done, number of features] for each column.
    feature_names_in_, n_features_in_ : the columns.

    Examples
    --------
    >>> import fenchel
    >>> table = {"rooms": [2, 3, None, 4], "city": ["Ulm", "Bonn", "Ulm", "Ulm"], "price": ["1,200", "900", "1,100", "950"]}
    >>> made = fenchel.TableTransformer().fit(table)
    >>> made.get_feature_names_out().tolist()
    ['rooms', 'rooms=(missing)', 'city=Bonn', 'price']
    >>> made.transform(table).shape
    (4, 4)
    """

    def __init__(
        self, kinds=None, min_count=5, max_levels=100, decimal=None, missing=MISSING, sparse_output=False
    ):  # fmt: skip
        keep(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Decide what each column holds."""
        self._check_parameters()
        columns = columns_of(X, self.missing)
        n = next(iter(columns.values())).values.size
        if n == 0:
            raise InputError(
                f"Found array with 0 sample(s) (shape=(0, {len(columns)})) while a minimum of 1 is required."
            )
        if n == 1:
            raise InputError("one sample (n_samples=1) does not show what a column holds: a minimum of 2 is required")
        choices = Choices(min_count=self.min_count, max_levels=self.max_levels)
        sparse = None if self.sparse_output == "auto" else self.sparse_output
        self._keep(Preparation.fit(columns, choices, self.kinds, self.decimal, sparse, self.missing))
        self.n_features_in_ = len(columns)
        if is_table(X):
            self.feature_names_in_ = np.array(list(columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _keep(self, preparation: Preparation) -> None:
        self.rules_, self.table_ = preparation.plain(), preparation.table()

    def _check_parameters(self) -> None:
        for name in ("min_count", "max_levels"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be an integer of at least 1, got {value!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal must be '.', ',' or None, got {self.decimal!r}")
        if self.sparse_output not in (True, False, "auto"):
            raise InputError(f"sparse_output must be True, False or 'auto', got {self.sparse_output!r}")

    @property
    def preparation_(self) -> Preparation:
        """The rules as an object, whose `original` gives coefficients in the units of the columns."""
        check_is_fitted(self)
        return preparation_from_plain(self.rules_)

    def transform(self, X: Any) -> Any:
        """The features of the rows: float64, (n, number of features)."""
        made = self.preparation_
        columns = columns_of(X, self.missing)
        if not is_table(X) and len(columns) != self.n_features_in_:
            raise InputError(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        if not is_table(X) and hasattr(self, "feature_names_in_"):
            columns = dict(zip(self.feature_names_in_, columns.values(), strict=True))
        found, notes = made.of_columns(columns)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return found

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """The names of the features: column, column=level, column:part."""
        return np.array(self.preparation_.features, dtype=object)
