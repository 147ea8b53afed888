import numpy as np
import pytest

from rankgrove import _native
from rankgrove.trees.binning import bin_matrix, find_bins
from rankgrove.trees.growing import TreeGrower, apply_binned


def documents(n_rows=3000, n_features=40, seed=0):
    """Features that are full, listed, constant and missing in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[:, ::3] = np.where(rng.random((n_rows, X[:, ::3].shape[1])) < 0.7, 0, X[:, ::3])
    X[:, 1::7] = np.round(X[:, 1::7])
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 4] = 1.0
    return X, rng.normal(size=n_rows).astype(np.float32)


def mapped(binned, folder):
    path = folder / "codes"
    path.write_bytes(binned.all_codes.tobytes())
    codes = np.memmap(path, np.uint8, "r")
    return _native.mapped_matrix(binned.bins, codes, binned.n_rows, str(folder))


def grown(binned, gradients, **options):
    grower = TreeGrower(binned, **options)
    trees = []
    for seed in range(3):
        tree = grower.grow(gradients, None, seed=seed)
        trees.append((tree.feature, tree.threshold, tree.value, grower.leaf_of_row.copy()))
        leaves = apply_binned(tree, binned)
        np.testing.assert_array_equal(leaves, grower.leaf_of_row)
    return trees


@pytest.mark.parametrize("max_bins", [16, 255, 1000])
@pytest.mark.parametrize("tree", ["leafwise", "oblivious"])
def test_trees_on_a_mapped_file_are_those_of_memory(tmp_path, max_bins, tree):
    X, gradients = documents()
    binned = bin_matrix(X, find_bins(X, max_bins=max_bins))
    options = {"tree": tree, "max_depth": 5}
    expected = grown(binned, gradients, **options)
    for ours, theirs in zip(
        grown(mapped(binned, tmp_path), gradients, **options), expected, strict=True
    ):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    assert [path.name for path in tmp_path.iterdir()] == ["codes"], "nothing is left behind"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_samples_leaf": 9, "max_features": 0.4},
        {"min_samples_leaf": 60},
        {"l1": 0.1},
        {"missing_branch": True, "min_samples_leaf": 3},
        {"tree": "levelwise", "max_depth": 7},
    ],
)
def test_nodes_of_few_rows_have_the_splits_of_their_histograms(tmp_path, options):
    # In memory they are searched without one; mapped codes are not kept row by row.
    X, gradients = documents()
    binned = bin_matrix(X, find_bins(X))
    hessians = np.random.default_rng(1).random(len(X)).astype(np.float32)
    growers = [
        TreeGrower(matrix, max_leaf_nodes=127, **options)
        for matrix in (binned, mapped(binned, tmp_path))
    ]
    for seed in range(3):
        ours, expected = (grower.grow(gradients, hessians, seed=seed) for grower in growers)
        assert ours.n_nodes > 40
        for name in ("feature", "threshold", "left", "missing_left", "value", "gain"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name))


def test_a_folder_without_room_is_named(tmp_path):
    X, _ = documents()
    binned = bin_matrix(X, find_bins(X))
    matrix = mapped(binned, tmp_path)
    lost = _native.mapped_matrix(
        binned.bins, matrix.all_codes.reshape(-1), binned.n_rows, str(tmp_path / "lost")
    )
    with pytest.raises(RuntimeError, match="lost: no room for a temporary file"):
        TreeGrower(lost)


def test_bins_go_through_arrays():
    X, _ = documents()
    bins = find_bins(X, max_bins=100, fill=np.full(X.shape[1], np.nan, np.float32))
    again = _native.bins_from_arrays(*bins.arrays())
    for one, other in zip(again.arrays(), bins.arrays(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(bin_matrix(X, again).all_codes, bin_matrix(X, bins).all_codes)


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, lambda a: a[:-1], "different lengths"),
        (0, lambda a: a + 1, "do not go with"),
        (1, lambda a: a[::-1].copy(), "do not ascend"),
        (1, lambda a: np.full_like(a, np.nan), "do not ascend"),
    ],
)
def test_arrays_that_are_no_bins_are_refused(place, change, message):
    X, _ = documents()
    arrays = list(find_bins(X).arrays())
    arrays[place] = change(arrays[place])
    with pytest.raises(ValueError, match=message):
        _native.bins_from_arrays(*arrays)


def test_codes_of_another_size_are_refused(tmp_path):
    X, _ = documents()
    binned = bin_matrix(X, find_bins(X))
    codes = binned.all_codes.reshape(-1)
    with pytest.raises(ValueError, match="instead of"):
        _native.mapped_matrix(binned.bins, codes[:-1], binned.n_rows, str(tmp_path))
