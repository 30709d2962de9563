"""Proximal Newton on a working set of columns, for L1 and ElasticNet: the solver, the columns, the quadratic models."""
