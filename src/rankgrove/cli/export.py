"""Write a model for another library or a search engine.

--check compares the scores of the exported file with those of the model on your data: in the
target's arithmetic and, if it is installed, by the target's library. If the rank of a document
changes, the command fails and writes no file. If the file treats missing values as 0, it is also
compared with the model as trained. --check-response computes scores from the features that the live
engine logged, and compares them with the scores that it returned.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgrove._addresses import file_path, printable
from rankgrove._files import replacing, require_place
from rankgrove.cli.options import add_column_options, add_json_option, reading_options
from rankgrove.cli.output import print_json, show, table
from rankgrove.cli.paths import data_path, out_path, refuse_overwriting
from rankgrove.errors import ModelError, RankgroveError

if TYPE_CHECKING:
    from rankgrove.formats.export_check import Agreement
    from rankgrove.formats.exporting import Export

EXAMPLES = """\
  rankgrove export model.rg --to lightgbm --out model.txt --check test.txt
  rankgrove export model.rg --to opensearch --out model.json --with-request
  rankgrove export model.rg --to solr --out model.json --known-features features.txt
  rankgrove export model.rg --to opensearch --out model.json --check-response response.json
  rankgrove export model.rg --to c --out model.c"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    from rankgrove.formats.exporting import MISSING, TARGETS

    parser.add_argument("model", help="model file written by `rankgrove train`")
    parser.add_argument("--to", required=True, choices=tuple(TARGETS), help="target format")
    parser.add_argument("--out", required=True, metavar="FILE", type=out_path, help="file to write")
    parser.add_argument(
        "--missing",
        choices=MISSING,
        help="missing values: kept as in the model, or treated as 0 (default: kept if the target "
        "supports them; 0 for engines that read absent features as 0, if training saw no missing "
        "value)",
    )
    parser.add_argument(
        "--feature-names",
        metavar="FILE",
        help="names of the columns, one per line, instead of the model's own",
    )
    parser.add_argument(
        "--known-features",
        metavar="FILE",
        help="features that the target has, one per line: a model that uses others is refused",
    )
    parser.add_argument(
        "--with-request",
        action="store_true",
        help="also write the request bodies for uploading the model to the search engine",
    )
    parser.add_argument(
        "--check", metavar="DATA", type=data_path, help="compare the scores of these documents"
    )
    parser.add_argument(
        "--check-response",
        metavar="FILE",
        help="compare with the scores in a response of the live engine (with logged features)",
    )
    parser.add_argument(
        "--log-name",
        dest="feature_log_name",
        metavar="NAME",
        help="name of the feature log, if the LTR plugin wrote several",
    )
    parser.add_argument(
        "--allow-changed-ranks",
        type=int,
        metavar="N",
        help="number of ranks that may change in the check (default: 0)",
    )
    add_json_option(parser)
    add_column_options(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the file; with a check, put it in place only if the check passes."""
    from rankgrove import load_model

    named = (arguments.feature_names, arguments.known_features)
    response = arguments.check_response
    if arguments.feature_log_name is not None and response is None:
        raise ValueError("--log-name belongs to --check-response")
    _refuse_options_of_check(arguments)
    refuse_overwriting(arguments.out, arguments.model, arguments.check, response, *named)
    require_place(arguments.out)
    ranker = load_model(arguments.model)
    if arguments.check is None and response is None:
        _report(_export(ranker, arguments.out, arguments), [], arguments.json)
        return
    with tempfile.TemporaryDirectory() as folder:
        export = _export(ranker, os.path.join(folder, file_path(arguments.out).name), arguments)
        found = [] if arguments.check is None else _check(ranker, export, arguments)
        if response is not None:
            from rankgrove.formats.response_check import check_response

            log_name = arguments.feature_log_name
            found += check_response(ranker.model_, export, response, log_name=log_name)
        try:
            _refuse_differences(found, arguments)
        except RankgroveError:
            _report(export, found, arguments.json, written=False)
            raise
        export = _put_in_place(export, arguments.out)
    _report(export, found, arguments.json)


def _refuse_options_of_check(arguments: argparse.Namespace) -> None:
    """Refuse options that would have no effect without the documents of a check."""
    if arguments.check is not None:
        return
    for name in reading_options(arguments):
        raise ValueError(f"--{name.replace('_', '-')} belongs to --check")
    if arguments.allow_changed_ranks is not None and arguments.check_response is None:
        raise ValueError("--allow-changed-ranks belongs to --check and --check-response")


def _put_in_place(export: Export, out: str) -> Export:
    """Copy the files that were checked to where they belong."""
    place = file_path(out)
    places = [place, *(place.with_name(path.name) for path in export.requests)]
    for checked, path in zip([export.path, *export.requests], places, strict=True):
        with replacing(path) as stream:
            stream.write(checked.read_bytes())
    return replace(export, path=place, requests=tuple(places[1:]))


def _export(ranker: Any, path: str, arguments: argparse.Namespace) -> Export:
    export: Export = ranker.export(
        path,
        arguments.to,
        missing=arguments.missing,
        feature_names=_lines(arguments.feature_names),
        known_features=_lines(arguments.known_features),
        with_request=arguments.with_request,
    )
    return export


def _refuse_differences(found: list[Agreement], arguments: argparse.Namespace) -> None:
    """Raise if the check found more changed ranks, or other scores, than are allowed."""
    response = arguments.check_response
    changed = max((agreement.changed_ranks for agreement in found), default=0)
    if changed > (arguments.allow_changed_ranks or 0):
        worst = max(found, key=lambda agreement: agreement.changed_ranks)
        raise ModelError(
            f"{printable(arguments.out)} is not written: {changed} documents change their rank "
            f"against {worst.against}; --allow-changed-ranks {changed} accepts that"
        )
    if response is not None:
        from rankgrove.formats.response_check import refuse_other_scores

        refuse_other_scores(found, response)


def _lines(path: str | None) -> list[str] | None:
    if path is None:
        return None
    lines = file_path(path).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _check(ranker: Any, export: Export, arguments: argparse.Namespace) -> list[Agreement]:
    from rankgrove import load
    from rankgrove.cli.model_data import load_documents
    from rankgrove.errors import DataError
    from rankgrove.formats.export_check import check_export

    try:
        data = load(arguments.check, like=ranker, **reading_options(arguments))
        labels = data.y
    except DataError:  # scores can be compared without labels
        data = load_documents(arguments.check, ranker, arguments, needs_queries=True)
        labels = None
    model = ranker.model_
    matrix = model.columns.match(data).to_array("export --check")
    return check_export(model, export, matrix, data.groups, labels)


def _report(export: Export, found: list[Agreement], as_json: bool, *, written: bool = True) -> None:
    if as_json:
        print_json(
            {
                "file": str(export.path) if written else None,
                "target": export.target.name,
                "missing": export.missing,
                "missing_since": export.missing_since,
                "reason": export.reason,
                "shift": export.shift,
                "features": list(export.used),
                "requests": [str(path) for path in export.requests if written],
                "check": [vars(agreement) for agreement in found],
            }
        )
        return
    if written:
        show(f"wrote {export.path} for {export.target.name}")
    if export.missing == "zero":
        show(export.reason or "missing values are taken for 0")
    if export.shift:
        show(f"scores are {export.shift:.9g} higher than the model's, so that none is negative")
    if export.missing_since:
        show(
            f"missing values are kept, which needs {export.missing_since} or newer: older versions "
            "give 0 to a feature without a value"
        )
    for path in export.requests if written else ():
        show(f"wrote {path}")
    if found:
        columns = ["scored by", "against", "documents", "largest difference", "changed ranks"]
        judged = any(a.metric_lost is not None for a in found)
        rows = [
            (
                a.by,
                a.against,
                f"{a.rows:,}",
                f"{a.largest_difference:.3g}",
                f"{a.changed_ranks:,}",
                *([] if a.metric_lost is None else [f"{a.metric_lost:.4f}"]),
            )
            for a in found
        ]
        show(table([*columns, *(["NDCG@10 lost"] if judged else [])], rows))
