"""Semismooth Newton on proximal points of the dual: the solver, its settings, the smoothed problem, the row reduction."""
