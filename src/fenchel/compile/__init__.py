"""Compilation by numba: kernels and their cache on disk, and the dispatch of free functions to methods of a loss.

The lowest layer: imports nothing of the package but `deadline`.
"""
