"""Explain why documents are ranked as they are, and which features matter.

  MODEL                                    importances by gain and by number of splits
  MODEL DATA                               mean absolute SHAP values of these documents
  MODEL DATA --query-id Q                  features that raise the top documents of the query
  MODEL DATA --query-id Q --document A     SHAP values of one document
  MODEL DATA --query-id Q --document A --above B
                                           why A ranks above (or below) B
  MODEL DATA --permutation                 permutation importances: loss of the metric
  MODEL DATA --dependence F [G]            partial dependence on one feature, or on two
  MODEL DATA --interactions                SHAP interaction values: pairs of features

Effects are exact Shapley values (SHAP): they add up to the score. A document is given by its id, by
its rank (@3), or, if the data have no document ids, by its number within the query, from 1.
"""

from __future__ import annotations

import argparse
from typing import Any

from rankgrove._addresses import file_path
from rankgrove.cli.options import (
    add_column_options,
    add_json_option,
    add_metric_option,
    add_seed_option,
    add_threads_option,
)
from rankgrove.cli.paths import DataPaths, one_source, out_path

EXAMPLES = """\
  rankgrove explain model.rg
  rankgrove explain model.rg test.txt --query-id 7968
  rankgrove explain model.rg test.txt --query-id 7968 --document @1 --above @2 --out why.svg
  rankgrove explain model.rg test.txt --permutation --metric ndcg@10
  rankgrove explain model.rg test.txt --dependence bm25 --json
"""


_OF_PERMUTATION = {"metrics": ["ndcg@10"], "shuffles": 5, "seed": 0}
_TOP, _SHOWN = 3, 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("model", metavar="MODEL", help="the model file")
    parser.add_argument(
        "data",
        nargs="*",
        action=DataPaths,
        metavar="DATA",
        help="documents to explain: files, folders or patterns",
    )
    question = parser.add_argument_group("what to explain")
    question.add_argument("--query-id", metavar="Q", help="id of a query")
    question.add_argument("--document", metavar="A", help="a document of the query: id or @rank")
    question.add_argument("--above", metavar="B", help="another one, to compare the first with")
    question.add_argument("--permutation", action="store_true", help="permutation importances")
    question.add_argument(
        "--dependence",
        nargs="+",
        action="extend",
        metavar="FEATURE",
        help="one or two features",
    )
    question.add_argument("--interactions", action="store_true", help="pairs of features")
    details = parser.add_argument_group("details")
    add_metric_option(details, ["ndcg@10"])
    details.add_argument(
        "--shuffles",
        type=int,
        metavar="N",
        help="shuffles of each feature, for --permutation (default: 5)",
    )
    add_seed_option(details)
    parser.set_defaults(seed=None)  # it has no effect without --permutation
    details.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="documents at the top of a query's list, for --query-id alone (default: 3)",
    )
    details.add_argument(
        "--show",
        type=int,
        metavar="N",
        help="features or pairs in the table; 0: all (default: 20)",
    )
    details.add_argument(
        "--out", metavar="FILE", type=out_path, help="draw a picture: .svg or .html"
    )
    add_json_option(parser)
    add_threads_option(add_column_options(parser))


def run(arguments: argparse.Namespace) -> None:
    """Run the verb."""
    from rankgrove import load_model
    from rankgrove._svg import check_picture_name
    from rankgrove.cli.answers import Answer
    from rankgrove.cli.output import print_json, show

    _check(arguments)
    if arguments.out is not None:
        check_picture_name(arguments.out)
    ranker = load_model(arguments.model)
    if arguments.n_jobs is not None:
        ranker.set_params(n_jobs=arguments.n_jobs)
    answer: Answer = _answer(ranker, arguments)
    if arguments.out is not None:
        answer.picture().save(arguments.out)
    if arguments.json:
        print_json(answer.value)
    elif arguments.out is None:
        show(*answer.parts(arguments.show))


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    from rankgrove.cli.model_data import is_text

    questions = [
        name
        for name, asked in (
            ("--query-id", arguments.query_id is not None),
            ("--permutation", arguments.permutation),
            ("--dependence", arguments.dependence is not None),
            ("--interactions", arguments.interactions),
        )
        if asked
    ]
    if len(questions) > 1:
        raise ValueError(f"ask for one of {' and '.join(questions)} at a time")
    if questions and not arguments.data:
        raise ValueError(f"{questions[0]} needs a data file")
    if arguments.document is not None and arguments.query_id is None:
        raise ValueError("--document needs --query-id: which query's document is it?")
    files = [path for path in arguments.data if file_path(path).is_file()]
    if arguments.query not in (None, "comment") and any(is_text(f, arguments) for f in files):
        raise ValueError(
            f"--query names a column of a table: --query-id {arguments.query} chooses a query"
        )
    if arguments.above is not None and arguments.document is None:
        raise ValueError("--above needs --document: which document is to be compared?")
    for name, usual in _OF_PERMUTATION.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, usual)
        elif not arguments.permutation:
            raise ValueError(
                f"--{name.removesuffix('s') if name == 'metrics' else name} has no effect "
                "without --permutation"
            )
    if arguments.top is not None and (arguments.query_id is None or arguments.document is not None):
        raise ValueError("--top has no effect but with --query-id alone, without --document")
    if arguments.show is not None and arguments.dependence is not None:
        raise ValueError("--show has no effect with --dependence")
    arguments.top = _TOP if arguments.top is None else arguments.top
    arguments.show = _SHOWN if arguments.show is None else arguments.show
    if len(arguments.metrics) > 1:
        raise ValueError(f"--permutation takes one --metric, not {len(arguments.metrics)}")
    for name, least in (("show", 0), ("top", 1), ("shuffles", 1)):
        if getattr(arguments, name) < least:
            raise ValueError(f"--{name} must be at least {least}, not {getattr(arguments, name)}")


def _answer(ranker: Any, arguments: argparse.Namespace) -> Any:
    from rankgrove import load
    from rankgrove.cli import answers
    from rankgrove.cli.model_data import load_documents
    from rankgrove.cli.options import reading_options

    if not arguments.data:
        return answers.SplitImportances.of(ranker)
    if arguments.permutation:
        judged = load(one_source(arguments.data), like=ranker, **reading_options(arguments))
        return answers.PermutationImportances.of(
            ranker, judged, arguments.metrics[0], arguments.shuffles, arguments.seed
        )
    needs_queries = (
        arguments.query_id is not None
        or arguments.dependence is not None
        or ranker.model_.needs_queries
    )
    documents = load_documents(
        one_source(arguments.data), ranker, arguments, needs_queries=needs_queries
    )
    if arguments.dependence is not None:
        return answers.Dependence.of(ranker, documents, arguments.dependence)
    if arguments.interactions:
        return answers.Interactions.of(ranker, documents)
    if arguments.query_id is None:
        return answers.EffectImportances.of(ranker, documents)
    query = answers.select_query(documents, arguments.query_id)
    if arguments.document is None:
        return answers.TopOfList.of(ranker, query, arguments.query_id, arguments.top)
    if arguments.above is None:
        return answers.OneDocument.of(ranker, query, arguments.query_id, arguments.document)
    return answers.TwoDocuments.of(
        ranker, query, arguments.query_id, arguments.document, arguments.above
    )
