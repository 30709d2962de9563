"""Bundle methods (BMRM): the solver, the cutting-plane model, its quadratic programs."""
