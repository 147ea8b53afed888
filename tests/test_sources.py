"""Rules of the code base that no compiler or linter checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# The packages and modules of rankgrove in the order of their imports: each may import those before
# it. Names are relative to rankgrove; "_" stands for all private top-level modules, "" for the
# public names of rankgrove itself.
LAYERS = (
    "errors",
    "_",
    "data",
    "datasets",
    "logs",
    "metrics",
    "workers",
    "trees",
    "models",
    "training",
    "explain",
    "linear",
    "boosting",
    "forests",
    "rankers.base",
    "rankers",
    "formats",
    "clicks",
    "experiments",
    "distributed",
    "serving",
    "integrations",
    "extending",
    "",
    "cli",
    "__main__",
)

# Imports of a later layer, and why.
EXCEPTIONS = {
    ("rankers.base.fitted", "formats"): "save and export are methods of a ranker",
    ("rankers.igbrt", "formats.container"): "a forest is given as a model file on the command line",
}


class Import(NamedTuple):
    importer: str
    imported: str
    line: int


def modules_of(repository: Path) -> dict[str, Path]:
    """All modules of rankgrove by their names within it."""
    root = repository / "src" / "rankgrove"
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    assert "data" in found
    return found


def imports_of(modules: dict[str, Path]) -> Iterator[Import]:
    """All imports of rankgrove's own modules: of functions and under TYPE_CHECKING, too."""
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            for target in _targets(node):
                inside = target.removeprefix("rankgrove").removeprefix(".")
                while inside and inside not in modules and inside != "_native":
                    inside = inside.rpartition(".")[0]  # a name within a module
                yield Import(name, inside, node.lineno)


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return []
    own = [name for name in names if name.split(".")[0] == "rankgrove"]
    return [name for name in own if name != "rankgrove.__version__"]


def layer_of(module: str) -> str:
    head = module.split(".")[0]
    if module.startswith("rankers.base"):
        return "rankers.base"
    return "_" if re.fullmatch("_[a-z].*", head) else head


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def test_layers_import_only_earlier_layers(repository):
    modules = modules_of(repository)
    unknown = {layer_of(module) for module in modules} - set(LAYERS)
    assert unknown == set(), "give each a place in LAYERS"
    backwards = [
        edge
        for edge in imports_of(modules)
        if LAYERS.index(layer_of(edge.imported)) > LAYERS.index(layer_of(edge.importer))
    ]
    reasons = {edge: _exceptions(edge) for edge in backwards}
    assert [edge for edge, found in reasons.items() if not found] == []
    unused = set(EXCEPTIONS) - {pair for found in reasons.values() for pair in found}
    assert unused == set(), "exceptions that are no longer needed"


def _exceptions(edge: Import) -> list[tuple[str, str]]:
    return [
        (importer, imported)
        for importer, imported in EXCEPTIONS
        if is_within(edge.importer, importer) and is_within(edge.imported, imported)
    ]


def test_modules_of_a_package_import_each_other_without_a_cycle(repository):
    modules = modules_of(repository)
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for edge in imports_of(modules):
        same = layer_of(edge.importer) == layer_of(edge.imported)
        if same and edge.imported in modules and edge.importer != edge.imported:
            graph[edge.importer].add(edge.imported)
    while free := {module for module, imported in graph.items() if not imported}:
        graph = {module: graph[module] - free for module in graph.keys() - free}
    assert graph == {}, "in a cycle, or above one"


def native_sources(repository):
    files = [path for path in (repository / "native").rglob("*") if path.suffix in (".cpp", ".hpp")]
    assert files
    return files


def test_one_header_knows_the_processor(repository):
    """Everything else asks RANKGROVE_X86, which is 0 (without a word) where it is not included."""
    own = re.compile(r"__x86_64__|__SSE\d|__AVX|target_clones|\w*mmintrin\.h|#pragma omp")
    for path in native_sources(repository):
        text = path.read_text()
        if path.name == "simd.hpp":
            continue
        assert not own.search(text), path
        if re.search(r"RANKGROVE_(X86|SIMD|INLINE)\b", text):
            assert '#include "common/simd.hpp"' in text, path


def test_only_binding_files_know_python(repository):
    users = {
        path.parent.name for path in native_sources(repository) if "nanobind" in path.read_text()
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


def test_files_and_functions_stay_short(repository):
    """One idea each: files of up to 600 lines, functions of up to 60 without their docstring.

    A longer function says why at its head: "Long because ...".
    """
    sources = [*(repository / "src").rglob("*.py"), *native_sources(repository)]
    lengths = {path: path.read_text().count("\n") for path in sources if path.suffix != ".pyi"}
    assert {path: length for path, length in lengths.items() if length > 600} == {}
    for path in (repository / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                words = ast.get_docstring(node, clean=False) or ""
                length = node.end_lineno - node.lineno - words.count("\n")
                assert length <= 60 or "Long because" in words, (
                    f"{path}: {node.name} has {length} lines"
                )


def test_every_module_of_rankers_registers_a_ranker(repository):
    folder = repository / "src" / "rankgrove" / "rankers"
    for path in folder.glob("*.py"):
        if path.name != "__init__.py":
            assert "@register_ranker(" in path.read_text(), path
