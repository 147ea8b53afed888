"""Why a model ranks as it does."""

from rankgrove.explain.comparison import Comparison
from rankgrove.explain.explanation import Effect, Explanation, explain, interactions
from rankgrove.explain.partial_dependence import PartialDependence, partial_dependence
from rankgrove.explain.query import QueryExplanation
from rankgrove.explain.shap_trees import shap_trees

__all__ = [
    "Comparison",
    "Effect",
    "Explanation",
    "PartialDependence",
    "QueryExplanation",
    "explain",
    "interactions",
    "partial_dependence",
    "shap_trees",
]
