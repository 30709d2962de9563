"""Tables of mixed columns as rows of features: what a column holds, and the plain rules that turn it into features.

May import nothing of the package but errors: the rules are plain data, which models store.
"""
