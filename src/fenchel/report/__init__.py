"""A self-contained HTML report on one or several fits: problem, certificate in words, convergence, coefficients.

May import models, estimators and everything below them, but not the command line.
"""

from fenchel.report.page import write_page
from fenchel.report.path_section import PathChoice
from fenchel.report.subject import Fit

__all__ = ["Fit", "PathChoice", "write_page"]
