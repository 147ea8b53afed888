"""Scores of a search engine beside the features that it logged for the same documents."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from rankgrove._addresses import file_path
from rankgrove.errors import DataError
from rankgrove.logs import ltr_plugin, solr, vespa
from rankgrove.logs.options import LogOptions
from rankgrove.logs.responses import list_responses


@dataclass(frozen=True)
class ScoredDocument:
    """A document of a response.

    Attributes
    ----------
    response : number of the response in the file
    document : id
    score : as the engine returned it
    features : logged values by name; None where the feature did not match
    """

    response: int
    document: str
    score: float
    features: Mapping[str, Any]


def read_engine_scores(
    path: str | os.PathLike[str], *, log_name: str | None = None
) -> list[ScoredDocument]:
    """Read scores and logged features of Elasticsearch, OpenSearch, Solr or Vespa.

    Parameters
    ----------
    path : a response, or several: see ``read_features``
    log_name : name of the log, where the response has several
    """
    options = LogOptions(log_name=log_name)
    found = []
    for number, (place, response, _) in enumerate(list_responses(file_path(path), options)):
        module, hits, field = _hits(response, place)
        documents = module.documents(response, options, place)
        for hit, (document, features) in zip(hits, documents, strict=True):
            score = hit.get(field)
            if isinstance(score, bool) or not isinstance(score, (int, float)):
                raise DataError(
                    f"{place}: the {field} of document {document!r} is {score!r:.60}, not a number"
                )
            if not features:
                raise DataError(
                    f"{place}: document {document!r} has no logged features, from which its score "
                    "could be computed again"
                )
            found.append(ScoredDocument(number, document, float(score), features))
    if not found:
        raise DataError(f"{path}: there are no documents in the response")
    return found


def _hits(response: Mapping[str, Any], place: str) -> tuple[ModuleType, list[Any], str]:
    """Return the reader of a response, its documents, and the name of the score."""
    if isinstance(response.get("hits"), dict):
        return ltr_plugin, response["hits"].get("hits") or [], "_score"
    if isinstance(response.get("response"), dict):
        return solr, response["response"].get("docs") or [], "score"
    if isinstance(response.get("root"), dict):
        return vespa, response["root"].get("children") or [], "relevance"
    raise DataError(
        f"{place}: this is no search response: it has neither hits, response.docs nor root.children"
    )
