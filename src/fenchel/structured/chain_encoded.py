"""Encoded examples of chains.

The workspace S of example i with T positions holds

    safe, top | M: m m | P: tables of m m | U: T m | F: T m | V: T m + T | Q: tables of m m

and at the very end M transposed. M = exp(P - top) of the transitions is computed once per pass (`begin_pass`). U: scores of
labels at positions, including label bias, start and end. P: scores of pairs, one table for all positions, or T - 1 tables if
transitions depend on features. The rest is scratch space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.rows import row_column, row_entry, row_span
from fenchel.structured.chain_gradient import add_marginals, add_pair, add_position, pop_pair, pop_position
from fenchel.structured.chain_layout import column_scores, weights_touched
from fenchel.structured.chain_paths import best_counted_path, best_path
from fenchel.structured.chain_sums import exp_table, log_sums, scaled_edge_sums, scaled_sums, shift
from fenchel.structured.chain_weights import ChainWeights, Places, places, split
from fenchel.structured.protocol import label_cost, label_margin, plane_factor

if TYPE_CHECKING:
    from fenchel.structured.pool import Pool


@helper
def tables(model, T):
    """The number of tables of pair scores of an example."""
    return 1 if model.edge_features == 0 else max(T - 1, 1)


@helper
def unary_place(model, T):
    """The index at which U begins in S."""
    return 2 + model.m * model.m * (1 + tables(model, T))


@helper
def fill_transitions(model, w, P):
    """P = the scores of transitions, 0 where they have no weight."""
    for q in range(P.size):
        P[q] = 0.0
    for k in range(model.pairs.size):
        P[model.pairs[k]] = w[model.at.pairs + k]


@helper
def largest(x):
    """The largest absolute value."""
    top = 0.0
    for k in range(x.size):
        top = max(top, abs(x[k]))
    return top


class EncodedChain(NamedTuple):
    """Position t of example i is row first[i] + t of `rows`; pair t is row first[i] - i + t of `edges`."""

    rows: Any
    edges: Any
    layout: Any
    pairs: np.ndarray
    first: np.ndarray
    y: np.ndarray
    at: Places
    m: int
    edge_features: int
    beta: float
    normalise: bool

    @property
    def n(self) -> int:
        return self.first.size - 1

    @property
    def d(self) -> int:
        return self.at.size

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.first)

    @property
    def workspace_size(self) -> int:
        T, m = int(np.max(self.sizes)), self.m
        return unary_place(self, T) + 3 * T * m + T + (tables(self, T) + 1) * m * m

    @property
    def work(self) -> int:
        return weights_touched(self.rows, self.layout) + self.y.size * self.m

    def gold(self, i: int) -> np.ndarray:
        return self.y[self.first[i] : self.first[i + 1]]

    def decode(self, i: int, label: np.ndarray) -> np.ndarray:
        return np.array(label)

    def valid_labels(self, pool: Pool) -> bool:
        return bool(pool.labels.size == 0 or (pool.labels.min() >= 0 and pool.labels.max() < self.m))

    def full(self, w: np.ndarray) -> np.ndarray:
        """w in the layout that has weights for all pairs: those that were not seen in training are 0."""
        m, at = self.m, self.at
        pairs = np.zeros(m * m)
        pairs[self.pairs] = w[at.pairs : at.pairs + self.pairs.size]
        emissions = self.layout.expand(w[: self.layout.weights], m).ravel()
        return np.concatenate([emissions, w[self.layout.weights : at.pairs], pairs, w[at.pairs + self.pairs.size :]])

    def split(self, w: np.ndarray) -> ChainWeights:
        """The parts of w, with zeros where observed_only=True has no weights."""
        every, bias, ends = (
            self.layout.expand(w[: self.layout.weights], self.m).size,
            self.at.bias >= 0,
            self.at.start >= 0,
        )
        return split(self.full(w), places(every, self.m**2, self.m, self.edge_features, bias, ends), self.m)

    def label_size(self, i):
        return self.first[i + 1] - self.first[i]

    def begin_pass(self, w, S):
        m = self.m
        P = S[2 + m * m : 2 + 2 * m * m]
        fill_transitions(self, w, P)
        M, transposed = S[2 : 2 + m * m], S[S.size - m * m :]
        top, safe = exp_table(P, M)
        S[0], S[1] = safe, top
        for a in range(m):
            for b in range(m):
                transposed[b * m + a] = M[a * m + b]

    def part_scores(self, w, i, S):
        m, at = self.m, self.at
        first, T = self.first[i], self.first[i + 1] - self.first[i]
        U = S[unary_place(self, T) :]
        for t in range(T):
            own = U[t * m : (t + 1) * m]
            for c in range(m):
                own[c] = w[at.bias + c] if at.bias >= 0 else 0.0
            start, stop = row_span(self.rows, first + t)
            for k in range(start, stop):
                column_scores(self.layout, w, row_column(self.rows, k), row_entry(self.rows, first + t, k), own)
        if at.start >= 0:
            for c in range(m):
                U[c] += w[at.start + c]
                U[(T - 1) * m + c] += w[at.end + c]
        for t in range(tables(self, T)):
            P = S[2 + (t + 1) * m * m : 2 + (t + 2) * m * m]
            fill_transitions(self, w, P)
            if t < T - 1 and self.edge_features > 0:
                row = first - i + t
                start, stop = row_span(self.edges, row)
                for k in range(start, stop):
                    x, place = row_entry(self.edges, row, k), at.edges + np.int64(row_column(self.edges, k)) * m * m
                    for q in range(m * m):
                        P[q] += x * w[place + q]

    def score_size(self, S, i):
        m, T = self.m, self.first[i + 1] - self.first[i]
        at = unary_place(self, T)
        total = 0.0
        for t in range(T):
            total += largest(S[at + t * m : at + (t + 1) * m])
        return total + (T - 1) * largest(S[2 + m * m : at])

    def best_label(self, w, S, i, out):
        m, T = self.m, self.first[i + 1] - self.first[i]
        at, step = unary_place(self, T), m * m if self.edge_features > 0 else 0
        P, U, F = S[2 + m * m : at], S[at : at + T * m], S[at + T * m : at + 2 * T * m]
        gold = self.y[self.first[i] : self.first[i + 1]]
        unit = 1.0 / T if self.normalise else 1.0
        if self.beta > 0.0:
            best_counted_path(U, P, step, m, gold, unit, self.beta, out)
        else:
            best_path(U, P, step, m, gold, unit, F, out)
        cost = label_cost(self, i, out)
        if cost + plane_factor(self, cost) * label_margin(self, w, S, i, out) < 0.0:
            for t in range(T):  # a negative plane is due to the rounding of large scores
                out[t] = gold[t]

    def label_cost(self, i, label):
        wrong, first = 0, self.first[i]
        for t in range(label.size):
            if label[t] != self.y[first + t]:
                wrong += 1
        return wrong / label.size if self.normalise else np.float64(wrong)

    def label_margin(self, w, S, i, label):
        m, T, first = self.m, label.size, self.first[i]
        at, step = unary_place(self, T), m * m if self.edge_features > 0 else 0
        total = 0.0
        for t in range(T):
            new, old = np.int64(label[t]), np.int64(self.y[first + t])
            if new != old:
                total += S[at + t * m + new] - S[at + t * m + old]
            if t < T - 1:
                to, was, place = label[t + 1], self.y[first + t + 1], 2 + m * m + t * step
                if new != old or to != was:
                    total += S[place + new * m + to] - S[place + old * m + was]
        return total

    def plane_factor(self, cost):
        return 1.0 if self.beta == 0.0 else cost**self.beta

    def add_label(self, i, label, a, out):
        first, T = self.first[i], label.size
        for t in range(T):
            new, old = np.int64(label[t]), np.int64(self.y[first + t])
            to, was = np.int64(label[min(t + 1, T - 1)]), np.int64(self.y[first + min(t + 1, T - 1)])
            for side in range(2):
                sign, c, b = (a, new, to) if side == 0 else (-a, old, was)
                if new != old:
                    add_position(self, i, t, c, sign, out)
                if t < T - 1 and (new != old or to != was):
                    add_pair(self, i, t, c, b, sign, out)

    def pop_square_norm(self, i, label, out):
        first, T, total = self.first[i], label.size, 0.0
        for t in range(T):
            new, old = np.int64(label[t]), np.int64(self.y[first + t])
            to, was = np.int64(label[min(t + 1, T - 1)]), np.int64(self.y[first + min(t + 1, T - 1)])
            for side in range(2):
                c, b = (new, to) if side == 0 else (old, was)
                if new != old:
                    total += pop_position(self, i, t, c, out)
                if t < T - 1 and (new != old or to != was):
                    total += pop_pair(self, i, t, c, b, out)
        return total

    def log_partition(self, w, S, i, a, out):
        m, T = self.m, self.first[i + 1] - self.first[i]
        at, count = unary_place(self, T), tables(self, T) * m * m
        step = m * m if self.edge_features > 0 else 0
        P, U, F = S[2 + m * m : at], S[at : at + T * m], S[at + T * m : at + 2 * T * m]
        V = S[at + 2 * T * m : at + 3 * T * m + T]
        Q = S[at + 3 * T * m + T : at + 3 * T * m + T + count]
        gold = self.y[self.first[i] : self.first[i + 1]]
        value, safe = shift(U, m, gold), S[0] > 0.0
        for t in range(T - 1):
            top, k = S[1], t * step
            if step > 0:
                top, fine = exp_table(P[k : k + step], Q[k : k + step])
                safe = safe and fine > 0.0
            value += top - P[k + np.int64(gold[t]) * m + gold[t + 1]]
            for q in range(k, k + step):
                P[q] -= top
        if step == 0 and not safe:
            for q in range(m * m):
                P[q] -= S[1]
        if not safe:
            value += log_sums(U, P, step, m, F, Q)
        elif step == 0:
            value += scaled_sums(U, S[2 : 2 + m * m], S[S.size - m * m :], m, F, V, Q)
        else:
            value += scaled_edge_sums(U, Q, m, F, V)
        add_marginals(self, i, U, Q, step, a, out)
        return value
