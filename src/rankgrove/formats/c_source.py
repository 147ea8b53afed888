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
 * order of feature_names, NAN for a missing value. Needs C99; compile without -ffast-math.
 */
#include <math.h>
#include <stddef.h>

const int n_features = {n_features};
const char *const feature_names[] = {{{names}}};

/* Nodes of all trees; a negative feature marks a leaf, and the right child follows the left. */
static const int tree_start[] = {{{start}}};
static const int feature[] = {{{feature}}};
static const float threshold[] = {{{threshold}}};
static const int left_child[] = {{{left}}};
static const unsigned char missing_left[] = {{{missing}}};
static const double value[] = {{{value}}};
{up_to}
static const double base_score = {base};

double score(const float *features) {{
  double sum = base_score;
  for (size_t t = 0; t + 1 < sizeof tree_start / sizeof *tree_start; ++t) {{
    int node = tree_start[t];
    while (feature[node] >= 0) {{
      const float x = features[feature[node]];
      const int go_left = {is_missing} ? missing_left[node] : x <= threshold[node];
      node = tree_start[t] + left_child[node] + !go_left;
    }}
    sum += value[node];
  }}
  return {link};
}}
"""


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
        is_missing="!(fabsf(x) > missing_up_to[feature[node]])" if up_to else "isnan(x)",
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
    trees = [
        TargetTree(**{name: array[first:last] for name, array in vars(nodes).items()})
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
    library=_library,
)
