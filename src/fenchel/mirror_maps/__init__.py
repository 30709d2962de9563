"""Mirror maps w = grad h(v) from dual to primal coordinates: identity, soft threshold, entropic, q-norm."""
