"""Tables of the command line."""

import pytest

from rankgrove.cli.output import show, table

COLUMNS = ["ranker", *(f"ndcg@{k}" for k in range(1, 31))]
ROWS = [["a ranker with a long name", *(f"0.12{k:02} ab" for k in range(1, 31))]]


@pytest.mark.parametrize("width", [40, 80, 1000])
def test_a_table_never_loses_a_figure(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for terminal in (True, False):
        monkeypatch.setattr("sys.stdout.isatty", lambda terminal=terminal: terminal)
        show(table(COLUMNS, ROWS))
        printed = capsys.readouterr().out
        assert "…" not in printed
        for text in (*COLUMNS, *ROWS[0][1:], "ranker", "long", "name"):
            assert text in printed


def test_names_are_folded_on_a_narrow_terminal_alone(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "34")
    rows = [["a ranker with a long name", "0.1234 a"]]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    show(table(["ranker", "ndcg@10"], rows))
    printed = capsys.readouterr().out
    assert "a ranker with a long name" not in printed
    assert "0.1234 a" in printed
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    show(table(["ranker", "ndcg@10"], rows * 2))
    assert capsys.readouterr().out.count("a ranker with a long name") == 2


def test_a_row_may_end_early(capsys):
    show(table(["target", "changed", "lost"], [["lightgbm", "3"], ["c", "4", "0.5"]]))
    assert "lightgbm" in capsys.readouterr().out
