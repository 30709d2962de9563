"""Mirror maps w = grad h(v) from dual to primal coordinates: identity, soft threshold, entropic, q-norm.

Compiled, row by row, for the kernels of dual solvers. May import `data` and `compile`.
"""
