"""Frank-Wolfe on the dual, a whole pass at a time: the solver, and the variant for smoothed losses."""
