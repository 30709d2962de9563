"""Proximal point steps solved by semismooth Newton on their duals: the solver, its settings, the step, its linear systems."""
