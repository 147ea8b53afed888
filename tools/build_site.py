"""Build the documentation site in ``build/site``: ``python tools/build_site.py``.

The pages of ``docs/`` are copied to ``build/site-source``, with links that hold there. Other pages
are written beside them: the reference of the Python API and of the command line, the measurements,
the examples with their output, and the texts of the repository's root. Tutorials are run as
notebooks: their pages show the outputs and offer the notebook. ``docs/index.md`` is the
list of pages from which the navigation is made. Sphinx renders all of it; a warning is an error.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import notebooks
from gallery import gallery
from ranker_pages import FOREST_PAGES, GUIDES

import rankgrove
from rankgrove.cli.main import VERBS, verb_parser
from rankgrove.extending import BaseRanker
from rankgrove.rankers.base.registry import registered

REPOSITORY = Path(__file__).resolve().parents[1]
# Texts outside docs/ -> their pages.
ROOT_TEXTS = {
    "ARCHITECTURE.md": "background/architecture.md",
    "CONTRIBUTING.md": "background/contributing.md",
    "CHANGELOG.md": "background/changes.md",
    "benchmarks/results": "background/measurements.md",
    "examples/README.md": "how-to/examples.md",
}
# Section of docs/index.md -> the folder whose index it becomes.
SECTIONS = {
    "Tutorials": "tutorials",
    "How-to guides": "how-to",
    "Reference": "reference",
    "Background": "background",
}
# Page of the API -> title, modules whose public names it has, other names of rankgrove.
API = {
    "data": (
        "Data",
        ["datasets"],
        "Dataset QueryGroups load scan load_folds kfold split align_features write_letor "
        "write_parquet to_arrow clear_cache",
    ),
    "rankers": (
        "Rankers and models",
        [],
        "make_ranker ranker_names load_model CustomMART ImportedRanker TreeEnsemble EarlyExit "
        "merge from_lightgbm from_xgboost from_catboost from_sklearn get_include",
    ),
    "metrics": ("Metrics", ["metrics"], "evaluate metric Metric register_metric"),
    "experiments": (
        "Comparisons",
        ["experiments.curves", "experiments.significance"],
        "compare Comparison",
    ),
    "explain": ("Explanations", ["explain"], ""),
    "serving": ("Serving", ["serving"], ""),
    "distributed": ("Many machines", ["distributed", "distributed.mpi"], ""),
    "integrations": ("Other tools", ["integrations"], ""),
    "extending": (
        "Extending",
        ["extending"],
        "register_criterion register_ranker register_reader register_target",
    ),
    "errors": ("Errors", [], "RankgroveError DataError ModelError DataWarning"),
}
LINK = re.compile(r"(\[[^\]]*\]\()(?!https?:|#|mailto:)([^)#\s]+)")
# A page that a docstring names by its file.
PAGE = re.compile(r"(?<=\()docs/([\w/-]+)\.md(?=\))")


def write_source(source: Path) -> None:
    """Write everything that Sphinx reads into an empty folder."""
    docs = REPOSITORY / "docs"
    shutil.copytree(docs, source, ignore=shutil.ignore_patterns("*.md", "*.json", "__pycache__"))
    for path in docs.rglob("*.md"):
        name = path.relative_to(REPOSITORY).as_posix()
        page = name.removeprefix("docs/")
        text = path.read_text()
        if page.startswith("tutorials/"):
            text = with_notebook(source, page, text)
        write(source, page, moved_text(name, text))
    for name, page in ROOT_TEXTS.items():
        if name.endswith(".md"):
            text = moved_text(name, (REPOSITORY / name).read_text())
            if name.startswith("examples"):
                text += gallery(source / "how-to" / "pictures")
            write(source, page, text)
    write(source, ROOT_TEXTS["benchmarks/results"], measurements())
    write(source, "reference/commands.md", commands())
    for name, text in api_pages().items():
        write(source, f"reference/api/{name}.rst", text)
    write_navigation(source)


def write(source: Path, page: str, text: str) -> None:
    """Write a page."""
    (source / page).parent.mkdir(parents=True, exist_ok=True)
    (source / page).write_text(text)


def with_notebook(source: Path, page: str, text: str) -> str:
    """Run a tutorial as a notebook; return it with the outputs and a link to the notebook."""
    notebook = notebooks.notebook_of(text)
    notebooks.run(notebook, page)
    path = (source / page).with_suffix(".ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    notebooks.write(notebook, path)
    title, _, rest = notebooks.page_with_outputs(text, notebook).partition("\n")
    return f"{title}\n\n{{download}}`This page as a notebook <{path.name}>`\n{rest}"


def page_of(name: str) -> str | None:
    """Return the page of a file of the repository; None if the site has none."""
    name = posixpath.normpath(name)
    if name.startswith("benchmarks/results/"):
        return f"{ROOT_TEXTS['benchmarks/results']}#{Path(name).stem}"
    if name.startswith("docs/"):
        return name.removeprefix("docs/")
    return ROOT_TEXTS.get(name)


def moved_text(name: str, text: str) -> str:
    """Return a text of the repository as a page: its links hold, its files have their names."""
    here = page_of(name) or name

    def link(match: re.Match[str]) -> str:
        target = page_of(posixpath.join(posixpath.dirname(name), match[2]))
        if target is None:
            raise SystemExit(f"{name}: the site has no page for the link to {match[2]}")
        return match[1] + posixpath.relpath(target, posixpath.dirname(here) or ".")

    blocks = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    text = "".join(b if b.startswith("```") else LINK.sub(link, named_pages(b)) for b in blocks)
    return re.sub(
        r"^```python (\w+\.py)$", r"```{code-block} python\n:caption: \1\n", text, flags=re.M
    )


def named_pages(text: str) -> str:
    """Return a text in which the files of pages are links with their titles."""
    return PAGE.sub("{doc}`/\\1`", text)


def measurements() -> str:
    """Return the tables that benchmarks have written, each under the name of its script."""
    parts = [
        "# Measurements\n\nThe scripts of `benchmarks/` print these tables. Each names the machine "
        "and the versions of the libraries; ratios are measured beside the other library in one "
        "run.\n"
    ]
    parts += [
        f"({path.stem})=\n\n" + re.sub(r"^#", "##", path.read_text(), flags=re.M)
        for path in sorted((REPOSITORY / "benchmarks" / "results").glob("*.md"))
        if not path.name.endswith(".quick.md")
    ]
    return "\n\n".join(parts)


def commands() -> str:
    """Return the help texts of all verbs."""
    os.environ["COLUMNS"] = "88"
    parts = ["# Command-line options\n\n`rankgrove VERB --help` prints the same texts.\n"]
    parts += [
        f"## {verb}\n\n{summary[0].upper()}{summary[1:]}.\n\n"
        f"```text\n{verb_parser(verb).format_help()}```\n"
        for verb, summary in VERBS.items()
    ]
    return "\n".join(parts)


def api_pages() -> dict[str, str]:
    """Return the pages of the Python API; an error if a public name is on none of them."""
    described: set[str] = set()
    pages = {}
    for page, (title, modules, names) in API.items():
        paths = [f"rankgrove.{name}" for name in names.split()]
        for module in modules:
            paths += [f"rankgrove.{module}.{name}" for name in public_names(module)]
        parts = [f"{title}\n{'=' * len(title)}\n"]
        if page == "rankers":
            parts.append(ranker_table())
        for path in paths:
            name = path.rpartition(".")[2]
            if name not in described:
                described.add(name)
                parts.append(directive(path))
        pages[page] = "\n".join(parts)
    rankers = {ranker.cls.__name__ for ranker in registered().values() if ranker.listed}
    missing = set(rankgrove.__all__) - described - rankers - {*rankgrove._MODULES, "__version__"}
    if missing:
        raise SystemExit(f"tools/build_site.py: no page of the API has {sorted(missing)}")
    return pages


def public_names(module: str) -> list[str]:
    """Return the names that a module offers."""
    found = import_module(f"rankgrove.{module}")
    own = [
        name
        for name, value in vars(found).items()
        if name[0] != "_" and getattr(value, "__module__", "") == found.__name__ and callable(value)
    ]
    return list(getattr(found, "__all__", own))


def directive(path: str) -> str:
    """Return the directive that describes an object."""
    value = resolve_name(path)
    if not callable(value):  # its docstring would be that of its type
        return f".. py:data:: {path}\n"
    if not isinstance(value, type):
        return f".. autofunction:: {path}\n"
    inherited = "   :inherited-members: object\n" if value is BaseRanker else ""
    return f".. autoclass:: {path}\n   :members:\n{inherited}"


def ranker_table() -> str:
    """Return a table of all rankers, with the pages that have their formulas and parameters."""
    lines = [
        "Every ranker has the methods of :class:`rankgrove.extending.BaseRanker`. Its own page has",
        "the formula and the parameters.\n",
        ".. list-table::\n   :header-rows: 1\n",
        "   * - name\n     - class\n     - paper\n     - optimises",
    ]
    for name, ranker in registered().items():
        if ranker.listed:
            place = GUIDES.get(name, f"rankers/{FOREST_PAGES.get(name, name)}")
            page = f":doc:`{ranker.cls.__name__} </{place}>`"
            lines.append(f"   * - ``{name}``\n     - {page}")
            paper = re.sub(r"docs/([\w/-]+)\.md", r":doc:`/\1`", ranker.paper)
            lines.append(f"     - {paper}\n     - {ranker.optimises}")
    return "\n".join(lines) + "\n"


def write_navigation(source: Path) -> None:
    """Make each section of the index a page of its own, with the table of what is below it."""
    index = (source / "index.md").read_text()
    for title, folder in SECTIONS.items():
        found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", index, flags=re.M | re.S)
        if found is None:
            raise SystemExit(f"docs/index.md has no section {title}")
        text = found[1]
        if folder == "reference":
            text += "- [Command-line options](reference/commands.md)\n"
            api = ", ".join(f"[{API[name][0]}](reference/api/{name}.rst)" for name in API)
            text += f"- Python API: {api}\n"
        local = LINK.sub(lambda m, f=folder: m[1] + posixpath.relpath(m[2], f), text)
        tables = "\n".join(toctrees(local))
        write(source, f"{folder}/index.md", f"# {title}\n{local}\n{tables}")
    entries = "\n".join(f"{folder}/index" for folder in SECTIONS.values())
    write(source, "index.md", f"{index}\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n")


def toctrees(text: str) -> Iterator[str]:
    """Yield a table of the items that begin with a link, then one per item with a caption."""
    plain, captioned = [], []
    for item in re.split(r"^- ", text, flags=re.M)[1:]:
        pages = [match[2].rpartition(".")[0] for match in LINK.finditer(item)]
        if item.startswith("["):
            plain.append(pages[0])
        else:
            captioned.append((item.partition(":")[0], pages))
    for caption, pages in [("", plain), *captioned]:
        yield toctree(caption, pages)


def toctree(caption: str, pages: list[str]) -> str:
    """Return a hidden table of contents."""
    head = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n:hidden:\n{head}\n" + "\n".join(pages) + "\n```\n"


def main() -> None:
    """Build the site."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "site")
    out = parser.parse_args().out.resolve()
    source = out.with_name(f"{out.name}-source")
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    write_source(source)
    command = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-j", "auto"]
    run = subprocess.run([sys.executable, *command, "-d", f"{source}/.doctrees", source, out])
    if run.returncode:
        sys.exit(run.returncode)
    print(f"open {out / 'index.html'}")


if __name__ == "__main__":
    main()
