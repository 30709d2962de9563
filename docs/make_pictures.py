"""Draw docs/_static/report.png, the picture of a report in the README: `python docs/make_pictures.py` after the page changed.

Needs a chromium (or google-chrome) on the PATH; the page is that of `make demo`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parent / "_static" / "report.png"
WIDTH, HEIGHT = 1100, 1400


def write_report(page: Path) -> None:
    """The report of the demo's problem."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import scale

    import fenchel
    from fenchel.report import write_page

    X, y = load_breast_cancer(return_X_y=True)
    problem = fenchel.Problem(scale(X), 2.0 * y - 1, loss="hinge", alpha=1e-2, fit_intercept=True)
    fenchel.solve(problem, "bundle", tol=1e-6)  # compiles, which is not what the picture is about
    write_page(page, fenchel.solve(problem, "bundle", tol=1e-6), title="Breast cancer: hinge + L2")


def photograph(page: Path, picture: Path) -> None:
    """What a browser shows of the page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("make_pictures needs chromium or google-chrome on the PATH")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
    subprocess.run(
        [browser, *options, f"--screenshot={picture}", page.as_uri()], check=True, capture_output=True, timeout=120
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(page)
        photograph(page, PICTURE)
    print(PICTURE)
