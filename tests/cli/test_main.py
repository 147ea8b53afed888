"""The frame of the command line: help, versions, exit codes, errors."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

import rankgrove as package
from rankgrove.cli.main import VERBS, main


def test_version(rankgrove):
    run = rankgrove("--version")
    assert (run.returncode, run.stdout) == (0, f"rankgrove {package.__version__}\n")


def test_help_lists_every_verb_with_examples_and_exit_codes(rankgrove):
    run = rankgrove("--help")
    assert run.returncode == 0
    assert all(f"  {verb} " in run.stdout for verb in VERBS)
    assert "examples:" in run.stdout
    assert "exit codes:" in run.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_examples(rankgrove, verb):
    run = rankgrove(verb, "--help")
    assert run.returncode == 0, run.stderr
    assert f"examples:\n  rankgrove {verb}" in run.stdout
    assert "--debug" in run.stdout


def test_help_is_plain_text_when_piped_and_coloured_on_a_terminal(monkeypatch, capsys):
    from rankgrove.cli.help import HelpParser

    parser = HelpParser(prog="x")
    parser.print_help()
    assert "\033[" not in capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    parser.print_help()
    assert "\033[32m--help" in capsys.readouterr().out


def test_ctrl_c_while_a_verb_is_found_exits_with_130(monkeypatch, capsys):
    from rankgrove.cli import main as module

    def interrupted(verb):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "verb_parser", interrupted)
    assert module.main(["info", "x"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_no_verb_is_a_usage_error(rankgrove):
    run = rankgrove()
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.startswith("usage: rankgrove")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["infos"], "unknown verb 'infos': did you mean 'info'?"),
        (["xyz"], "unknown verb 'xyz': choose from info, convert"),
        (["info"], "the following arguments are required: DATA"),
        (["info", "a", "--nonsense"], "unrecognized arguments: --nonsense"),
        (
            ["train", "rf-point", "a", "--out", "b", "--learning-rate", "0.1"],
            "unknown option --learning-rate: `rankgrove train rf-point --help` lists",
        ),
        (["evaluate", "s", "d", "--metric", "ncdg@10"], "ncdg"),
        (["evaluate", "s", "d", "--metric", "ndcg@10,map"], "or separated by blanks"),
        (["train", ".", "mart"], "'.' is a file, but RANKER comes first"),
    ],
)
def test_wrong_usage_exits_with_2(rankgrove, arguments, message):
    run = rankgrove(*arguments)
    assert run.returncode == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_wrong_usage_shows_what_must_be_given_and_no_list_of_options(rankgrove):
    shown, *said = rankgrove("evaluate", "scores.txt").stderr.splitlines()
    assert shown == "usage: rankgrove evaluate SCORES DATA [DATA ...] [options]"
    assert said == ["rankgrove evaluate: error: the following arguments are required: DATA"]


def test_failure_exits_with_1_and_one_line(rankgrove):
    run = rankgrove("info", "absent.txt")
    assert run.returncode == 1
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("rankgrove info: ")
    assert "absent.txt" in run.stderr


def test_debug_shows_the_traceback(rankgrove):
    run = rankgrove("info", "absent.txt", "--debug")
    assert run.returncode == 1
    assert "Traceback" in run.stderr


def test_bad_data_names_file_and_line(rankgrove, tmp_path):
    (tmp_path / "bad.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:zero\n")
    run = rankgrove("info", "bad.txt")
    assert run.returncode == 1
    assert "bad.txt" in run.stderr
    assert "line 2" in run.stderr or ":2" in run.stderr
    assert "zero" in run.stderr
    assert "Traceback" not in run.stderr


def test_unexpected_error_names_its_kind(monkeypatch, capsys):
    from rankgrove.cli import info, main

    def fail(arguments):
        raise KeyError("surprise")

    monkeypatch.setattr(info, "run", fail)
    assert main.main(["info", "x"]) == main.FAILURE
    assert "KeyError: 'surprise' (--debug shows where)" in capsys.readouterr().err


@pytest.mark.process
def test_reader_of_a_pipe_may_go_away(data_file):
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "-m", "rankgrove", "info", str(data_file)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (run.returncode, run.stderr) == (-signal.SIGPIPE, "")  # 141 in a shell


WAITING_VERB = """
import sys, time
from rankgrove.cli import info, main
# Short sleeps: a signal just before the call does not end a sleep.
info.run = lambda arguments: (print("ready", flush=True), [time.sleep(0.1) for _ in range(600)])
sys.exit(main.main(["info", "x"]))
"""


@pytest.mark.process
def test_interrupt_exits_with_130():
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING_VERB],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "interrupted\n")


INTERRUPTED_IMPORT = """
import signal
import sys

