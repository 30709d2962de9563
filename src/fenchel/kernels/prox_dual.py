"""Proximal steps on all dual variables at once, with sum p u = 0 when the intercept is free.

u_i(b) = argmax over u of u (z_i + b) - loss*(u) - q/2 (u - centre_i)^2, which is one `dual_step` per row. With a free
intercept, b is the number at which sum p u(b) = 0. The sum is nondecreasing in b for every loss. If the conjugate is linear on
its domain, this is the projection onto the intersection of a box and a hyperplane, and b is its multiplier.
"""

from __future__ import annotations

import numpy as np

from fenchel.compile.kernel import kernel
from fenchel.losses.protocol import dual_step

MAX_DOUBLINGS = 1100
MAX_STEPS = 200
BALANCED = 1e-16  # relative to sum p |u|: a smaller sum cannot be distinguished from rounding errors


@kernel
def prox_dual(loss, y, p, centre, z, b, q, out):
    """out = u(b); returns (sum p u, sum p |u|)."""
    total, size = 0.0, 0.0
    for i in range(z.size):
        out[i] = dual_step(loss, centre[i], z[i] + b, q, y[i])
        total += p[i] * out[i]
        size += p[i] * abs(out[i])
    return total, size


@kernel
def balanced_prox_dual(loss, y, p, centre, z, b, stride, q, out, other):
    """out = u(b) with sum p u = 0; returns b. The search starts at `b` with steps of `stride`; `other` is scratch.

    The root is bracketed by doubling the step, then found by Chandrupatla's combination of inverse quadratic interpolation and
    bisection. When the bracket cannot shrink any more, a convex combination of its ends makes the sum vanish. If there is no
    root, the far end of the search is returned.
    """
    f, size = prox_dual(loss, y, p, centre, z, b, q, out)
    if abs(f) <= BALANCED * size:
        return b
    near, f_near = b, f
    far, f_far = b, f
    for _ in range(MAX_DOUBLINGS):
        far = near - stride if f > 0.0 else near + stride
        f_far, size = prox_dual(loss, y, p, centre, z, far, q, out)
        if abs(f_far) <= BALANCED * size or not np.isfinite(far):
            return far
        if (f_far > 0.0) != (f > 0.0):
            break
        near, f_near = far, f_far
        stride *= 2.0
    # From here on the root lies between x1 and x2; x3 is the previous point.
    x1, f1, x2, f2 = far, f_far, near, f_near
    share = 0.5
    for _ in range(MAX_STEPS):
        x = x1 + share * (x2 - x1)
        if x in (x1, x2):
            break
        at, size = prox_dual(loss, y, p, centre, z, x, q, out)
        if abs(at) <= BALANCED * size:
            return x
        if (at > 0.0) == (f1 > 0.0):
            x3, f3 = x1, f1
        else:
            x3, f3, x2, f2 = x2, f2, x1, f1
        x1, f1 = x, at
        share = next_share(x1, f1, x2, f2, x3, f3)
    prox_dual(loss, y, p, centre, z, x1, q, out)
    prox_dual(loss, y, p, centre, z, x2, q, other)
    mix = f1 / (f1 - f2)
    out += mix * (other - out)
    return x1


@kernel
def next_share(x1, f1, x2, f2, x3, f3):
    """The next point, as a fraction of the way from x1 to x2: interpolated where safe (Chandrupatla 1997), else the middle."""
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    share = 0.5
    if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
        share = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    edge = 2.0**-51 * abs(x1) / abs(x2 - x1)
    return min(max(share, min(edge, 0.5)), max(1.0 - edge, 0.5))
