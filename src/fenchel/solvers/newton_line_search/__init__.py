"""Newton directions by Cholesky factorization and the line search of semismooth Newton."""
