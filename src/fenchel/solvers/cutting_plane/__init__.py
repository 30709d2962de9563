"""The n-slack cutting-plane method for structured outputs: the solver and its settings."""
