"""Predictions of a trained chain: best paths and marginals."""

from __future__ import annotations

import numpy as np

from fenchel.compile.copy import copy
from fenchel.compile.kernel import kernel
from fenchel.structured.chain_encoded import unary_place
from fenchel.structured.chain_paths import best_path
from fenchel.structured.chain_sums import log_sums
from fenchel.structured.protocol import part_scores


@kernel
def best_paths(model, w, workspace_size, labels):
    """The labels with the largest score, of all examples, flat."""
    m, S = model.m, np.empty(workspace_size)
    step = m * m if model.edge_features > 0 else 0
    for i in range(model.first.size - 1):
        first, T = model.first[i], model.first[i + 1] - model.first[i]
        at = unary_place(model, T)
        part_scores(model, w, i, S)
        P, U, F = S[2 + m * m : at], S[at : at + T * m], S[at + T * m : at + 2 * T * m]
        best_path(U, P, step, m, model.y[first : first + T], 0.0, F, labels[first : first + T])


@kernel
def path_marginals(model, w, workspace_size, nodes, pairs):
    """The marginals of the one example's labels and pairs of labels."""
    m, S, T = model.m, np.empty(workspace_size), model.first[1]
    part_scores(model, w, 0, S)
    at = unary_place(model, T)
    scores = np.empty(max(T - 1, 1) * m * m)
    for t in range(T - 1):
        place = 2 + m * m * (1 + (t if model.edge_features > 0 else 0))
        copy(S[place : place + m * m], scores[t * m * m : (t + 1) * m * m])
    copy(S[at : at + T * m], nodes)
    log_sums(nodes, scores, m * m, m, np.empty(T * m), pairs)
