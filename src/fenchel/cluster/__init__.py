"""Rows that lie on the workers of a Dask cluster, and stay there."""
