"""All compiled loops of the solvers: no class, no input or output, no stop test. They work on one block of rows."""
