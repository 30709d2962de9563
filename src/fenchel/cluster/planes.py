"""The answers of each owner, held against each other: those of one convex loss cannot contradict themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fenchel.errors import OwnerRefusal
from fenchel.mirror_maps.coordinatewise import Coordinatewise, apply_to
from fenchel.oracles.local_dual import Round


class Value(NamedTuple):
    """An owner's loss at a point."""

    w: np.ndarray
    b: float
    value: float


class Plane(NamedTuple):
    """What an owner's loss lies above, everywhere: at (w, b) it is `value`, with these slopes."""

    w: np.ndarray
    b: float
    value: float
    gradient: np.ndarray
    slopes: float

    def at(self, point: Value) -> tuple[float, float]:
        """(the plane's height, the size that its rounding is proportional to)."""
        step, along = point.w - self.w, self.slopes * (point.b - self.b)
        size = abs(self.value) + float(np.abs(self.gradient) @ np.abs(step)) + abs(along)
        return self.value + float(self.gradient @ step) + along, size


class Planes:
    """What an owner has answered so far: no plane of a convex function lies above a value of it."""

    MOST = 50
    ROUNDING = 1e-9

    def __init__(self, name: str):
        self.name = name
        self.values: list[Value] = []
        self.planes: list[Plane] = []

    def check(self, w: np.ndarray, b: float, value: float, gradient: np.ndarray, slopes: float) -> None:
        """A value and the plane that touches there."""
        if np.shape(gradient) != np.shape(w):
            raise OwnerRefusal(self.name, f"its gradient has shape {np.shape(gradient)}, not {np.shape(w)}")
        if np.isnan(value) or np.isnan(gradient).any():
            raise OwnerRefusal(self.name, "it answers NaN")
        here = np.array(w)
        self.compare(Value(here, b, value), Plane(here, b, value, np.array(gradient), slopes))

    def compare(self, value: Value, plane: Plane) -> None:
        """Every plane lies below every value: raise `OwnerRefusal` naming the owner if one does not."""
        if not (np.isfinite([value.value, plane.value]).all() and np.isfinite(plane.gradient).all()):
            return
        self.values, self.planes = [*self.values[-self.MOST + 1 :], value], [*self.planes[-self.MOST + 1 :], plane]
        for below, above in [(plane, old) for old in self.values] + [(old, value) for old in self.planes]:
            bound, size = below.at(above)
            if bound > above.value + self.ROUNDING * (size + abs(above.value)):
                raise OwnerRefusal(
                    self.name, "its answers contradict each other: no convex loss of the same rows gives "
                    f"{above.value:.6g} where an earlier or later answer bounds it by {bound:.6g} from below"
                )  # fmt: skip


class DualPlanes:
    """Those of an owner's dual variables. By Fenchel and Young its loss lies above <w, a> - sum p loss*(u) with a = sum p u x,
    whatever u is; a is added up here from the changes that the owner tells."""

    def __init__(self, planes: Planes, a: np.ndarray, transfer: Coordinatewise, strength: float):
        self.planes, self.a, self.transfer, self.strength = planes, np.array(a), transfer, strength
        self.change = np.zeros_like(self.a)

    def check(self, told: Round, losses: float, conjugates: float, change: np.ndarray, square: float) -> None:
        """What the owner answered to a round: its loss at w, conjugates of u, the change of v = -a / strength, its square."""
        if np.shape(change) != self.a.shape:
            raise OwnerRefusal(self.planes.name, f"its change has shape {np.shape(change)}, not {self.a.shape}")
        if abs(float(change @ change) - square) > Planes.ROUNDING * square:
            raise OwnerRefusal(self.planes.name, "its answers contradict each other: a change and its square")
        self.a = self.a - told.kept * self.strength * self.change
        self.change, zero = np.array(change), np.zeros_like(self.a)
        here = Value(apply_to(self.transfer, told.v), 0.0, losses)
        self.planes.compare(here, Plane(zero, 0.0, -conjugates, self.a, 0.0))


class AnswersOfOwners:
    """What each owner has answered to the questions from whose answers its loss at a point, and a plane there, are known."""

    # Where the loss is asked for, from the arguments; the answer begins with its value, gradient and derivative in b.
    POINTS: ClassVar[dict[str, Callable[..., tuple[np.ndarray, float]]]] = {
        "risk": lambda w, b=0.0: (w, b),
        "risk_alone": lambda w: (w, 0.0),
        "query_newton.sums_at": lambda name, number, w: (w, 0.0),
        "newton.sums_at": lambda name, number, w, b: (w, b),
    }

    def __init__(self, names: Sequence[str]):
        self.planes = [Planes(name) for name in names]
        self.duals: list[DualPlanes] = []

    def knows(self, question: str) -> bool:
        """Whether the answers to a question can be checked."""
        return question in (*self.POINTS, "begin_local_dual", "local_dual_round")

    def check(self, question: str, arguments: tuple, answers: Sequence[Any]) -> None:
        """Hold the owners' answers against their earlier ones: `OwnerRefusal` names who contradicts itself."""
        if question == "begin_local_dual":
            _, transfer, strength, _ = arguments
            pairs = zip(self.planes, answers, strict=True)
            self.duals = [DualPlanes(planes, a, transfer, strength) for planes, (a,) in pairs]
        elif question == "local_dual_round":
            for dual, (losses, _, conjugates, _, change, square) in zip(self.duals, answers, strict=True):
                dual.check(arguments[1], losses, conjugates, change, square)
        else:
            w, b = self.POINTS[question](*arguments)
            for planes, answer in zip(self.planes, answers, strict=True):
                planes.check(w, b, answer[0], answer[1], answer[2] if len(answer) > 2 else 0.0)
