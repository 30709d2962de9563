"""Dual coordinate ascent for one score per row: the solver, its phases on active rows, Newton steps on free rows."""
