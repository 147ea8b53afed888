"""Export to one self-contained C file with ``double score(const float *features)``.

Comparisons are in float32 and sums in float64, in the order of rankgrove, so scores are the same
bits. Numbers are written in hexadecimal, which loses nothing. Needs C99 and nothing else.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from rankgrove.formats.exporting import Floats, Target
from rankgrove.formats.plain_trees import PlainTrees
from rankgrove.formats.target_arithmetic import TargetTree, at_most_else_default, sum_of_trees

_LINKS = {
    "identity": "sum",
    "sigmoid": "1.0 / (1.0 + exp(-sum))",
    "exp": "exp(sum)",
}

_TEMPLATE = """\
/* A ranking model of {n_trees} trees on {n_features} features, written by rankgrove.
 *
 * double score(const float *features): the higher, the more relevant. Give the features in the
 * order of feature_names, NAN for a missing value. Needs C99; compile without -ffast-math.{about}
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

const int n_features = {n_features};
const char *const feature_names[] = {{{names}}};

/* Nodes of all trees; a negative feature marks a leaf, and the right child follows the left. */
static const int tree_start[] = {{{start}}};
static const int feature[] = {{{feature}}};
static const float threshold[] = {{{threshold}}};
static const int left_child[] = {{{left}}};
static const unsigned char missing_left[] = {{{missing}}};
static const double value[] = {{{value}}};
{up_to}{sets}
static const double base_score = {base};

double score(const float *features) {{
  double sum = base_score;
  for (size_t t = 0; t + 1 < sizeof tree_start / sizeof *tree_start; ++t) {{
    int node = tree_start[t];
    while (feature[node] >= 0) {{
      const float x = features[feature[node]];
      const int go_left = {goes_left};
      node = tree_start[t] + left_child[node] + !go_left;
    }}
    sum += value[node];
  }}
  return {link};
}}
"""


_ABOUT_CATEGORIES = """
 * A categorical feature is the code of its value: category_code(feature, value), where value is the
 * text of the category, or NAN if the model does not know it."""

_SETS = """\
/* Values of categorical features in the order of their codes; NULL for other features. */
{values}
static const char *const *const categories[] = {{{tables}}};
static const int n_categories[] = {{{counts}}};

/* Nodes that split on categories have a set: bit c % 32 of word c / 32 is 1 if code c goes left. */
static const int category_set[] = {{{of_node}}};
static const int set_start[] = {{{starts}}};
static const unsigned long set_words[] = {{{words}}};

static int in_set(int node, float x) {{
  const int first = set_start[category_set[node]], end = set_start[category_set[node] + 1];
  if (!(x >= 0 && x < (float)n_categories[feature[node]])) return missing_left[node];
  const int code = (int)x, word = first + code / 32;
  return word < end && (set_words[word] >> (code % 32) & 1);
}}

