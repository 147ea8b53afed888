"""Presets: the metric conventions of trec_eval and other evaluation tools.

A preset sets the parameters that the tool fixes; parameters that are given win. What the tool does
not define keeps rankgrove's default, apart from the tool's rules on ties and empty queries.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgrove.metrics.metric import Metric


@dataclass(frozen=True)
class Preset:
    """The metric conventions of one tool.

    Attributes
    ----------
    tool : what it reproduces
    common : parameters of every metric that declares them
    families : parameters of one metric, by its name; these win over ``common``
    ignores_k : metrics that the tool computes over the whole list whatever the cut-off
    """

    tool: str
    common: dict[str, Any] = field(default_factory=dict)
    families: dict[str, dict[str, Any]] = field(default_factory=dict)
    ignores_k: tuple[str, ...] = ()


_LETOR_NDCG = {"discount": "letor", "short": "zero"}

PRESETS = {
    "letor3": Preset(
        "Eval-Score-3.0.pl of LETOR 3.0",
        {"ties": "input", "empty": 0, "gain": "exp", "discount": "letor", "relevant_from": 1},
        {"ndcg": _LETOR_NDCG, "p": {"short": "zero"}},
    ),
    "letor4": Preset(
        "Eval-Score-4.0.pl of LETOR 4.0",
        {"ties": "input", "empty": 0, "gain": "exp", "discount": "letor", "relevant_from": 1},
        {"ndcg": _LETOR_NDCG},
    ),
    "mslr": Preset(
        "eval-score-mslr.pl of MSLR-WEB10K and WEB30K",
        {"ties": "input", "empty": 0, "gain": "exp", "discount": "letor", "relevant_from": 2},
        {"ndcg": _LETOR_NDCG},
    ),
    "yahoo": Preset(
        "evaluate.py of the Yahoo! Learning to Rank Challenge",
        {"ties": "input", "gain": "exp", "discount": "log2", "max_grade": 4},
        {"ndcg": {"empty": 1}},
    ),
    "trec": Preset(
        "trec_eval, as pytrec_eval and ir_measures run it",
        {"ties": "doc_id", "empty": 0, "gain": "linear", "discount": "log2", "relevant_from": 1},
        {"err": {"gain": "exp"}},
    ),
    "gdeval": Preset(
        "gdeval.pl of the TREC Web track",
        # Topics without a relevant document are not counted; ir_measures gives them 0 afterwards.
        {"ties": "doc_id", "empty": "skip", "gain": "exp", "discount": "log2", "max_grade": 4},
    ),
    "lightgbm": Preset(
        "LightGBM's ndcg and map",
        {"ties": "input", "empty": 1, "gain": "exp", "discount": "log2", "relevant_from": ">0.5"},
        {"map": {"denominator": "k"}},
    ),
    "xgboost": Preset(
        "XGBoost's ndcg, map and pre",
        {"ties": "input", "empty": 1, "gain": "exp", "discount": "log2", "relevant_from": 1},
        {"map": {"denominator": "k"}, "p": {"empty": 0, "short": "cut"}},
    ),
    "xgboost-": Preset(
        "XGBoost's ndcg- and map-",
        {"ties": "input", "empty": 0, "gain": "exp", "discount": "log2", "relevant_from": 1},
        {"map": {"denominator": "k"}, "p": {"short": "cut"}},
    ),
    "catboost": Preset(
        "CatBoost's NDCG, DCG, MAP, MRR, ERR, PrecisionAt and RecallAt",
        {
            "ties": "worst",
            "empty": 0,
            "gain": "linear",
            "discount": "log2",
            "relevant_from": ">0.5",
        },
        {
            "ndcg": {"empty": 1},
            "map": {"denominator": "k"},
            "err": {"max_grade": 1},
            "p": {"short": "cut"},
            "recall": {"empty": 1},
        },
    ),
    "ranklib": Preset(
        "RankLib",
        {"ties": "input", "empty": 0, "gain": "exp", "discount": "log2", "relevant_from": ">0"},
        {"p": {"short": "cut"}, "err": {"max_grade": 4}},
        ignores_k=("map",),
    ),
    "sklearn": Preset(
        "scikit-learn's ndcg_score and dcg_score",
        {"ties": "average", "empty": 0, "gain": "linear", "discount": "log2"},
        {"err": {"gain": "exp"}},
    ),
}


def preset_params(preset: str, family: type[Metric], given: dict[str, Any]) -> dict[str, Any]:
    """Fill in parameters that were not given with those of a preset."""
    if preset not in PRESETS:
        near = difflib.get_close_matches(str(preset), PRESETS, n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}? There are" if near else "choose from"
        raise ValueError(f"unknown preset {preset!r}: {hint} {', '.join(PRESETS)}")
    declared = family.defaults()
    conventions = PRESETS[preset]
    common = {key: value for key, value in conventions.common.items() if key in declared}
    params = {**common, **conventions.families.get(family.name, {}), **given}
    if family.name in conventions.ignores_k:
        params.pop("k", None)
    return params
