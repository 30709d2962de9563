"""What kind of values an array holds, as seen from its dtype.

The functions take any object whose `dtype` has numpy's one-letter `kind`: arrays, sparse matrices, columns of a table.
"""

from __future__ import annotations

from typing import Any, Protocol

SIGNED_INTEGER = frozenset("i")
INTEGER = frozenset("iu")
FLOATING = frozenset("f")
NUMBER = frozenset("iuf")
NUMBER_OR_BOOL = frozenset("biuf")
COMPLEX = frozenset("c")
TIME = frozenset("mM")
TEXT = frozenset("U")
OBJECT = frozenset("O")


class HasDtype(Protocol):
    """An array, a sparse matrix, a column of a table."""

    @property
    def dtype(self) -> Any:
        """A dtype with numpy's one-letter `kind`."""


def is_signed_integer(values: HasDtype) -> bool:
    """Integers that may be negative.

    >>> import numpy as np
    >>> is_signed_integer(np.array([1])), is_signed_integer(np.array([1], dtype=np.uint8))
    (True, False)
    """
    return values.dtype.kind in SIGNED_INTEGER


def is_integer(values: HasDtype) -> bool:
    """Integers, signed or not; booleans and durations do not count.

    >>> import numpy as np
    >>> is_integer(np.array([1], dtype=np.uint8)), is_integer(np.array([True])), is_integer(np.array([1.0]))
    (True, False, False)
    """
    return values.dtype.kind in INTEGER


def is_floating(values: HasDtype) -> bool:
    """Floating-point numbers of any precision.

    >>> import numpy as np
    >>> is_floating(np.zeros(1, dtype=np.float16)), is_floating(np.array([1]))
    (True, False)
    """
    return values.dtype.kind in FLOATING


def is_number(values: HasDtype) -> bool:
    """Integers or floating-point numbers.

    >>> import numpy as np
    >>> is_number(np.array([1.5])), is_number(np.array([True])), is_number(np.array([1j]))
    (True, False, False)
    """
    return values.dtype.kind in NUMBER


def is_number_or_bool(values: HasDtype) -> bool:
    """Integers, floating-point numbers or booleans.

    >>> import numpy as np
    >>> is_number_or_bool(np.array([True])), is_number_or_bool(np.array(["a"]))
    (True, False)
    """
    return values.dtype.kind in NUMBER_OR_BOOL


def is_complex(values: HasDtype) -> bool:
    """Complex numbers.

    >>> import numpy as np
    >>> is_complex(np.array([1j])), is_complex(np.array([1.0]))
    (True, False)
    """
    return values.dtype.kind in COMPLEX


def is_time(values: HasDtype) -> bool:
    """Points in time or durations.

    >>> import numpy as np
    >>> is_time(np.array(["2024-02-29"], dtype="M8[D]")), is_time(np.array([1], dtype="m8[s]")), is_time(np.array([1]))
    (True, True, False)
    """
    return values.dtype.kind in TIME


def is_text(values: HasDtype) -> bool:
    """Fixed-width strings of numpy.

    >>> import numpy as np
    >>> is_text(np.array(["a"])), is_text(np.array(["a"], dtype=object))
    (True, False)
    """
    return values.dtype.kind in TEXT


def is_object(values: HasDtype) -> bool:
    """Python objects.

    >>> import numpy as np
    >>> is_object(np.array(["a"], dtype=object)), is_object(np.array(["a"]))
    (True, False)
    """
    return values.dtype.kind in OBJECT
