"""The family of problems that a loss belongs to."""

from __future__ import annotations


def family_of(loss: object) -> str:
    """ "vector" for losses of several scores, "set" for measures, "structured" for models of structured outputs, "scalar" for
    all others; by name or object.

    >>> from fenchel import losses, measures, multiclass, structured
    >>> family_of(multiclass.TopK(2)), family_of("ndcg"), family_of(structured.Chain()), family_of(losses.Hinge())
    ('vector', 'set', 'structured', 'scalar')
    """
    from fenchel import measures, multiclass, structured

    if multiclass.is_vector_loss(loss):
        return "vector"
    if measures.is_measure(loss):
        return "set"
    return "structured" if structured.is_structured(loss) else "scalar"
