"""Clicks: click models, propensities of examination, off-policy estimates, interleaving."""

from rankgrove.clicks.click_log import ClickLog
from rankgrove.clicks.click_model import MODELS, ClickModelFit, fit_click_model
from rankgrove.clicks.estimates import Estimate, estimate_clicks, estimate_value
from rankgrove.clicks.interleaving import (
    Interleaved,
    Preference,
    analyse_interleaving,
    interleave,
    sessions_needed,
)
from rankgrove.clicks.propensities import (
    Propensities,
    given_propensities,
    propensities_of_random_lists,
    propensities_of_rank_changes,
)
from rankgrove.clicks.regression_em import propensities_by_regression
from rankgrove.clicks.trust_bias import TrustBias, estimate_trust_bias

__all__ = [
    "MODELS",
    "ClickLog",
    "ClickModelFit",
    "Estimate",
    "Interleaved",
    "Preference",
    "Propensities",
    "TrustBias",
    "analyse_interleaving",
    "estimate_clicks",
    "estimate_trust_bias",
    "estimate_value",
    "fit_click_model",
    "given_propensities",
    "interleave",
    "propensities_by_regression",
    "propensities_of_random_lists",
    "propensities_of_rank_changes",
    "sessions_needed",
]
