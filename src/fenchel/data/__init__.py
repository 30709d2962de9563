"""Data as kernels see it: rows of dense or CSR matrices, and the readers and writers of files."""
