"""Which solvers support a problem, which one `auto` selects, and when it hands over to the next.

`requirements` states what a solver needs and says what is missing, `rules` estimates costs and orders the solvers, `progress`
notices that a solver stalls or is too slow. May import problems, oracles and solvers, but not `solving`, which runs them.
"""
