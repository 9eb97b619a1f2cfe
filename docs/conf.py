"""Settings of the documentation site, which `nox -s docs` builds.

The source folder is the whole repository, so that a link between two Markdown files is the same on
the site and on a code host.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils.nodes import document
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]

import toc  # noqa: E402 # from there

project = "gpumath"
copyright = "the gpumath developers"
version = release = version_of("gpumath-host")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_external_toc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "plots",
    "reference",
    "saved_outputs",
]
external_toc_path = toc.write(ROOT)
root_doc = "docs/index"
include_patterns = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/**.md",
    "docs/generated/**",
    "packages/*/*.md",
    "crates/*/*.md",
    "codegen/README.md",
]
exclude_patterns = [
    *(".*", "benchmarks", "crates/*/src", "demo-output", "dist", "target", "tests"),
    *("packages/*/src", "packages/*/rust", "docs/generated/**.py", "docs/generated/**.ipynb"),
]
# _toc.yml has places for pages that do not exist yet; the gallery lists its own pages.
suppress_warnings = ["etoc.glob", "etoc.toctree", "config.cache"]
default_role = "py:obj"
toc_object_entries_show_parents = "hide"
add_module_names = False
python_maximum_signature_line_length = 88

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = False  # which numpydoc brings, and which is not used
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autodoc_member_order = "groupwise"
autodoc_inherit_docstrings = True

html_theme = "pydata_sphinx_theme"
html_title = "gpumath"
html_static_path = ["_static"]
html_css_files = ["gpumath.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "navigation_with_keys": True,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

# Folders of programs, and where their pages are written.
example_galleries = {
    "examples/host/fft": "docs/generated/examples/fft",
    "examples/bindings": "docs/generated/examples/bindings",
    "examples/device": "docs/generated/examples/device",
}
sphinx_gallery_conf = {
    "examples_dirs": [*example_galleries],
    "gallery_dirs": [*example_galleries.values()],
    # The others need a GPU: they are shown with what they printed on one (saved_outputs).
    "filename_pattern": r"fft/0[1-3]|fft/06|bindings/02",
    "abort_on_example_error": True,
    "reset_argv": lambda _gallery, _variables: [str(ROOT / "docs" / "generated" / "saved")],
    "ignore_pattern": r"^_",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "show_signature": False,
    "write_computation_times": False,
    "default_thumb_file": str(ROOT / "docs" / "_static" / "favicon.svg"),
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1000,  # seconds: no times, which would differ from build to build
}


# The page for each folder that documents link to, and for the folders below it.
FOLDERS = {
    "examples": "docs/examples",
    **{folder: f"{pages}/index" for folder, pages in example_galleries.items()},
    "examples/rust": "crates/gpumath-core/README",
    "api-surface": "docs/reference",
}


def link_to_folders(_app: Sphinx, doctree: document) -> None:
    """Let links to folders, which a code host can show, lead to the pages about them."""
    for node in doctree.findall(addnodes.pending_xref):
        target = Path(node["reftarget"].replace("../", ""))
        # A page may have the name of a folder, and then is what the link is to.
        if node.get("refdomain") != "doc" and (ROOT / target).is_dir():
            pages = (FOLDERS.get(folder.as_posix()) for folder in (target, *target.parents))
            page = next(filter(None, pages), root_doc)
            node.attributes |= {"refdomain": "doc", "reftarget": page, "reftargetid": None}


def setup(app: Sphinx) -> None:
    """Connect what is defined here."""
    app.connect("doctree-read", link_to_folders)
    # It only reads the pages' settings, but does not declare that.
    app.extensions["sphinx_multitoc_numbering"].parallel_read_safe = True
