"""Explanations of models: feature effects, comparisons of documents, partial dependence."""

from rankgrove.explain.comparison import DocumentComparison
from rankgrove.explain.effect import Effect
from rankgrove.explain.explanation import Explanation, explain, interactions
from rankgrove.explain.partial_dependence import PartialDependence, partial_dependence
from rankgrove.explain.query import QueryExplanation
from rankgrove.explain.shap_trees import shap_trees

__all__ = [
    "DocumentComparison",
    "Effect",
    "Explanation",
    "PartialDependence",
    "QueryExplanation",
    "explain",
    "interactions",
    "partial_dependence",
    "shap_trees",
]
