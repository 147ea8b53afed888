"""Configuration of the documentation site; ``make docs`` builds it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

import rankgrove

project = "rankgrove"
author = "The rankgrove developers"
version = release = rankgrove.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["README.md", "**.ipynb"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
# (A lexer that cannot parse an excerpt shows it without colours.)
suppress_warnings = ["misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_use_rtype = False

LOGO = "assets/logo.svg"
html_theme = "pydata_sphinx_theme"
html_title = "rankgrove"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_favicon = LOGO
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "rankgrove", **dict.fromkeys(("image_light", "image_dark"), LOGO)},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_math_renderer = "mathml"
copyright = author
copybutton_prompt_text = "$ "

# A page that a docstring names by its file.
_PAGE = re.compile(r"(?:``)?\bdocs/([\w/-]+)\.md(?:``)?")
_SECTION = re.compile(r"(Parameters|Attributes)$")
_ITEM = re.compile(r"([*\w][\w*, /]*?) : (.*)")
# What autodoc writes for types of NumPy and for defaults that are no expressions -> what is shown.
_NUMBERS = "complex | bytes | str"
_ARRAYS = "_SupportsArray[dtype[Any]]"
_TYPES = (
    (r"~(?:numpy|typing|collections\.abc)\.(?:\w+\.)*|\bnpt\.", ""),
    (
        re.escape(
            f"_Buffer | {_ARRAYS} | _NestedSequence[{_ARRAYS}] | {_NUMBERS} "
            f"| _NestedSequence[{_NUMBERS}]"
        ),
        "ArrayLike",
    ),
    (r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+(?:\[\w+\])?)\]\]", r"NDArray[\1]"),
    (r"<class '(?:\w+\.)*(\w+)'>", r"\1"),
    (r"<factory>", "..."),
)


def numpydoc(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put the meanings of parameters where numpydoc expects them.

    rankgrove writes ``name : meaning``, as types are in the signature; numpydoc has the type there
    and the meaning, indented, below.
    """
    inside, result = False, []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below.startswith("---"):
            inside = _SECTION.match(line) is not None
        item = _ITEM.fullmatch(line) if inside else None
        result += [item[1], f"    {item[2]}"] if item else [line]
    lines[:] = [_PAGE.sub(r":doc:`/\1`", line) for line in result]


def shorten(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write the types of NumPy by the names that users know: ArrayLike, NDArray[float64]."""
    for pattern, short in _TYPES:
        signature = signature and re.sub(pattern, short, signature)
        returns = returns and re.sub(pattern, short, returns)
    return signature, returns


def mathml(latex: str, display: str) -> str:
    """Return a formula in MathML, which browsers render; an unknown command is an error."""
    result = convert(latex.strip(), display=display)
    # \mathrel{-}= as one operator, which latex2mathml writes as two with a space between them
    for sign, code in (("-", "02212"), ("+", "0002B")):
        two = f"<mo><mrow><mo>&#x{code};</mo></mrow></mo><mo>&#x0003D;</mo>"
        result = result.replace(two, f"<mo>{sign}=</mo>")
    unknown = re.search(r">(\\[a-zA-Z]+)<", result)
    if unknown:
        raise SphinxError(f"{unknown[1]} in the formula {latex.strip()}")
    return result


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    self.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula that is a paragraph."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect the functions of this file."""
    app.connect("autodoc-process-docstring", numpydoc, priority=400)
    app.connect("autodoc-process-signature", shorten)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
