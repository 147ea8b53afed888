import json

from rankgrove.data.writing import write_letor
from rankgrove.datasets import make_ranking


def test_grid_prints_a_table_per_label_convention(rankgrove, tmp_path):
    write_letor(make_ranking(20, seed=1), tmp_path / "data.txt")
    options = ["--folds", "3", "--leaves", "4", "8", "--learning-rates", "0.1"]
    done = rankgrove("grid", "data.txt", *options, "--n-estimators", "3")
    assert done.returncode == 0, done.stderr
    assert "labels as they are" in done.stdout
    assert "labels shifted by 1" in done.stdout
    assert done.stdout.count("rcrank") == 4
    assert done.stdout.count("*") == 5  # the best of two rankers in two tables, and the legend


def test_grid_gives_json(rankgrove, tmp_path):
    write_letor(make_ranking(20, seed=1), tmp_path / "data.txt")
    options = ["--folds", "3", "--max-folds", "1", "--leaves", "4", "--learning-rates", "0.1"]
    done = rankgrove("grid", "data.txt", *options, "--n-estimators", "2", "--json")
    cells = json.loads(done.stdout)
    assert [cell["ranker"] for cell in cells] == ["rcrank", "rcrank", "lambdamart", "lambdamart"]
    assert all(0 <= cell["mean"] <= 1 and len(cell["values"]) == 1 for cell in cells)


def test_columns_of_a_folder_of_tables_can_be_named(rankgrove, tmp_path):
    rows = [f"{i % 3},{i // 4},{i % 5},{i % 7}" for i in range(40)]
    for part in ("train", "vali", "test"):
        path = tmp_path / "folds" / "Fold1" / f"{part}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(["rating,search,a,b", *rows]) + "\n")
    options = ["--leaves", "4", "--learning-rates", "0.1", "--n-estimators", "1", "--json"]
    done = rankgrove("grid", "folds", "--label", "rating", "--query", "search", *options)
    assert done.returncode == 0, done.stderr
