"""The papers' experiments: `python -m experiments.NAME` writes a table and a plot into experiments/out."""
