"""Error messages of the command line name its options, not Python's arguments."""

from __future__ import annotations

import pytest

from rankgrove.cli.main import _parse, main
from rankgrove.cli.messages import in_options

TABLE = "search,rating,name,f\n1,2,x,3\n1,0,y,2\n2,1,z,1\n"


@pytest.fixture
def files(data_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "c.csv").write_text("clicked,q,p,f\n1,1,0.5,3\n0,1,0.2,2\n1,2,0.5,1\n")
    (tmp_path / "w.csv").write_text("label,qid,w,f\n1,1,1,3\n0,1,-2,2\n1,2,1,1\n")
    lines = [f"{i % 2} qid:{query} 1:{i}\n" for query in range(9) for i in range(4)]
    (tmp_path / "g.txt").write_text("".join(lines))
    (tmp_path / "s.csv").write_text("q,y,f\n1,1,1\n")
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04 and so on")
    (tmp_path / "table.txt").write_text(TABLE)
    (tmp_path / "comment.txt").write_text("1 1:2 # qid:7\n0 1:3 # qid:7\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train mart data.txt --out x.rg --n-jobs 0", "--n-jobs must be None or a whole number"),
        ("train mart data.txt --out x.rg --seed -3", "--seed must be None or a whole number"),
        ("train mart data.txt --out x.rg --subsample 3", "--subsample must be a number"),
        ("train mart data.txt --out x.rg --monotone 1,0", "--monotone has 2 entries"),
        (
            "train lambdamart data.txt --out x.rg --train-metric map --gain linear",
            "--gain has no effect with --train-metric map",
        ),
        (
            "train rf-point data.txt --valid data.txt --early-stopping-rounds 3 --out x.rg --quiet",
            "RFPoint has no use for --early-stopping-rounds",
        ),
        ("train mart t.csv --out x.rg", "name it with --label\n"),
        (
            "train mart t.csv --out x.rg --query search --label rating",
            "with --categorical name, or leave them out with --ignore name",
        ),
        (
            "train mart comment.txt --out x.rg",
            "(the comment names the query: --query comment reads it)",
        ),
        (
            "train mart table.txt --out x.rg --format letor",
            "(a table with a header line? --format csv reads it)",
        ),
        ("train mart data.txt data.txt --out x.rg", "--shared-queries merge takes"),
        ("train mart data.txt --out x.rg --metric map", "--metric has no effect without --valid"),
        (
            "train querysoftmax c.csv --label clicked --query q --propensity p --position-bias ips "
            "--gain exp --out x.rg",
            "--position-bias ips of QuerySoftMax divides the gains of clicks: use --gain linear",
        ),
        (
            "train lambdamart c.csv --label clicked --query q --propensity p --position-bias "
            "additive --out x.rg",
            "train: --position-bias additive of LambdaMART needs the position of each row, which "
            "--position gives",
        ),
        (
            "train blend g.txt --rankers mart;rf-point --stream --out x.rg",
            "read them with --no-stream, or give --valid",
        ),
        ("train bagged g.txt --stream --out x.rg", "read the data with --no-stream, or bag by"),
        ("train mart data.txt --stream --out x.rg", "--no-stream takes any order"),
        ("train lambdamart w.csv --weight w --out x.rg", "--weight"),
        ("train lambdamart x.xlsx --out x.rg", "x.xlsx is a spreadsheet, which is not read: save"),
        ("train mart s.csv --out x.rg --label y", "(such as 'qid', 'query_id', 'queryid') among"),
        ("info s.csv --query q --label y --columns a b", "columns has 2 names"),
        ("compare data.txt --ranker mart --folds 2", "not 2 (--folds)"),
        ("compare data.txt --ranker mart --backend dask", "say how many, as in --workers 2"),
        ("compare data.txt --ranker mart:n_estimators=0", "parameter n_estimators of mart"),
    ],
)
def test_the_message_names_the_option(files, words, message, capsys):
    assert main(words.split()) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "predict n.rg t.csv --categorical f",
            "'f' is in --categorical, but the model was trained",
        ),
        ("predict n.rg t.csv --categorical name", "in --categorical, but the model has no such"),
        ("predict n.rg s.parquet", "'f'; the model was trained with numbers there\n"),
        ("train mart data.txt --categorical f1 --stream --out x.rg", "(--categorical) cannot be"),
        ("join j.csv r.json --out x.parquet", "--feature-document names"),
        ("join j.csv f.csv --out x.parquet --disagreement error", ": --disagreement says which"),
        ("join k.csv f.csv --out x.parquet", "lower --min-matched, the least share, which is 0.5"),
        ("compare --study bad.toml", "did you mean 'fold_order'?"),
        ("compare --study worse.toml", "max_folds"),
    ],
)
def test_words_of_python_do_not_reach_the_command_line(files, tmp_path, words, message, capsys):
    import pandas as pd

    table = pd.read_csv("t.csv", dtype={"name": str})
    table.astype({"f": str}).to_parquet("s.parquet")
    (tmp_path / "j.csv").write_text("query,document,grade\nq,a,1\nq,a,2\n")
    (tmp_path / "k.csv").write_text("query,document,grade\nq,a,1\nq,b,2\nq,c,2\n")
    (tmp_path / "f.csv").write_text("query,document,x\nq,a,1\n")
    (tmp_path / "r.json").write_text(
        '{"query": "q", "response": {"responseHeader": {"params": {"q": "q"}}, '
        '"response": {"docs": [{"key": "a", "[features]": "x=1"}]}}}'
    )
    (tmp_path / "bad.toml").write_text("fold_orders = 3\n")
    (tmp_path / "worse.toml").write_text(
        'data = "data.txt"\nfolds = 3\nmax_folds = -1\n[[ranker]]\nuse = "mart"\n'
    )
    training = "train mart t.csv --label rating --query search --ignore name --quiet --out n.rg"
    assert main([*training.split(), "--n-estimators", "2", "--min-samples-leaf", "1"]) == 0
    capsys.readouterr()
    if "t.csv" in words or "s.parquet" in words:
        words += " --label rating --query search"
    assert main(words.split()) == 1
    said = capsys.readouterr().err
    assert message in said
    assert "like=" not in said
    assert "--fold-order" not in said
    assert "--max-folds" not in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("info wrong.txt", "wrong.txt: this is no text: --format parquet reads it"),
        ("evaluate small.rg data.txt", "small.rg is a model, not a file of scores: `rankgrove"),
        ("compare g.txt --ranker mart --out t.csv", "the results need a folder, and this is a fil"),
        ("compare g.txt --ranker mart --folds 300", "g.txt: 9 are too few queries for 300 folds"),
    ],
)
def test_a_file_in_the_wrong_place_is_named(files, tmp_path, words, message, capsys):
    import pandas as pd

    pd.read_csv("t.csv").to_parquet("wrong.parquet")
    (tmp_path / "wrong.parquet").rename("wrong.txt")
    training = "train mart g.txt --n-estimators 2 --quiet --out small.rg"
    assert main(training.split()) == 0
    capsys.readouterr()
    assert main(words.split()) == 1
    assert message in capsys.readouterr().err


