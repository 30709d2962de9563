"""Dual ascent for losses of several scores: exact steps on all dual variables of a row."""
