"""One HTML page from one or several fits: the problem, the certificate in words, how the bounds closed, the model."""

from fenchel.report.page import write_page
from fenchel.report.path_section import PathChoice
from fenchel.report.subject import Fit

__all__ = ["Fit", "PathChoice", "write_page"]
