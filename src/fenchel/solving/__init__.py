"""`fenchel.solve`: the loop over solvers and iterates, which stops, recomputes certificates and writes checkpoints.

May import solvers, oracles and `selection`. Models, estimators and the command line are built on top of it.
"""
