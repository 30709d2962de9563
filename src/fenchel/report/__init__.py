"""One HTML page from a Result: the problem, the certificate in words, and how the bounds closed."""

from fenchel.report.page import write_page

__all__ = ["write_page"]
