"""Validate UTF-8 inside kernels, one character at a time."""

from __future__ import annotations

import numpy as np

from fenchel.compile.dispatch import helper

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@helper
def utf8_length(buf, p):
    """The bytes of the character at p, 0 if it is invalid (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF).

    Only bytes that continue the character are read, so never beyond a newline.
    """
    lead = buf[p]
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    low = 0xA0 if lead == 0xE0 else (0x90 if lead == 0xF0 else 0x80)
    high = 0x9F if lead == 0xED else (0x8F if lead == 0xF4 else 0xBF)
    if buf[p + ONE] < low or buf[p + ONE] > high:
        return 0
    if lead < 0xE0:
        return 2
    if buf[p + TWO] < 0x80 or buf[p + TWO] > 0xBF:
        return 0
    if lead < 0xF0:
        return 3
    return 0 if buf[p + THREE] < 0x80 or buf[p + THREE] > 0xBF else 4
