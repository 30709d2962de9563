"""The loop over solvers and iterates: stop, recompute the certificate, report; checkpoints."""
