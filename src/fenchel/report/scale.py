"""Linear and logarithmic scales from values to coordinates, with round numbers as tick labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fenchel.report.markup import Markup, element, shown


@dataclass(frozen=True)
class Scale:
    """A scale that maps `low` to `high` (exponents of ten if `log`) to the coordinates `first` to `last`."""

    low: float
    high: float
    first: float
    last: float
    log: bool = False

    def place(self, value: float) -> float:
        """The coordinate of a value.

        >>> Scale(-2, 0, 100.0, 0.0, log=True).place(0.1)
        50.0
        """
        value = math.log10(value) if self.log else value
        return self.first + (self.last - self.first) * ((value - self.low) / (self.high - self.low))

    def ticks(self, most: int = 6) -> list[tuple[float, Markup]]:
        """(coordinate, text) of at most about `most` round values."""
        if not self.log:
            return [(self.place(value), element("tspan", text)) for value, text in self._round_values(most)]
        low, high = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        if high - low < 1:
            return [
                (self.place(m * 10.0**e), element("tspan", shown(m * 10.0**e, 3)))
                for e in range(low - 1, high + 1)
                for m in (1, 2, 3, 5)
                if self.low <= math.log10(m * 10.0**e) <= self.high
            ]
        step = max(1, math.ceil((high - low) / most))
        return [(self.place(10.0**e), _power(e)) for e in range(low, high + 1) if (e - high) % step == 0]

    def _round_values(self, most: int) -> list[tuple[float, str]]:
        step = _nice((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        digits, most_size = max(0, -math.floor(math.log10(step))), max(abs(self.low), abs(self.high))
        if most_size < 1e5 and digits <= 5:
            texts = [(k * step, f"{k * step:.{digits}f}") for k in range(first, last + 1)]
            return [(value, text.replace("-", "\N{MINUS SIGN}")) for value, text in texts]
        enough = math.floor(math.log10(most_size)) - math.floor(math.log10(step)) + 1
        return [(k * step, shown(k * step, enough) if k else "0") for k in range(first, last + 1)]


def linear(values: list[float], first: float, last: float, zero: bool = False) -> Scale:
    """A scale for the values with a margin, optionally from 0."""
    low, high = min(values), max(values)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    narrow = 1e-4 * max(abs(low), abs(high), 1e-300)  # the smallest range that tick labels of six digits can resolve
    if high - low < narrow:
        low, high = low - narrow, high + narrow
    room = 0.0 if zero else 0.03 * (high - low)
    return Scale(low - room, high + room, first, last)


def logarithmic(values: list[float], first: float, last: float, whole: bool = True) -> Scale:
    """A log scale for positive values, from one power of ten to another (`whole`) or with a margin."""
    low, high = math.log10(min(values)), math.log10(max(values))
    if whole:
        low, high = math.floor(low), math.ceil(high)
    if high - low < 1e-6:
        low, high = low - 0.5, high + 0.5
    room = 0.0 if whole else 0.03 * (high - low)
    return Scale(low - room, high + room, first, last, log=True)


def _power(exponent: int) -> Markup:
    if 0 <= exponent <= 3:
        return element("tspan", shown(10**exponent))
    sign = "\N{MINUS SIGN}" if exponent < 0 else ""
    return Markup(element("tspan", "10") + element("tspan", f"{sign}{abs(exponent)}", class_="raised", dy="-0.45em"))


def _nice(step: float) -> float:
    """The next larger number of the form 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))
