"""What solvers may ask of the data: risks, gradients, Hessian products, dual epochs, most violated constraints."""
