"""The assignment of queries to workers, as a pure function of the partitions."""

from __future__ import annotations

import numpy as np
import pytest

from rankgrove.distributed.query_plan import PartitionSummary, QueryPlan, make_plans
from rankgrove.errors import DataError


def part(worker, number, ids, sizes, names=("a", "b"), sides=()):
    return PartitionSummary(
        worker,
        number,
        f"part {number}",
        names,
        len(names),
        None,
        [*sides],
        np.array(ids, np.int64),
        np.array(sizes, np.int64),
    )


def plans(workers, split_queries="gather"):
    return [QueryPlan.read(data) for data in make_plans(workers, split_queries)]


def test_queries_are_numbered_by_first_appearance_over_all_partitions():
    first, second = plans([[part(0, 0, [7, 3], [2, 1])], [part(1, 1, [5, 9], [1, 2])]])
    assert [*first.ids, *second.ids] == [7, 3, 5, 9]
    assert [array.tolist() for array in (*first.numbers, *second.numbers)] == [[0, 1], [2, 3]]


def test_rows_are_numbered_in_the_order_of_partitions_not_of_workers():
    first, second = plans([[part(0, 1, [2], [4])], [part(1, 0, [1], [3])]])
    assert (first.starts.tolist(), second.starts.tolist()) == ([3], [0])


def test_a_split_query_goes_to_one_worker():
    workers = [[part(0, 0, [1, 2], [2, 2])], [part(1, 1, [2, 3], [1, 3])]]
    found = plans(workers)
    owned = [query for plan in found for query in plan.ids.tolist()]
    assert sorted(owned) == [1, 2, 3]
    assert found[0].numbers[0][1] == found[1].numbers[0][0]


def test_a_split_query_is_refused_if_asked():
    workers = [[part(0, 0, [1, 2], [2, 2])], [part(1, 1, [2, 3], [1, 3])]]
    with pytest.raises(DataError, match="2"):
        make_plans(workers, "refuse")


@pytest.mark.parametrize("empty", [("b", "a"), (), ("c", "a")])
def test_columns_are_in_the_order_of_the_first_partition_that_has_them_all(empty):
    workers = [[part(0, 1, [4], [2], ("a", "b"))], [part(1, 0, [], [], empty)]]
    expected = ("b", "a") if empty == ("b", "a") else ("a", "b")
    assert [plan.columns.names for plan in plans(workers)] == [expected] * 2


def test_an_empty_partition_takes_part():
    first, second = plans([[part(0, 0, [], [])], [part(1, 1, [4], [2])]])
    assert [array.tolist() for array in first.numbers] == [[]]
    assert [*first.ids, *second.ids] == [4]


def test_no_rows_at_all_are_refused():
    with pytest.raises(DataError, match="there are no rows"):
        make_plans([[part(0, 0, [], [])]], "gather")


def test_partitions_of_different_columns_are_refused():
    workers = [[part(0, 0, [1], [1])], [part(1, 1, [2], [1], names=("a", "c"))]]
    with pytest.raises(DataError, match="c"):
        make_plans(workers, "gather")
