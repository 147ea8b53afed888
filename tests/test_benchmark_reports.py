"""Benchmarks tell machines apart and compare times of one machine only."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import bench_quality
from _report import Report, processor
from bench_boosting import by_machine, ratio_rows, thread_rows

NAMES = "model name\t: AMD EPYC\ncpu family\t: 25\nmodel\t\t: 1\n"


@pytest.mark.parametrize(
    ("flags", "vectors"),
    [
        ("sse4_2 avx2 fma", ", AVX2"),
        ("sse4_2 avx2 avx512f avx512_vbmi2", ", AVX-512"),
        ("sse4_2 avx2 avx512f", ", AVX-512 without VBMI2"),
        ("fpu", ""),
    ],
)
def test_a_processor_is_described_by_its_vector_instructions(flags, vectors):
    second = "\nprocessor\t: 1\nmodel name\t: another\nflags\t\t: none\n"
    described = processor(f"processor\t: 0\n{NAMES}flags\t\t: {flags}\n{second}")
    assert described == f"AMD EPYC, family 25, model 1{vectors}"


def test_a_system_without_cpuinfo_has_a_processor():
    assert processor("")


def run(contestant, training, machine, version="1.0.0", threads=2, date="2026-11-18"):
    size = {"share": "1", "rows": 1000, "trees": 10, "threads": threads}
    result = {"binning": 1.0, "training": training, "peak_mb": 10.0, "ndcg": 0.5, "date": date}
    return {"contestant": contestant, "machine": machine, "version": version, **size, **result}


def test_ratios_compare_rows_of_one_machine_and_version():
    results = [
        run("lightgbm-quantised", 50.0, "quick"),
        run("rankgrove-lambdamart", 10.0, "quick"),
        run("lightgbm-auto", 60.0, "slow"),  # quicker than the slow one of this machine
        run("rankgrove-lambdamart", 40.0, "slow"),
        run("lightgbm-quantised", 30.0, "slow", version="0.1.0"),
    ]
    found = {
        place: [row[5] for row in ratio_rows(runs)]
        for place, runs in by_machine(results, "slow", "1.0.0")
    }
    assert found == {
        "slow; rankgrove 1.0.0": ["1.50 x"],
        "quick; rankgrove 1.0.0": ["5.00 x"],
        "slow; rankgrove 0.1.0": [],
    }
    assert next(iter(found)) == "slow; rankgrove 1.0.0"  # what was measured now comes first


def test_threads_are_compared_where_both_numbers_were_measured():
    runs = [run("a", 9.0, "m", threads=1), run("a", 5.0, "m"), run("b", 1.0, "m", threads=1)]
    assert [row[-1] for row in thread_rows(runs)] == ["1.80 x"]


def test_remarks_of_a_result_file_are_kept(tmp_path, capsys):
    arguments = argparse.Namespace(threads=1, quick=False, no_write=False)
    for _ in range(2):
        report = Report("some", arguments)
        report.table(["a"], [[1]])
        report.write(tmp_path)
        path = tmp_path / "some.md"
        if "## Remarks" not in path.read_text():
            path.write_text(path.read_text() + "\n## Remarks\n\nIt is so.\n")
    assert path.read_text().endswith("| 1 |\n\n## Remarks\n\nIt is so.\n")
    assert path.read_text().count("Remarks") == 1


def test_an_empty_store_does_not_replace_a_result(monkeypatch, tmp_path, capsys):
    store = tmp_path / "bench-quality"
    options = ["--tables", "bagged", "--stored", "--store", str(store)]
    monkeypatch.setattr(sys, "argv", ["bench_quality.py", *options])
    monkeypatch.setattr(Report, "write", lambda report: pytest.fail("wrote a result"))
    with pytest.raises(SystemExit):
        bench_quality.main()
    assert f"--store {store} has no values" in capsys.readouterr().err
