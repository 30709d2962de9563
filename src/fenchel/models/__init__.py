"""Fitted models: prediction, checks, and the files in which they are saved."""
