"""Data as kernels see them: rows of dense and CSR matrices, in memory or mapped from disk.

All access to rows goes through the operations of `rows.py`. May import `compile`, `deadline` and `errors` only.
"""
