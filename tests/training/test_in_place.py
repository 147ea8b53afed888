"""Fits read the caller's matrix where it is: to the bits of a float32 copy, without one."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankgrove
from rankgrove.data.input_checks import ranking_input
from rankgrove.data.matrix.conversion import in_place
from rankgrove.errors import DataError
from rankgrove.formats.container import to_bytes
from rankgrove.rankers.base.registry import make_ranker

N_ROWS, N_FEATURES = 300, 20
RNG = np.random.default_rng(5)
QID = RNG.permutation(np.arange(N_ROWS) % 15)  # in no order
VALUES = np.where(
    RNG.random((N_ROWS, N_FEATURES)) < 0.05, np.nan, RNG.normal(scale=50, size=(N_ROWS, N_FEATURES))
)
Y = np.digitize(np.nan_to_num(VALUES[:, :3]).sum(axis=1), [-60, 0, 60])
NAMES = [f"c{j}" for j in range(N_FEATURES)]


def learnt(X, name="lambdamart", y=Y, qid=QID, **options):
    few = {
        "rf-list": {"n_estimators": 3},
        "listmle": {},
        "broof": {"n_estimators": 2, "n_trees": 4},
    }
    quick = few.get(name, {"n_estimators": 8})
    ranker = make_ranker(name, random_state=3, missing=options.pop("missing", "keep"), **quick)
    return to_bytes(ranker.fit(X, y, qid=qid, **options), named=False)


def unaligned():
    """Return an array whose numbers do not lie on multiples of their size."""
    raw = np.zeros((N_ROWS, N_FEATURES * 8 + 1), np.uint8)
    array = np.ndarray(VALUES.shape, np.float64, raw.data, 1, (raw.strides[0], 8))
    array[:] = VALUES
    assert not array.flags.aligned
    return array


LAYOUTS = {
    "float64": lambda: VALUES.copy(),
    "float64 by columns": lambda: np.asfortranarray(VALUES),
    "float64 every second row": lambda: np.repeat(VALUES, 2, axis=0)[::2],
    "float64 from the end": lambda: np.ascontiguousarray(VALUES[::-1, ::-1])[::-1, ::-1],
    "float64 read only": lambda: np.frombuffer(VALUES.tobytes()).reshape(VALUES.shape),
    "float32 by columns": lambda: np.asfortranarray(VALUES.astype(np.float32)),
    "float16": lambda: VALUES.astype(np.float16),
    "long double": lambda: VALUES.astype(np.longdouble),
    "big endian": lambda: VALUES.astype(">f8"),
    "unaligned": unaligned,
    "beyond float32": lambda: np.where(np.abs(VALUES) > 80, np.sign(VALUES) * 1e300, VALUES),
    "masked": lambda: np.ma.masked_invalid(VALUES),
    "masked integers": lambda: np.ma.array(whole(np.int32), mask=VALUES > 40),
    "objects": lambda: np.where(np.isnan(VALUES), None, VALUES),
    "lists": lambda: VALUES.tolist(),
} | {
    kind: (lambda kind=kind: whole(kind))
    for kind in ("?", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def whole(kind):
    values = np.nan_to_num(VALUES) * (2.0**50 if kind in ("int64", "uint64") else 1.0)
    return (values > 0 if kind == "?" else np.abs(values).astype(np.int64)).astype(kind)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_type_and_layout(layout):
    X = LAYOUTS[layout]()
    if np.ma.isMaskedArray(X):
        as_float = X.astype(np.float64).filled(np.nan)
    else:
        as_float = np.asarray(X, np.float64) if layout in ("objects", "lists") else X
    with np.errstate(over="ignore"):
        copied = np.ascontiguousarray(as_float.astype(np.float32))
    assert learnt(X) == learnt(copied)
    np.testing.assert_array_equal(in_place(X), copied)


def frames():
    by_columns = {name: VALUES[:, j].copy() for j, name in enumerate(NAMES)}
    mixed = {
        name: np.abs(np.nan_to_num(column)).astype(
            [np.int64, np.uint8, np.float32, np.float64][j % 4]
        )
        for j, (name, column) in enumerate(by_columns.items())
    }
    nullable = pd.DataFrame(mixed).convert_dtypes()
    nullable.iloc[::7, ::3] = pd.NA
    table = pa.table(
        {name: pa.array(column, from_pandas=True) for name, column in by_columns.items()}
    )
    cut = pa.concat_tables([table.slice(0, 100), table.slice(100, 1), table.slice(101)])
    return {
        "pandas of one array": pd.DataFrame(VALUES, columns=NAMES),
        "pandas by columns": pd.DataFrame(by_columns),
        "pandas mixed": pd.DataFrame(mixed),
        "pandas nullable": nullable,
        "pandas objects": pd.DataFrame(VALUES, columns=NAMES).astype(object),
        "pandas sliced": pd.DataFrame(np.repeat(VALUES, 2, axis=0), columns=NAMES).iloc[::2],
        "polars": pl.DataFrame(by_columns),
        "polars mixed": pl.DataFrame(mixed),
        "arrow with nulls": table,
        "arrow in chunks": cut,
        "arrow mixed": pa.table(mixed),
        "arrow without nulls": pa.table(by_columns),
        "arrow of other types": pa.table(
            {
                name: pa.array(column > 1) if j % 2 else pa.array(column).cast(pa.float16())
                for j, (name, column) in enumerate(by_columns.items())
            }
        ),
    }


FRAMES = frames()


@pytest.mark.parametrize("name", FRAMES)
def test_frames(name):
    frame = FRAMES[name]
    table = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    copied = table.astype("Float64").to_numpy(np.float64, na_value=np.nan).astype(np.float32)
    taken = in_place(frame)
    np.testing.assert_array_equal(taken, copied)
    rows = np.array([5, 200, 5, 0])
    np.testing.assert_array_equal(taken.take_rows(rows), copied[rows])
    np.testing.assert_array_equal(taken.take_rows(slice(10, 250)), copied[10:250])
    np.testing.assert_array_equal(taken.take_columns(3, 18), copied[:, 3:18])
    np.testing.assert_array_equal(taken.select_columns([7, 2]), copied[:, [7, 2]])
    np.testing.assert_array_equal(taken.slice_rows(10, 250), copied[10:250])
    assert taken.names == tuple(NAMES)
    from_frame = make_ranker("lambdamart", n_estimators=8, random_state=3).fit(frame, Y, qid=QID)
    from_copy = make_ranker("lambdamart", n_estimators=8, random_state=3).fit(
        pd.DataFrame(copied, columns=NAMES), Y, qid=QID
    )
    assert to_bytes(from_frame) == to_bytes(from_copy)


@pytest.mark.parametrize("missing", ["mean", "median", "zero"])
@pytest.mark.parametrize(
    "name", ["mart", "rankboost", "rf-point", "rf-list", "rf-rand", "broof", "listmle"]
)
def test_every_family_and_policy(name, missing):
    options = {"sample_weight": RNG.integers(0, 3, N_ROWS)} if name in ("mart", "rf-point") else {}
    copied = VALUES.astype(np.float32)
    assert learnt(VALUES, name, missing=missing, **options) == learnt(
        copied, name, missing=missing, **options
    )
    assert learnt(np.asfortranarray(VALUES), name, missing=missing, **options) == learnt(
        copied, name, missing=missing, **options
    )


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
@pytest.mark.parametrize("make", [lambda X: X, lambda X: X.astype(np.float32), np.asfortranarray])
@pytest.mark.parametrize("missing", ["keep", "mean", "median"])
def test_rows_of_weight_0_are_left_out(make, missing):
    weight = RNG.integers(0, 2, N_ROWS)
    counts = weight > 0
    options = {"missing": missing, "eval_set": (VALUES[:50], Y[:50], QID[:50])}
    alone = learnt(VALUES[counts].astype(np.float32), y=Y[counts], qid=QID[counts], **options)
    assert learnt(make(VALUES), sample_weight=weight, **options) == alone


@pytest.mark.filterwarnings("ignore:eval_set '.*' (shares|holds)")
def test_validation_sets_are_matched_by_name_where_they_are():
    ranker = rankgrove.LambdaMART(n_estimators=5, random_state=0)
    frame, order = pd.DataFrame(VALUES, columns=NAMES), RNG.permutation(N_FEATURES)
    shuffled = frame.iloc[:, order].assign(text="not a number")
    ranker.fit(frame, Y, qid=QID, eval_set={"own": (frame, Y, QID), "other": (shuffled, Y, QID)})
    assert ranker.evals_result_["own"] == ranker.evals_result_["other"]
    named = rankgrove.Dataset(
        VALUES[:, order].astype(np.float32), Y, QID, feature_names=[NAMES[j] for j in order]
    )
    ranker.fit(frame, Y, qid=QID, eval_set={"own": (frame, Y, QID), "other": named})
    assert ranker.evals_result_["own"] == ranker.evals_result_["other"]


def test_a_fit_goes_on_from_a_model():
    first = rankgrove.MART(n_estimators=3, random_state=0).fit(VALUES, Y, qid=QID)
    copied = VALUES.astype(np.float32)
    assert learnt(VALUES, init_model=first) == learnt(copied, init_model=first)


def test_what_is_too_large_is_infinite_in_arrow_tables_as_in_arrays():
    table = pa.table({"a": [1.0, 2.0, None], "b": [1.0, 2.0, 1e300]})
    data = ranking_input(table, [0, 1, 2], qid=[1, 1, 1])
    assert np.asarray(data.X)[2, 1] == np.inf


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_text_are_named(library):
    with pytest.raises(DataError, match=r"column 'q' of X holds 'q85'.*rankgrove\.load\(frame\)"):
        ranking_input(library({"a": [1.0, None], "q": ["q85", "q86"]}), [0, 1], qid=[1, 1])


WIDE = np.random.default_rng(0).normal(size=(5000, 400))
WIDE_NAMES = [f"c{j}" for j in range(400)]
LARGE = {
    "float64": lambda: WIDE,
    "float32 by columns": lambda: np.asfortranarray(WIDE.astype(np.float32)),
    "strided": lambda: np.repeat(WIDE, 2, axis=1)[:, ::2],
    "integers": lambda: (WIDE * 100).astype(np.int32),
    "float16": lambda: WIDE.astype(np.float16),
    "masked": lambda: np.ma.masked_greater(WIDE, 2),
    "pandas": lambda: pd.DataFrame({name: WIDE[:, j].copy() for j, name in enumerate(WIDE_NAMES)}),
    "pandas integers": lambda: pd.DataFrame((WIDE * 100).astype(np.int64), columns=WIDE_NAMES),
    "polars": lambda: pl.DataFrame(WIDE, schema=WIDE_NAMES),
    "arrow": lambda: pa.table({n: pa.array(WIDE[:, j]) for j, n in enumerate(WIDE_NAMES)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("name", LARGE)
def test_the_matrix_is_not_copied(name, weights):
    """A copy as float32 would take 4 bytes per value; what numpy allocates is traced."""
    X = LARGE[name]()
    y, sizes = np.arange(5000) % 3, [50] * 100
    weight = (np.arange(5000) % 4 > 0).astype(float) if weights else None
    ranker = rankgrove.LambdaMART(n_estimators=2, n_jobs=1)
    gc.collect()
    tracemalloc.start()
    try:
        ranker.fit(X, y, group_sizes=sizes, sample_weight=weight)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * WIDE.size
