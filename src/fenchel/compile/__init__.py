"""Compilation: kernels and their cache on disk, and dispatch of free functions to the methods of a loss in compiled code."""
