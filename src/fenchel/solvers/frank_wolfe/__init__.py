"""Frank-Wolfe on the dual, in full passes: the solver, the variant for smoothed losses, cutting planes."""
