"""Dual extragradient for structured hinge losses: the solver and its settings."""
