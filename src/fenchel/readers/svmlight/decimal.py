"""Parse decimal text to the nearest double, inside kernels: bit-identical to Python's `float()`, or reported as "hard".

    value = round_to_nearest_even(+-mantissa * 10^exponent)

Two methods are tried: the exact case (mantissa <= 2^53 and |exponent| <= 22, one rounding by the hardware; W. Clinger,
PLDI 1990) and the product with a 128-bit power of five (D. Lemire, "Number parsing at a gigabyte per second", 2021,
algorithm 1). Numbers that neither decides, such as subnormals, are left to the caller, who uses `float()`.

The arithmetic never wraps around, so that the source also runs in plain Python with NumPy scalars.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper

U0, U1, U10, U32, U48, U52, U63 = (np.uint64(k) for k in (0, 1, 10, 32, 48, 52, 63))
LOW_HALF = np.uint64(2**32 - 1)
ALL_ONES = np.uint64(2**64 - 1)
NINE_BITS = np.uint64(0x1FF)
TWO_53 = np.uint64(2**53)
HIDDEN_BIT = np.uint64(2**52)
TEN_18 = np.uint64(10**18)  # a mantissa below 10^18 can take one more digit and stay below 10^19 < 2^64
SMALLEST_POWER, LARGEST_POWER = -342, 308
EXPONENT_CAP = 10**12  # no file has that many digits, so a capped exponent still means zero or overflow

DECIDED, HARD, OVERFLOW = 0, 1, 2


class PowerTables(NamedTuple):
    """128-bit approximations of 5^q (normalised; high and low words) and the exact doubles 10^0 .. 10^22."""

    high: np.ndarray
    low: np.ndarray
    exact: np.ndarray


def _power_of_five(q: int) -> int:
    """The first 128 bits of 5^q, rounded up where the reciprocal of 5^-q fits (-27 <= q < 0), else down."""
    power = 5 ** abs(q)
    if q < 0:
        return (1 << (power.bit_length() + 127)) // power + (q >= -27)
    shift = power.bit_length() - 128
    return power >> shift if shift > 0 else power << -shift


@cache
def power_tables() -> PowerTables:
    powers = [_power_of_five(q) for q in range(SMALLEST_POWER, LARGEST_POWER + 1)]
    high = np.array([power >> 64 for power in powers], dtype=np.uint64)
    low = np.array([power & (2**64 - 1) for power in powers], dtype=np.uint64)
    return PowerTables(high, low, np.array([float(10**k) for k in range(23)]))


@helper
def scan_decimal(buf, p):
    """[+-] digits [. digits] [e [+-] digits] at p -> (found, end, mantissa, exponent, negative, truncated).

    The mantissa keeps 19 significant digits; `truncated` tells that a digit other than 0 was dropped.
    """
    mantissa, exponent, found, truncated = U0, np.int64(0), False, False
    negative = buf[p] == 45
    if negative or buf[p] == 43:
        p += U1
    while buf[p] >= 48 and buf[p] <= 57:  # p rises, to a newline at the latest
        if mantissa < TEN_18:
            mantissa = mantissa * U10 + (np.uint64(buf[p]) - U48)
        else:
            exponent += 1
            truncated = truncated or buf[p] != 48
        found = True
        p += U1
    if buf[p] == 46:
        p += U1
        while buf[p] >= 48 and buf[p] <= 57:  # as above
            if mantissa < TEN_18:
                mantissa = mantissa * U10 + (np.uint64(buf[p]) - U48)
                exponent -= 1
            else:
                truncated = truncated or buf[p] != 48
            found = True
            p += U1
    if found and (buf[p] == 101 or buf[p] == 69):
        found, p, power = scan_exponent(buf, p + U1)
        exponent += power
    return found, p, mantissa, exponent, negative, truncated


@helper
def scan_exponent(buf, p):
    """[+-] digits at p -> (found, end, value), the value capped."""
    value, found = np.int64(0), False
    negative = buf[p] == 45
    if negative or buf[p] == 43:
        p += U1
    while buf[p] >= 48 and buf[p] <= 57:  # p rises, to a newline at the latest
        if value < EXPONENT_CAP:
            value = value * 10 + (np.int64(buf[p]) - 48)
        found = True
        p += U1
    return found, p, -value if negative else value


@helper
def store_decimal(mantissa, exponent, negative, truncated, tables, values, bits, k):
    """Write the nearest double into values[k] (`bits` is the same memory as uint64) -> DECIDED, HARD or OVERFLOW."""
    if mantissa <= TWO_53 and exponent >= -22 and exponent <= 22 and not truncated:
        value = np.float64(mantissa)
        value = (
            value / tables.exact[np.uint64(-exponent)] if exponent < 0 else value * tables.exact[np.uint64(exponent)]
        )
        values[k] = -value if negative else value
        return DECIDED
    if mantissa == U0 or exponent < SMALLEST_POWER:
        values[k] = -0.0 if negative else 0.0
        return DECIDED
    if exponent > LARGEST_POWER:
        return OVERFLOW
    status, word = nearest_double(mantissa, exponent, tables)
    if truncated and status == DECIDED:
        # The true mantissa lies between this one and the next: if both round to one double, that is the answer.
        status, above = nearest_double(mantissa + U1, exponent, tables)
        if status == DECIDED and above != word:
            status = HARD
    if status == DECIDED:
        bits[k] = word | (U1 << U63) if negative else word
    return status


@helper
def nearest_double(mantissa, exponent, tables):
    """(status, bits of the positive double nearest to mantissa * 10^exponent), mantissa > 0."""
    zeros = leading_zeros(mantissa)
    mantissa <<= zeros
    row = np.uint64(exponent - SMALLEST_POWER)
    high, low = product(mantissa, tables.high[row])
    if high & NINE_BITS == NINE_BITS:
        second, _ = product(mantissa, tables.low[row])
        if second > ALL_ONES - low:
            high += U1
            low = second - (ALL_ONES - low) - U1
        else:
            low += second
    if low == ALL_ONES and (exponent < -27 or exponent > 55):
        return HARD, U0
    top = high >> U63
    shift = top + np.uint64(9)
    word = high >> shift
    # floor(log2(10^q)) for |q| <= 350, as in the reference.
    power = ((217706 * exponent) >> 16) + 1086 + np.int64(top) - np.int64(zeros)
    if power <= 0:
        return HARD, U0
    if low <= U1 and exponent >= -4 and exponent <= 23 and word & np.uint64(3) == U1 and word << shift == high:
        word -= U1  # exactly half-way: to even
    word = (word + (word & U1)) >> U1
    if word >= TWO_53:
        word, power = HIDDEN_BIT, power + 1
    if power >= 2047:
        return OVERFLOW, U0
    return DECIDED, (word - HIDDEN_BIT) | (np.uint64(power) << U52)


@helper
def product(a, b):
    """The 128-bit product of two words as (high, low), from 32-bit halves."""
    a0, a1, b0, b1 = a & LOW_HALF, a >> U32, b & LOW_HALF, b >> U32
    low, cross, other = a0 * b0, a0 * b1, a1 * b0
    middle = (low >> U32) + (cross & LOW_HALF) + (other & LOW_HALF)
    high = a1 * b1 + (cross >> U32) + (other >> U32) + (middle >> U32)
    return high, (middle << U32) | (low & LOW_HALF)


@helper
def leading_zeros(word):
    """Zero bits above the highest set bit of a word > 0."""
    zeros = U0
    step = U32
    while step > U0:  # step halves
        if word >> (np.uint64(64) - step) == U0:
            word <<= step
            zeros += step
        step >>= U1
    return zeros
