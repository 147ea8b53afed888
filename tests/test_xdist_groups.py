"""Tests that must not run at the same time are in one group."""

from support.xdist_groups import GROUPS, group_of


def test_every_test_with_the_marker_of_a_group_is_in_it(request):
    for item in request.session.items:
        for group in GROUPS:
            if item.get_closest_marker(group):
                assert group_of(item.nodeid) == group, item.nodeid


def test_the_file_of_a_test_decides():
    ids = ("test_engines.py::test_a[start_dask]", "test_preemption.py::test_b", "test_mpi.py::c")
    groups = [group_of(f"tests/distributed/{nodeid}") for nodeid in ids]
    assert groups == ["cluster", "cluster", None]
