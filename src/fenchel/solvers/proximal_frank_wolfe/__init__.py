"""Frank-Wolfe steps on the duals of proximal steps, for structured hinge losses with L1."""
