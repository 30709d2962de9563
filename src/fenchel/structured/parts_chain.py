"""Parts of `Chain`: pairs of labels of neighbouring positions.

The parts of a sequence of T positions are T - 1 tables of m x m numbers (for T = 1 the m labels). Score and cost of position t
belong to table t, those of the last position to the last table, so that each is counted exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.compile.dispatch import helper
from fenchel.data.rows import row_entry, row_span
from fenchel.projections.chain_newton import project_chain
from fenchel.projections.chain_recovery import recover_chain
from fenchel.structured.chain_encoded import EncodedChain, tables, unary_place
from fenchel.structured.chain_gradient import add_marginals
from fenchel.structured.chain_sums import log_sums
from fenchel.structured.parts import parts_size
from fenchel.structured.parts_simplex import gibbs_simplex, project_simplex, recover_simplex
from fenchel.structured.protocol import part_scores


@helper
def positions(parts, i):
    """T of example i."""
    return parts.chain.first[i + 1] - parts.chain.first[i]


@helper
def node_marginals(T, m, mu, U):
    """U = the probabilities of labels at all positions."""
    for k in range(T * m):
        U[k] = mu[k] if T == 1 else 0.0
    for t in range(T - 1):
        for c in range(m):
            for b in range(m):
                p = mu[(t * m + c) * m + b]
                U[t * m + c] += p
                if t == T - 2:
                    U[(T - 1) * m + b] += p


class ChainParts(NamedTuple):
    """A part for every pair of labels of neighbours."""

    chain: EncodedChain

    @property
    def sizes(self) -> np.ndarray:
        T, m = self.chain.sizes, self.chain.m
        return np.where(T == 1, m, (T - 1) * m * m)

    @property
    def workspace_size(self) -> int:
        return self.chain.workspace_size

    def parts_size(self, i):
        T, m = positions(self, i), self.chain.m
        return m if T == 1 else (T - 1) * m * m

    def clique_scores(self, w, cost, i, S, out):
        T, m, first = positions(self, i), self.chain.m, self.chain.first[i]
        part_scores(self.chain, w, i, S)
        unit = cost / T if self.chain.normalise else cost
        at, step = unary_place(self.chain, T), m * m if self.chain.edge_features > 0 else 0
        for t in range(T):
            for c in range(m):
                S[at + t * m + c] += unit if c != self.chain.y[first + t] else 0.0
        if T == 1:
            for c in range(m):
                out[c] = S[at + c]
        for t in range(T - 1):
            for c in range(m):
                for b in range(m):
                    last = S[at + (T - 1) * m + b] if t == T - 2 else 0.0
                    out[(t * m + c) * m + b] = S[2 + m * m + t * step + c * m + b] + S[at + t * m + c] + last

    def add_cliques(self, i, mu, a, S, out):
        T, m, first = positions(self, i), self.chain.m, self.chain.first[i]
        count, step = tables(self.chain, T) * m * m, m * m if self.chain.edge_features > 0 else 0
        U, Q = S[: T * m], S[T * m : T * m + count]
        node_marginals(T, m, mu, U)
        for k in range(count):
            Q[k] = 0.0
        for t in range(T - 1):
            for k in range(m * m):
                Q[t * step + k] += mu[t * m * m + k]
        wrong = 0.0
        for t in range(T):
            for c in range(m):
                wrong += U[t * m + c] if c != self.chain.y[first + t] else 0.0
        add_marginals(self.chain, i, U, Q, step, a, out)
        return wrong / T if self.chain.normalise else wrong

    def project_cliques(self, i, theta):
        T, m = positions(self, i), self.chain.m
        if T == 1:
            project_simplex(theta)
        else:
            project_chain(T - 1, m, theta, theta)

    def gibbs_cliques(self, i, theta):
        T, m = positions(self, i), self.chain.m
        if T == 1:
            gibbs_simplex(theta)
            return
        found = np.empty(parts_size(self, i))
        log_sums(np.zeros(T * m), theta, m * m, m, np.empty(T * m), found)
        for k in range(found.size):
            theta[k] = found[k]
        recover_chain(T - 1, m, theta)

    def recover_cliques(self, i, mu):
        T, m = positions(self, i), self.chain.m
        if T == 1:
            recover_simplex(mu)
        else:
            recover_chain(T - 1, m, mu)

    def label_reach(self, i):
        chain, first, T, total = self.chain, self.chain.first[i], positions(self, i), 0.0
        for t in range(T):
            square = (1.0 if chain.at.bias >= 0 else 0.0) + (
                2.0 if chain.at.start >= 0 and (t == 0 or t == T - 1) else 0.0
            )
            start, stop = row_span(chain.rows, first + t)
            for k in range(start, stop):
                x = row_entry(chain.rows, first + t, k)
                square += x * x
            total += np.sqrt(square)
        for t in range(T - 1):
            square = 1.0
            if chain.edge_features > 0:
                start, stop = row_span(chain.edges, first - i + t)
                for k in range(start, stop):
                    x = row_entry(chain.edges, first - i + t, k)
                    square += x * x
            total += np.sqrt(square)
        return np.sqrt(2.0) * total
