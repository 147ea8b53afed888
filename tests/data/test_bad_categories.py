"""What is no category, or of another kind than a model's, through every way in."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy.sparse import csr_matrix

import rankgrove as rg
from rankgrove.errors import DataError
from rankgrove.serving.arrow_body import read_arrow
from rankgrove.serving.errors import RequestError
from rankgrove.serving.json_body import read_json

N_ROWS = 36
# The csv module of Python 3.10 reads no NUL: such a file is refused with its line.
NUL = "\0" if sys.version_info >= (3, 11) else ""


def table(values):
    """Return documents whose column ``c`` repeats some values; an Arrow array gives its type."""
    if isinstance(values, pa.Array):
        column = values.take(pa.array(np.arange(N_ROWS) % len(values)))
    else:
        column = pa.array([values[i % len(values)] for i in range(N_ROWS)])
    rows = np.arange(N_ROWS)
    others = {"label": rows * 7 % 5 % 3, "qid": rows // 12, "price": rows * 5 % 7 / 7}
    return pa.table({**others, "c": column})


def as_frame(given):
    return pd.DataFrame({name: given[name].to_pandas() for name in given.column_names})


def as_polars(given):
    return pytest.importorskip("polars").from_arrow(given)


def as_csv(given, folder):
    column = given["c"]
    if pa.types.is_dictionary(column.type):
        given = given.set_column(3, "c", column.cast(column.type.value_type))
    pyarrow.csv.write_csv(given, folder / "a.csv")
    return folder / "a.csv"


def as_parquet(given, folder):
    pyarrow.parquet.write_table(given, folder / "a.parquet")
    return folder / "a.parquet"


def as_feather(given, folder):
    pyarrow.feather.write_feather(given, folder / "a.feather")
    return folder / "a.feather"


TYPED = {
    "pandas": lambda given, folder: rg.load(as_frame(given), categorical=["c"]),
    "polars": lambda given, folder: rg.load(as_polars(given), categorical=["c"]),
    "Arrow": lambda given, folder: rg.load(given, categorical=["c"]),
    "Parquet": lambda given, folder: rg.load(as_parquet(given, folder), categorical=["c"]),
    "Feather": lambda given, folder: rg.load(as_feather(given, folder), categorical=["c"]),
    "stream": lambda given, folder: rg.scan(as_parquet(given, folder), categorical=["c"]),
    "batches": lambda given, folder: rg.scan(
        lambda: iter([as_frame(given)[:20], as_frame(given)[20:]]), categorical=["c"]
    ),
}
CSV = {
    "CSV": lambda given, folder: rg.load(as_csv(given, folder), categorical=["c"]),
    "stream of CSV": lambda given, folder: rg.scan(as_csv(given, folder), categorical=["c"]),
}


def categories_of_fit(data):
    ranker = rg.LambdaMART(n_estimators=1, random_state=0, n_jobs=1).fit(data)
    return ranker.model_.columns.categories[1]


SMALLEST, LARGEST = -(2**63), 2**64 - 1
KEPT = {
    "NUL, quotes, line ends, blanks": ["", " ", "a", f"a{NUL}b", "c,d", "l\nm", 'q"x', "r\rs"],
    "equal text in other normal forms": ["e\N{COMBINING ACUTE ACCENT}", "É", "é"],
    "numbers as texts": ["03", "1", "2"],
    "what other libraries call missing": ["NA", "None", "nan", "null"],
    "whole numbers": [1, 2, 30],
    "the largest whole numbers": [3, 2**63 - 1],
    "the smallest whole number": [SMALLEST, 5],
    "booleans": [False, True],
    "one value": ["only"],
}


@pytest.mark.parametrize("case", KEPT)
@pytest.mark.parametrize("way", [*TYPED, *CSV])
def test_categories_are_what_they_are(case, way, tmp_path):
    found = categories_of_fit({**TYPED, **CSV}[way](table(KEPT[case]), tmp_path))
    assert list(found.values) == KEPT[case]
    assert {type(value) for value in found.values} == {type(value) for value in KEPT[case]}


MEANT = {
    "missing values": (["a", None, "b"], ["a", "b"]),
    "floats that are whole": ([1.0, 2.0, None], [1, 2]),
    "minus zero": ([0.0, -0.0], [0]),
    "nothing": ([None], []),
    "values of 64 bits without a sign": (pa.array([3, LARGEST], pa.uint64()), [3, LARGEST]),
    "a dictionary of numbers": (pa.array([5, 7]).dictionary_encode(), [5, 7]),
    "a dictionary with values that no row has": (
        pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(["b", "unused", "a"])),
        ["a", "b"],
    ),
}


@pytest.mark.parametrize("case", MEANT)
@pytest.mark.parametrize("way", [*TYPED, *CSV])
def test_what_has_a_documented_meaning(case, way, tmp_path):
    if (case, way) == ("a dictionary of numbers", "polars"):
        pytest.importorskip("polars", minversion="1.20")  # (older ones know dictionaries of texts)
    given, meant = MEANT[case]
    assert list(categories_of_fit({**TYPED, **CSV}[way](table(given), tmp_path)).values) == meant


@pytest.mark.parametrize("way", ["Arrow", "polars", "Feather", "CSV"])  # others hold none
def test_null_entries_of_a_dictionary_are_missing(way, tmp_path):
    indices = pa.array([0, 1, 2, None], pa.int8())
    given = table(pa.DictionaryArray.from_arrays(indices, pa.array(["a", None, "b"])))
    data = {**TYPED, **CSV}[way](given, tmp_path)
    assert categories_of_fit(data).values == ("a", "b")
    assert np.isnan(data.X[:, 1]).sum() == N_ROWS / 2


REFUSED = {
    "fractions": ([1.0, 2.5], "'c' holds 2.5, which is no category"),
    "infinity": ([1.0, float("inf")], "'c' holds inf, which is no category"),
    "floats beyond 2^53": ([1.0, 1e300], r"'c' holds 1e\+300, which is no category"),
    "bytes": ([b"x", b"\xff"], "'c' holds binary"),
    "dates": (pa.array([1, 2], pa.date32()), "'c' holds date32"),
    "decimals": (pa.array([1, 2], pa.decimal128(9, 2)), "'c' holds decimal128"),
    "lists": ([["a"], ["b"]], "'c' holds (large_)?list"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("way", TYPED)
def test_what_is_no_category_is_refused(case, way, tmp_path):
    values, message = REFUSED[case]
    with pytest.raises(DataError, match=message):
        categories_of_fit(TYPED[way](table(values), tmp_path))


OBJECTS = {
    "texts and numbers": (["a", 3], r"'c' mixes 'a' \(a text\) and 3 \(a whole number\)"),
    "booleans and numbers": ([True, 2], r"'c' mixes True \(a boolean\) and 2 \(a whole number\)"),
    "half a character": (["a", "\ud800"], r"'c' holds the text '\\ud800', which is not valid"),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_bad_objects_are_refused_by_name(case):
    values, message = OBJECTS[case]
    frame = as_frame(table(["a", "b"]))
    known = rg.LambdaMART(n_estimators=1, random_state=0).fit(rg.load(frame, categorical=["c"]))
    column = pd.Series([values[i % 2] for i in range(N_ROWS)], dtype=object)
    bad = frame.assign(c=column)
    for use in (
        lambda: rg.load(bad, categorical=["c"]),
        lambda: known.predict(bad),
    ):
        with pytest.raises(DataError, match=message):
            use()


KINDS = {
    "texts": ["a", "b", "é"],
    "whole numbers": [1, 2, 7],
    "booleans": [True, False],
    "numbers": [0.5, 0.25, 0.75],
}


@pytest.fixture(scope="module")
def models():
    found = {}
    for kind, values in KINDS.items():
        data = rg.load(table(values), categorical=[] if kind == "numbers" else ["c"])
        found[kind] = rg.LambdaMART(n_estimators=2, random_state=0, min_samples_leaf=2).fit(data)
    return found


def json_scores(model, given):
    rows = list(map(list, zip(given["price"].to_pylist(), given["c"].to_pylist(), strict=True)))
    body = json.dumps({"columns": ["price", "c"], "rows": rows}).encode()
    return model.model_.scores(read_json(body, model.model_, 1000).X)


def arrow_scores(model, given):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, given.schema) as writer:
        writer.write_table(given)
    body = sink.getvalue().to_pybytes()
    return model.model_.scores(read_arrow(body, model.model_, 1000).X)


SCORED = {
    "pandas": lambda model, given, folder: model.predict(as_frame(given)),
    "polars": lambda model, given, folder: model.predict(as_polars(given)),
    "Arrow": lambda model, given, folder: model.predict(given),
    "CSV": lambda model, given, folder: model.predict(rg.load(as_csv(given, folder), like=model)),
    "Parquet": lambda model, given, folder: model.predict(
        rg.load(as_parquet(given, folder), like=model)
    ),
    "Feather": lambda model, given, folder: model.predict(
        rg.load(as_feather(given, folder), like=model)
    ),
    "evaluation set": lambda model, given, folder: rg.LambdaMART(n_estimators=1).fit(
        rg.load(table(KINDS[kind_of(model)]), categorical=categorical_of(model)),
        eval_set=rg.load(of_other_queries(given), categorical=["c"]),
    ),
    "JSON": lambda model, given, folder: json_scores(model, given.select(["price", "c"])),
    "Arrow body": lambda model, given, folder: arrow_scores(model, given.select(["price", "c"])),
}


def of_other_queries(given):
    """Return documents of queries that training does not have."""
    rows = np.arange(N_ROWS)
    given = given.set_column(1, "qid", pa.array(rows // 12 + 100))
    return given.set_column(2, "price", pa.array(rows * 3 % 11 / 11))


def categorical_of(model):
    return ["c"] if model.model_.columns.categories else []


def kind_of(model):
    if not model.model_.columns.categories:
        return "numbers"
    value = model.model_.columns.categories[1].values[0]
    names = {str: "texts", int: "whole numbers", bool: "booleans"}
    return names[type(value)]


# Whole numbers and booleans are numbers; a number that is no whole one is no category.
ALLOWED = {("numbers", "whole numbers"), ("numbers", "booleans")}


@pytest.mark.parametrize("given", KINDS)
@pytest.mark.parametrize("trained", KINDS)
@pytest.mark.parametrize("way", SCORED)
def test_another_kind_than_in_training_is_refused(models, trained, given, way, tmp_path):
    def score():
        return SCORED[way](models[trained], table(KINDS[given]), tmp_path)

    allowed = trained == given or (trained, given) in ALLOWED
    if (trained, given, way) == ("numbers", "numbers", "evaluation set"):
        allowed = False  # the set itself cannot be read with the column as categories
    if (trained, given, way) == ("texts", "numbers", "CSV"):
        with pytest.warns(rg.DataWarning, match="36 of 36 values of 'c' are categories that"):
            score()  # a field of CSV is a text to a model of texts
    elif allowed:
        score()
    else:
        with pytest.raises((DataError, RequestError), match="'c'"):
            score()


def test_continued_models_and_other_dictionaries(models):
    """Old categories keep what was learnt of them; another kind is refused."""
    new = rg.load(table(["b", "c", "z"]), categorical=["c"])
    longer = rg.LambdaMART(n_estimators=2, random_state=1).fit(new, init_model=models["texts"])
    assert longer.model_.columns.categories[1].values == ("a", "b", "c", "z", "é")
    for kind in ("whole numbers", "booleans"):
        other = rg.load(table(KINDS[kind]), categorical=["c"])
        with pytest.raises(DataError, match=rf"'c' holds {kind}.*continued holds texts"):
            rg.LambdaMART(n_estimators=1).fit(other, init_model=models["texts"])
    with pytest.raises(rg.ModelError, match="'c' holds numbers in the data, but categories"):
        rg.LambdaMART(n_estimators=1).fit(
            rg.load(table(KINDS["whole numbers"])), init_model=models["texts"]
        )
    with pytest.raises(rg.ModelError, match="'c' holds categories in the data, but numbers"):
        rg.LambdaMART(n_estimators=1).fit(new, init_model=models["numbers"])


def test_roles_and_options_that_hold_no_categories():
    frame = as_frame(table(["a", "b"])).assign(weight=1.0)
    for name, role in (("c", {"position": "c"}), ("weight", {"weight": "weight"})):
        with pytest.raises(DataError, match=f"'{name}' cannot be categorical: it is no feature"):
            rg.load(frame, categorical=["c", "weight"] if name == "weight" else ["c"], **role)
    with pytest.raises(ValueError, match="categorical must be names of columns, not True"):
        rg.load(frame, categorical=True)
    with pytest.raises(DataError, match=r"sparse matrix has no categorical.*names 'f1'"):
        rg.load(
            csr_matrix(np.eye(4)), [0, 1, 0, 1], qid=[1, 1, 2, 2], sparse=True, categorical=["f1"]
        )
