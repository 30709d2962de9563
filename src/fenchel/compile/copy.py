"""Copying in compiled code.

`out[a:b] = values` makes numba compile the text of an error message about shapes, a second or more in each process and more
machine code in each kernel. So kernels copy with this function; `tests/test_jit.py` finds those that do not.
"""

from __future__ import annotations

from typing import Any

from fenchel.compile.dispatch import helper


@helper
def copy(values: Any, out: Any) -> None:
    """out = values, both with one dimension and of one size.

    >>> import numpy as np
    >>> out = np.zeros(3)
    >>> copy(np.array([1.0, 2.0, 3.0]), out)
    >>> out
    array([1., 2., 3.])
    """
    for i in range(out.size):
        out[i] = values[i]
