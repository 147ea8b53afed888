"""House rules that no compiler or linter checks."""

from __future__ import annotations

import ast
import re


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
    """One idea each: files of up to 400 lines, functions of up to 60 without their docstring.

    A longer function says why at its head: "Long because ...".
    """
    sources = [*(repository / "src").rglob("*.py"), *native_sources(repository)]
    lengths = {path: path.read_text().count("\n") for path in sources if path.suffix != ".pyi"}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
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