float category_code(int feature_number, const char *value) {{
  for (int code = 0; code < n_categories[feature_number]; ++code)
    if (strcmp(categories[feature_number][code], value) == 0) return (float)code;
  return NAN;
}}
"""


def _sets(plain: PlainTrees) -> str:
    """Return the tables of categories and sets; nothing if no split asks for categories."""
    of_node: list[int] = []
    sets: list[npt.NDArray[Any]] = []
    for tree in plain.trees:
        numbers = np.full(len(tree.left), -1)
        for node, codes in tree.left_codes.items():
            numbers[node] = len(sets)
            sets.append(_words(codes))
        of_node += numbers.tolist()
    if not sets:
        return ""
    values = "\n".join(
        f"static const char *const categories_{j}[] = "
        f"{{{', '.join(_quoted(str(value)) for value in known)}}};"
        for j, known in plain.categories.items()
        if known
    )
    known = [plain.categories.get(j, ()) for j in range(plain.n_features)]
    return _SETS.format(
        values=values,
        tables=", ".join(f"categories_{j}" if some else "NULL" for j, some in enumerate(known)),
        counts=_integers(np.array([len(some) for some in known])),
        of_node=_integers(np.array(of_node)),
        starts=_integers(np.cumsum([0, *map(len, sets)])),
        words=",".join(f"{int(word)}UL" for one in sets for word in one),
    )


def _words(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    bits = np.zeros(32 * (int(codes.max(initial=0)) // 32 + 1), np.uint8)
    bits[codes] = 1
    return np.packbits(bits, bitorder="little").view("<u4")


def get_include() -> str:
    """Return the folder of ``rankgrove.h``, which scores model files (.rg) from C."""
    return str(Path(__file__).parents[1] / "include")


def _write(plain: PlainTrees) -> bytes:
    def joined(name: str) -> npt.NDArray[Any]:
        arrays = [getattr(tree, name) for tree in plain.trees]
        return np.concatenate(arrays) if arrays else np.zeros(1)

    up_to = ""
    if plain.missing_up_to is not None:
        up_to = f"static const float missing_up_to[] = {{{_floats(plain.missing_up_to)}}};\n"
    goes_left = "{} ? missing_left[node] : x <= threshold[node]".format(
        "!(fabsf(x) > missing_up_to[feature[node]])" if up_to else "isnan(x)"
    )
    sets = _sets(plain)
    if sets:
        goes_left = f"category_set[node] >= 0 ? in_set(node, x) : ({goes_left})"
    leaf = joined("left") < 0
    starts = np.cumsum([0, *(len(tree.left) for tree in plain.trees)])
    text = _TEMPLATE.format(
        n_trees=len(plain.trees),
        n_features=plain.n_features,
        names=", ".join(_quoted(name) for name in plain.names or ()) or "NULL",
        start=_integers(starts),
        feature=_integers(np.where(leaf, -1, joined("feature"))),
        threshold=_floats(np.where(leaf, 0, joined("threshold"))),
        left=_integers(np.where(leaf, 0, joined("left"))),
        missing=_integers(joined("missing_left")),
        value=_doubles(joined("value")),
        up_to=up_to,
        base=_doubles(np.array([plain.base_score])),
        goes_left=goes_left,
        sets=sets,
        about=_ABOUT_CATEGORIES if sets else "",
        link=_LINKS[plain.link],
    )
    return text.encode()


def _quoted(text: str) -> str:
    plain = "".join(
        c if " " <= c <= "~" and c not in '"\\?' else "".join(f"\\{b:03o}" for b in c.encode())
        for c in text
    )
    return f'"{plain}"'


def _integers(values: npt.NDArray[Any]) -> str:
    return ",".join(str(int(value)) for value in values)


def _floats(values: npt.NDArray[Any]) -> str:
    return ",".join("INFINITY" if np.isinf(v) else f"{float(v).hex()}f" for v in values)


def _doubles(values: npt.NDArray[Any]) -> str:
    return ",".join(float(value).hex() for value in values)


def _number(text: str) -> float:
    text = text.removesuffix("UL")
    return float.fromhex(text.removesuffix("f")) if "x" in text else float(text)


def _evaluate(data: bytes, X: npt.NDArray[Any], names: Any) -> Floats:
    text = data.decode()

    def table(name: str) -> npt.NDArray[np.float64]:
        found = re.search(rf"\b{name}\[\] = {{([^}}]*)}}", text)
        assert found is not None
        return np.array([_number(cell) for cell in found[1].split(",")])

    starts = table("tree_start").astype(np.int64)
    feature = table("feature").astype(np.int64)
    left = np.where(feature < 0, -1, table("left_child")).astype(np.int64)
    nodes = TargetTree(
        feature=feature,
        threshold=table("threshold"),
        left=left,
        right=np.where(feature < 0, -1, left + 1),
        missing_left=table("missing_left") != 0,
        value=table("value"),
    )
    arrays = {name: array for name, array in vars(nodes).items() if name != "left_codes"}
    trees = [
        _with_sets(
            TargetTree(**{name: array[first:last] for name, array in arrays.items()}),
            table,
            first,
        )
        if "category_set[]" in text
        else TargetTree(**{name: array[first:last] for name, array in arrays.items()})
        for first, last in pairwise(starts.tolist())
    ]
    base = re.search(r"base_score = ([^;]+);", text)
    assert base is not None
    values = np.asarray(X)
    if "missing_up_to[]" in text:
        values = np.where(np.abs(values) <= table("missing_up_to"), np.nan, values)
    total = sum_of_trees(
        trees,
        values,
        at_most_else_default,
        compare=np.float32,
        add=np.float64,
        start=float.fromhex(base[1]),
    )
    if "return exp(sum)" in text:
        return np.exp(total)
    return np.asarray(expit(total)) if "exp(-sum)" in text else total


def _with_sets(
    tree: TargetTree, table: Callable[[str], npt.NDArray[np.float64]], first: int
) -> TargetTree:
    """Return a tree with the sets of its splits on categories; missing ones go right."""
    sets = table("category_set")[first : first + len(tree.left)].astype(np.int64)
    starts, words = table("set_start").astype(np.int64), table("set_words")
    counts = table("n_categories").astype(np.int64)
    left, right = tree.left.copy(), tree.right.copy()
    left_codes = {}
    for node in np.flatnonzero(sets >= 0).tolist():
        some = words[starts[sets[node]] : starts[sets[node] + 1]].astype("<u4")
        codes = np.flatnonzero(np.unpackbits(some.view(np.uint8), bitorder="little"))
        if tree.missing_left[node]:
            codes = np.setdiff1d(np.arange(counts[tree.feature[node]]), codes)
            left[node], right[node] = right[node], left[node]
        left_codes[node] = codes
    return replace(tree, left=left, right=right, left_codes=left_codes)


def _library(path: Path, X: npt.NDArray[Any]) -> tuple[str, Floats] | None:
    """Compile the file with the machine's C compiler and run it."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "score.so"
        command = [compiler, "-std=c99", "-O1", "-shared", "-fPIC", "-o", str(library), "-x", "c"]
        subprocess.run([*command, str(path), "-lm"], check=True, capture_output=True)
        score = ctypes.CDLL(str(library)).score
        score.restype = ctypes.c_double
        score.argtypes = [ctypes.c_void_p]
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X, np.float32)
        scores = np.array([score(row.ctypes.data) for row in rows], np.float64)
    return f"the C compiler {Path(compiler).name}", scores


C_SOURCE = Target(
    name="c",
    about="one self-contained C file",
    write=_write,
    evaluate=_evaluate,
    links=frozenset(_LINKS),
    zero_is_missing=True,
    carries_categories=True,
    library=_library,
)
