"""The duality-gap certificate, recomputed from the definitions. Imports problems and what they are made of, never a solver."""