class Finder:
    def find_spec(name, path, target=None):
        if name == "{name}":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""


@pytest.mark.parametrize("name", ["rankgrove.cli.main", "rankgrove.cli.train", "own"])
def test_ctrl_c_during_an_import_ends_the_process(rankgrove, tmp_path, monkeypatch, name):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED_IMPORT.format(name=name))
    (tmp_path / "own.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run = rankgrove("train", "mart", "x", "--out", "m.rg", "--import", "own")
    assert (run.returncode, run.stderr) == (-signal.SIGINT, "")


SWALLOWING = """
import signal
import rankgrove

@rankgrove.register_metric("swallowing", of="scores")
def swallowing(labels, scores):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise TypeError("something else") from None
"""


def test_ctrl_c_that_a_library_turns_into_another_error_exits_with_130(
    rankgrove, data_file, tmp_path
):
    (tmp_path / "swallows.py").write_text(SWALLOWING)
    words = ("--valid", data_file, "--metric", "swallowing", "--import", "swallows")
    run = rankgrove("train", "mart", data_file, "--out", "m.rg", *words)
    assert run.returncode == 130
    assert run.stderr.endswith("interrupted\n")
    assert "something else" not in run.stderr


IMPORTING = """
import time
import rankgrove

waited = []

@rankgrove.register_metric("importing", of="scores")
def importing(labels, scores):
    try:
        import broken_by_ctrl_c
    except KeyboardInterrupt:
        pass
    if not waited:
        waited.append(True)
        for _ in range(600):
            time.sleep(0.1)
    return 0.0
"""


def test_ctrl_c_during_an_import_of_a_verb_waits_for_its_end(rankgrove, data_file, tmp_path):
    (tmp_path / "imports.py").write_text(IMPORTING)
    (tmp_path / "broken_by_ctrl_c.py").write_text(
        "import signal\nsignal.raise_signal(signal.SIGINT)\nprint('imported', flush=True)\n"
    )
    words = ("--valid", data_file, "--metric", "importing", "--import", "imports")
    run = rankgrove("train", "mart", data_file, "--out", "m.rg", *words)
    assert run.returncode == 130
    assert run.stdout.startswith("imported")
    assert run.stderr.endswith("interrupted\n")


@pytest.mark.parametrize("code", ["0", "", "'enough'"])
def test_a_module_that_exits_is_a_failure(rankgrove, data_file, tmp_path, code):
    (tmp_path / "leaves.py").write_text(f"import sys\nsys.exit({code})\n")
    run = rankgrove("train", "mart", data_file, "--out", "m.rg", "--import", "leaves")
    assert run.returncode == 2
    assert f"--import leaves: it calls sys.exit({code})" in run.stderr


CALLBACK = """
import sys
import rankgrove

@rankgrove.register_metric("leaving", of="scores")
def leaving(labels, scores):
    sys.exit(0)
"""


def test_code_of_others_that_exits_in_the_middle_is_a_failure(rankgrove, data_file, tmp_path):
    (tmp_path / "leaves.py").write_text(CALLBACK)
    words = ("--valid", data_file, "--metric", "leaving", "--import", "leaves")
    run = rankgrove("train", "mart", data_file, "--out", "m.rg", *words)
    assert run.returncode == 1
    assert "sys.exit(0)" in run.stderr
    assert not (tmp_path / "m.rg").exists()


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("rankgrove.rankers", "train mart data.txt --out m.rg"),
        ("rankgrove.metrics", "train mart data.txt --out m.rg --test data.txt --metric leaves"),
        ("rankgrove.criteria", "train rf-point data.txt --out m.rg --criterion leaves"),
    ],
)
def test_a_plugin_that_exits_is_named(rankgrove, data_file, tmp_path, group, words):
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    package = tmp_path / "leaves-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: leaves\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(f"[{group}]\nleaves = leaves\n")
    run = rankgrove(*words.split())
    assert "the plugin leaves = leaves cannot be imported: it calls sys.exit(0)" in run.stderr
    assert (run.returncode == 0) == (tmp_path / "m.rg").exists()


@pytest.mark.parametrize(
    "words",
    [
        "info absent.txt",
        "predict absent.txt data.txt",
        "train mart data.txt --init-model absent.txt --out x.rg",
        "evaluate absent.txt data.txt",
        "compare --study absent.toml",
        "export absent.txt --to c --out x.c",
        "clicks absent.csv --out x.csv",
        "join absent.txt data.txt --out x.parquet",
    ],
)
def test_a_file_that_is_not_there_is_told_in_the_same_words(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text("1 qid:1 1:2 # a\n0 qid:1 1:3 # b\n")
    assert main(words.split()) == 1
    assert re.search(r": absent\.\w+: no such file$", capsys.readouterr().err.strip())
