"""Newton's method with conjugate gradients: the solver, its passes over the data, its linear systems."""
