"""Limited-memory BFGS: the solver and its settings."""
