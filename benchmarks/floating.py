"""Floating point as the standard has it, whatever a library does when it is loaded.

Libraries linked with -ffast-math switch numbers below 2e-308 off for the thread that loads them, and so for everybody else in
the process. `restore` switches them on again (glibc; elsewhere it does nothing).
"""

from __future__ import annotations

import ctypes

DEFAULT = ctypes.c_void_p(-1)  # FE_DFL_ENV


def restore() -> None:
    """The default floating-point environment for this thread."""
    try:
        ctypes.CDLL("libm.so.6").fesetenv(DEFAULT)
    except (OSError, AttributeError):
        return