def test_names_of_files_and_columns_stay_as_they_are():
    arguments = _parse(["train", "mart", "label=1.csv", "--out", "m.rg"])
    for text in (
        *("hive/label=1/none.csv: no such file", "label=1.csv: no such file"),
        "a folder/query=x y/p.csv, line 3: the column 'features=x' holds no numbers",
    ):
        assert in_options(text, arguments) == text
    said = in_options("take them with categorical=['features=x', 'b'] or ignore=", arguments)
    assert said == "take them with --categorical features=x b or --ignore"


def test_texts_of_metrics_and_rankers_stay_as_they_are():
    arguments = _parse(["train", "lambdamart", "d.txt", "--out", "m.rg"])
    for text in (
        *("the metric ndcg@10(gain=linear,ties=input)", "ndcg@10(ties=doc_id): label of row 0"),
        "cell lambdamart:gain=exp,sigma=2",
    ):
        assert in_options(text, arguments) == text
    said = in_options(
        "fit: use gain='linear' with sigma=2, ignore=['a', 'b'] or eval_set", arguments
    )
    assert said == "use --gain linear with --sigma 2, --ignore a b or --valid"


def test_evaluation_sets_are_options_only_where_the_verb_has_them():
    text = "fold 1, mart: eval_set 'valid': 3 of 9 values of 'shop' are not known"
    of_training = _parse(["train", "mart", "d.txt", "--out", "m.rg"])
    assert "mart: --valid: 3 of 9" in in_options(text, of_training)
    of_comparison = _parse(["compare", "d.txt", "--ranker", "mart"])
    assert "mart: validation data: 3 of 9" in in_options(text, of_comparison)


def test_join_names_the_option_of_queries(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "j.csv").write_text("query,document,grade\na,b,1\n")
    document = '{"_id": "b", "fields": {"_ltrlog": [{"log_entry1": [{"name": "f", "value": 1}]}]}}'
    (tmp_path / "r.jsonl").write_text(f'{{"hits": {{"hits": [{document}]}}}}\n' * 2)
    assert main(["join", "j.csv", "r.jsonl", "--out", "w.parquet"]) == 1
    said = capsys.readouterr().err
    assert "give the queries in order with --feature-queries, or write" in said
