"""Attributes and feature templates of sequences, and metrics of predicted labels.

May import `data`; the estimator for sequences and the command line use it.
"""
