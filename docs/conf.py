"""Configuration of the documentation site, which `make docs` builds in target/docs."""

import inspect

from sphinx.application import Sphinx

import ssdlab

project = "ssdlab"
author = "The ssdlab authors"
copyright = author  # the name that Sphinx asks for
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["results/tables"]
# A link to a heading is checked, too.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Shell and output stand in the same blocks, which no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "ssdlab"
html_copy_source = False
html_show_sphinx = False


def public_names(app: Sphinx, page: str, source: list[str]) -> None:
    """Puts every public name of the package in the place of a marker."""
    parts = []
    for title, wanted in (("Functions", inspect.isfunction), ("Classes", inspect.isclass)):
        names = [name for name in sorted(ssdlab.__all__) if wanted(getattr(ssdlab, name))]
        kind = "autofunction" if title == "Functions" else "autoclass"
        options = "" if title == "Functions" else "\n   :members:"
        # The declarations of a policy are in a class of their own.
        further = {"Policy": "\n   :inherited-members:"}
        entries = "\n\n".join(f".. {kind}:: ssdlab.{name}{options}{further.get(name, '')}" for name in names)
        parts.append(f"## {title}\n\n```{{eval-rst}}\n{entries}\n```")
    source[0] = source[0].replace("@PUBLIC_NAMES@", "\n\n".join(parts))


def setup(app: Sphinx) -> None:
    """Connects what this site adds."""
    app.connect("source-read", public_names)
