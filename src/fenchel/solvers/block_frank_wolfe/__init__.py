"""Block-coordinate Frank-Wolfe: the solver, and the pool of labels that it shares with `CuttingPlane`."""
