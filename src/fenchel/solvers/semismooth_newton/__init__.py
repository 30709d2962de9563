"""Semismooth Newton on proximal points of the dual: the solver, the smoothed problem, the row reduction."""
