"""How the documentation is built: `make docs`, without network, warnings are errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "ext"))
os.environ.setdefault("MPLBACKEND", "agg")

from fenchel import __version__  # noqa: E402

project, author, copyright = "Fenchel", "the Fenchel authors", "the Fenchel authors, BSD-3-Clause"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "api",
    "docstrings",
    "mathml",
    "program_help",
    "row_way",
    "tables",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
nitpicky = True
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = f"Fenchel {version}"
html_static_path = ["_static"]
html_css_files = ["own.css"]
html_context = {"default_mode": "auto"}  # light or dark as the reader's system; the theme complains about none
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {
    page: [] for page in ("index", "quickstart", "guide", "terminal", "theory", "experiments", "benchmarks")
}
html_theme_options = {
    "collapse_navigation": True,
    "navigation_depth": 2,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
}

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autosummary_filename_map = {"fenchel.path": "fenchel.path_function"}  # beside fenchel.Path, where names ignore case
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"(demo|ordering)\.py$|scale_out",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
