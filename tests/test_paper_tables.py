"""The one command that prints every table of the papers, on data of a few queries."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import bench_papers
from papers import cells, published, rows
from papers.cells import Cells
from papers.collections import COLLECTIONS
from papers.forest_studies import points

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def write_part(path: Path, first_query: int, n_queries: int, max_grade: int) -> None:
    rng = np.random.default_rng(first_query)
    lines = []
    for query in range(first_query, first_query + n_queries):
        for row in range(8):
            grade = row % (max_grade + 1)
            values = rng.normal(size=12) + grade * np.linspace(-1, 1, 12)
            features = " ".join(f"{j}:{value:.2f}" for j, value in enumerate(values, 1))
            features += f" 25:{grade} 41:{grade} 110:{grade}"  # BM25 in LETOR's sets and in WEB10K
            lines.append(f"{grade} qid:{query} {features}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(lines).encode()))


@pytest.mark.process
@pytest.mark.slow
def test_every_table_of_the_papers_is_printed_by_one_command_which_resumes(tmp_path):
    for folder in ("mq2008", "ohsumed/QueryLevelNorm", "ohsumed/Feature-null"):
        for part in range(5):
            write_part(tmp_path / folder / f"S{part + 1}.txt.gz", 1 + 3 * part, 3, 2)
    write_part(tmp_path / "mslr-web10k-sample" / "sample.txt.gz", 1, 12, 4)
    out = tmp_path / "results"

    def printed(*options: str) -> str:
        command = [sys.executable, str(BENCHMARKS / "bench_papers.py"), "--table", "all", "--quick"]
        command += ["--threads", "1", "--data", str(tmp_path), "--out", str(out), *options]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-3000:]
        return run.stdout

    first = printed()
    names = {path.name for path in out.glob("papers-*.quick.md")}
    assert len(names) == 25
    assert all(": not measured." not in (out / name).read_text() for name in names)
    cells = (out / "papers-cells.quick.jsonl").read_bytes()
    again = printed("--minutes", "0")
    assert (out / "papers-cells.quick.jsonl").read_bytes() == cells
    table = first[first.index("MQ2008, preset letor4: as in the paper") :].split("\n\n")[0]
    assert table in again


def test_a_cell_is_measured_again_only_where_a_default_has_changed(tmp_path, monkeypatch):
    def kept(value):
        found = cells.Cells(tmp_path / "cells.jsonl", n_runs=1, threads=1, minutes=None)
        start = cells.Method("forest", "rf", {"n_estimators": 2})
        method = cells.Method("both", "igbrt", {"n_estimators": 3}, start=start)
        return found.kept(["data", *method.key, "fold=1"], lambda: value)

    defaults = cells.effective_defaults
    assert [kept("first"), kept("second")] == ["first", "first"]
    monkeypatch.setattr(cells, "effective_defaults", lambda ranker: {**defaults(ranker), "new": 1})
    assert kept("third") == "first"  # what a new parameter does by default was done before
    changed = {"rf": {"min_samples_leaf": 9}}
    monkeypatch.setattr(
        cells, "effective_defaults", lambda ranker: {**defaults(ranker), **changed.get(ranker, {})}
    )
    assert kept("fourth") == "fourth"


def test_every_figure_of_a_paper_belongs_to_a_row():
    settings = rows.Settings()
    for figures, systems in (
        (published.ALGORITHMS, rows.all_algorithms(settings, None)),
        (published.IGBRT, rows.igbrt(settings)),
        (published.BROOF, rows.broof(settings)),
        (published.PLRANK_MICROSOFT, rows.plrank(settings)),
    ):
        assert set(figures) <= {system.label for system in systems}
    others = set(published.PLRANK_YAHOO) - {system.label for system in rows.plrank(settings)}
    assert others == {"PLRank(obj=9)", "PLRank(obj=15)"}  # a study of their own has them


def test_rows_say_what_differs_from_the_paper_but_not_where_it_was_given():
    settings = rows.Settings()
    by_label = {system.label: system.describe() for system in rows.forests(settings)}
    assert "max_depth=17, " in by_label["rf-list"]
    assert "differs: section 5.1" in by_label["rf-list"]
    assert "differs" not in by_label["rf-list, grown to the end"]
    igbrt = {system.label: system.describe() for system in rows.igbrt(settings)}
    assert "the paper chooses learning_rate on validation data from 0.1," in igbrt["GBRT (R)"]
    assert "differs" not in rows.rcrank("rcrank", 8, 0.11, shift=1).describe()
    assert "labels to start at 1" in rows.rcrank("rcrank", 8, 0.11).describe()


@pytest.mark.parametrize("leaves", [[0.0, 0.0], [12.0, 0.0]])
def test_only_forests_have_leaves_per_tree(leaves, tmp_path, monkeypatch):
    found = Cells(tmp_path / "cells.jsonl", n_runs=1, threads=1, minutes=0)
    methods = {name: cells.Method(name, name, {}) for name in ("rf-point", "mart")}
    monkeypatch.setattr(Cells, "measure", lambda *_: None)
    runs = {name: np.array([[[0.5, n, 0.1]] * 5]) for name, n in zip(methods, leaves, strict=True)}
    monkeypatch.setattr(Cells, "runs", lambda _, collection, method, measures: runs[method.label])
    tables = []

    class Report:
        def table(self, columns, lines, caption):
            tables.append((columns, lines))

    points(Report(), found, next(iter(COLLECTIONS)), methods, caption="", measures=("rmse",))
    ((columns, lines),) = tables
    assert ("leaves per tree" in columns) == any(leaves)
    if any(leaves):
        place = columns.index("leaves per tree")
        assert [line[place] for line in lines] == ["12", ""]


def test_the_page_lists_every_table_under_its_paper(repository):
    page = (repository / "docs" / "how-to" / "reproducing-papers.md").read_text()
    lines = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    listed = {cell[1].strip(" `"): cell[2] for cell in lines}
    for name in (*bench_papers.MEASURED, *bench_papers.OTHERS):
        papers = [paper for paper, names in bench_papers.PAPERS.items() if name in names]
        expected = ", ".join(f"`{paper}`" for paper in papers) or "all"
        assert listed[name].strip() == expected, name


def test_again_takes_the_options_of_the_result_file(tmp_path, monkeypatch):
    parser = bench_papers._parser()
    words = ["--table", "desa-2016", "--again", "--out", str(tmp_path), "--minutes", "0"]
    arguments = bench_papers._parsed(parser, words)
    command = "--threads 1 --minutes 9 --table broof --share 0.3 --runs 2 --only 'WEB10K sample'"
    head = f"# papers-broof\n\n`python benchmarks/bench_papers.py {command}`\n"
    (tmp_path / "papers-broof.md").write_text(head)
    words, options = bench_papers._as_measured(parser, "broof", arguments)
    assert "--minutes" not in words
    assert (options.share, options.runs, options.only) == (0.3, 2, ["WEB10K sample"])
    assert (options.minutes, options.out) == (0, tmp_path)
    with pytest.raises(SystemExit):
        bench_papers._as_measured(parser, "broof-figures", arguments)


def test_results_are_shown_without_data(tmp_path, monkeypatch, capsys):
    for name in bench_papers.PAPERS["modry-2016"]:
        (tmp_path / f"papers-{name}.md").write_text(f"# what {name} found\n")
    words = ["--table", "modry-2016", "--show", "--out", str(tmp_path), "--data", "nowhere"]
    monkeypatch.setattr(sys, "argv", ["bench_papers.py", *words])
    bench_papers.main()
    assert [line for line in capsys.readouterr().out.splitlines() if line] == [
        f"# what {name} found" for name in bench_papers.PAPERS["modry-2016"]
    ]


def test_a_table_with_gaps_replaces_no_result(tmp_path, monkeypatch, capsys):
    def table(report, cells, settings):
        """A table."""
        cells.kept(["a cell"], lambda: 1)
        report.table(["x"], [["y"]])

    monkeypatch.setitem(bench_papers.MEASURED, "forests", table)
    path = tmp_path / "papers-forests.md"
    for before, minutes, replaced in (("whole", "0", False), ("", "0", True), ("old", "9", True)):
        path.unlink(missing_ok=True)
        if before:
            path.write_text(before)
        words = ["--table", "forests", "--out", str(tmp_path), "--minutes", minutes]
        monkeypatch.setattr(sys, "argv", ["bench_papers.py", *words])
        bench_papers.main()
        assert (path.read_text() != before) == replaced
    assert "forests: not all is measured" in capsys.readouterr().out


def test_nothing_is_written_where_nothing_was_measured(tmp_path, monkeypatch, capsys):
    words = ["--table", "rcrank", "--out", str(tmp_path / "out"), "--data", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["bench_papers.py", *words, "--minutes", "0"])
    bench_papers.main()
    assert "rcrank: nothing measured" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
