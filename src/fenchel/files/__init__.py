"""Atomic writes, and the container format of model files and checkpoints. Imports nothing of the package but errors."""
