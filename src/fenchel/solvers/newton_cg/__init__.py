"""Newton's method with conjugate gradients: the solver, its settings, its passes over the data, its linear systems."""
