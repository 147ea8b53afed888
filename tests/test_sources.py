"""House rules that no compiler or linter checks."""

from __future__ import annotations

import re

PARALLEL = re.compile(r"#\s*pragma\s+omp\s+[^\n]*\bparallel\b(?:[^\n]*\\\n)*[^\n]*")


def parallel_pragmas(text: str) -> list[str]:
    return [match.group().replace("\\\n", " ") for match in PARALLEL.finditer(text)]


def test_finder_sees_continued_lines():
    text = (
        "#pragma omp parallel \\\n  num_threads(n)\n#  pragma omp parallel for\n#pragma omp simd\n"
    )
    assert parallel_pragmas(text) == [
        "#pragma omp parallel    num_threads(n)",
        "#  pragma omp parallel for",
    ]


def test_every_parallel_region_names_its_number_of_threads(repository):
    files = [path for path in (repository / "native").rglob("*") if path.suffix in (".cpp", ".hpp")]
    assert files
    unbounded = [
        f"{path.relative_to(repository)}: {pragma}"
        for path in files
        for pragma in parallel_pragmas(path.read_text())
        if "num_threads(" not in pragma
    ]
    assert unbounded == []


def test_only_binding_files_know_python(repository):
    users = {
        path.parent.name
        for path in (repository / "native").rglob("*")
        if path.suffix in (".cpp", ".hpp") and "nanobind" in path.read_text()
    }
    assert users <= {"bindings"}


DEFINITION = re.compile(r"^(?:struct|class) (\w+)(?: final)?(?: : [^{;]*)?\s*\{", re.MULTILINE)


def test_no_two_headers_define_the_same_class(repository):
    """Two definitions of one name would be merged silently by the linker."""
    places: dict[str, list[str]] = {}
    for path in sorted((repository / "native").rglob("*.hpp")):
        text = re.sub(r"template <[^\n]*>\n(?:struct|class) ", "", path.read_text())
        (namespace,) = set(re.findall(r"^namespace (rankgrove[\w:]*) \{", text, re.MULTILINE))
        for name in DEFINITION.findall(text):
            places.setdefault(f"{namespace}::{name}", []).append(str(path.relative_to(repository)))
    assert places
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
