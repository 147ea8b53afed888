"""Suggestions for names of parameters that are misspelt or belong to other libraries."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Names in LightGBM, XGBoost, CatBoost, scikit-learn and RankLib, by our parameter of that meaning.
_SYNONYMS = {
    "n_estimators": "num_iterations num_iteration num_boost_round num_round num_rounds num_trees "
    "iterations max_iter n_iter n_trees",
    "learning_rate": "eta shrinkage shrinkage_rate",
    "max_leaf_nodes": "num_leaves num_leaf max_leaves max_leaf leaves leaf",
    "max_depth": "depth",
    "min_samples_leaf": "min_data_in_leaf min_data min_child_samples min_data_per_leaf mls",
    "min_child_weight": "min_sum_hessian_in_leaf min_sum_hessian min_hessian",
    "min_gain": "min_split_gain min_gain_to_split min_split_loss min_impurity_decrease gamma",
    "l1": "lambda_l1 reg_alpha",
    "l2": "lambda_l2 lambda reg_lambda l2_regularization l2_leaf_reg",
    "temperature": "bagging_temperature",
    "sampling": "bootstrap_type data_sample_strategy sampling_unit",
    "drop_rate": "rate_drop",
    "random_strength": "score_noise",
    "subsample": "bagging_fraction bagging sub_row max_samples row_sample",
    "max_features_tree": "feature_fraction sub_feature colsample_bytree rsm",
    "max_features": "feature_fraction_bynode colsample_bynode colsample_bylevel",
    "max_bins": "max_bin border_count",
    "binning": "feature_border_type",
    "tree": "grow_policy",
    "interactions": "interaction_constraints interaction_cst",
    "max_onehot_categories": "max_cat_to_onehot one_hot_max_size",
    "max_split_categories": "max_cat_threshold",
    "category_smoothing": "cat_smooth",
    "category_l2": "cat_l2",
    "min_samples_category": "min_data_per_group",
    "position_bias_reg": "lambdarank_position_bias_regularization",
    "monotone": "monotone_constraints mc monotonic_cst",
    "gain": "label_gain ndcg_exp_gain",
    "truncation": "lambdarank_truncation_level lambdarank_num_pair_per_sample",
    "norm": "lambdarank_norm lambdamart_norm lambdarank_normalization",
    "sigma": "sigmoid",
    "max_step": "max_delta_step",
    "tolerance": "tol",
    "metric": "lambdarank_target mode",
    "n_permutations": "permutations num_estimations",
    "noise": "noise_power",
    "random_state": "seed random_seed bagging_seed feature_fraction_seed data_random_seed",
    "n_jobs": "num_threads num_thread nthread nthreads thread_count",
    "verbose": "verbosity silent",
}
PARAMETERS_ELSEWHERE = {name: ours for ours, names in _SYNONYMS.items() for name in names.split()}

# Losses and rankers of LightGBM, XGBoost, CatBoost, RankLib, TF-Ranking and allRank, by our ranker.
_LOSSES = {
    "lambdamart": "lambdarank lambda_rank rank:ndcg rank:map lightgbm lgbmranker xgboost xgbranker "
    "stochasticlambdamart",
    "xendcg": "rank_xendcg xe_ndcg xendcg_mart rank_xendcg_mart xe_ndcg_mart",
    "pairlogit": "pairwise rank:pairwise pairlogitpairwise ranknet pairwise_logistic_loss rankloss",
    "yetirank": "yetirankpairwise catboost catboostranker",
    "yetiloss": "yetirank:mode yetirankpairwise:mode",
    "groupquantile": "mae quantile regression_l1 l1 reg:absoluteerror reg:quantileerror",
    "querysoftmax": "listnet softmax_loss",
    "listmle": "list_mle_loss",
    "lambdaloss": "ndcgloss1 ndcgloss2 ndcgloss2pp ndcgloss2++ arp arp_loss arploss1 arploss2 "
    "ndcg-loss1 ndcg-loss2 ndcg-loss2++ arp-loss1 arp-loss2",
    "querycrossentropy": "crossentropy logloss binary binary:logistic reg:logistic",
    "mcrank": "multiclass multi:softmax multi:softprob",
    "mart": "rmse mse regression regression_l2 pointwisermse reg:squarederror",
    "rf": "randomforest random_forest random_forests randomforests",
}
OBJECTIVES_ELSEWHERE = {name: ours for ours, names in _LOSSES.items() for name in names.split()}


def meant_ranker(name: str, known: Iterable[str]) -> str | None:
    """Return our ranker for a loss of another library, or of a similar name.

    CatBoost writes parameters behind the name, as in ``YetiRank:mode=MRR``.
    """
    text = name.lower()
    for loss in (text, text.partition("=")[0], text.partition(":")[0]):
        if loss in OBJECTIVES_ELSEWHERE:
            return OBJECTIVES_ELSEWHERE[loss]
    near = difflib.get_close_matches(text.partition(":")[0], list(known), n=1)
    return near[0] if near else None


_FIT_OPTIONS = {
    "group": "group_sizes",
    "groups": "qid (one id per row) or group_sizes",
    "group_id": "qid",
    "query": "qid",
    "weight": "sample_weight",
    "weights": "sample_weight",
    "eval_group": "eval_set (whose entries bring their queries: a Dataset or (X, y, qid))",
    "eval_qid": "eval_set (whose entries bring their queries: a Dataset or (X, y, qid))",
    "eval_names": "eval_set (a dict names the sets: {'valid': data})",
    "validation_data": "eval_set",
    "valid_sets": "eval_set",
    "early_stopping": "early_stopping_rounds",
    "n_iter_no_change": "early_stopping_rounds",
    "xgb_model": "init_model",
    "init_score": "init_model (a fitted ranker to start from)",
    "metric": "eval_metric",
    "eval_at": "eval_metric (such as 'ndcg@5')",
    "label": "y, or rankgrove.load(X, label=..., query=...)",
    "labels": "y",
    "categorical": "rankgrove.load(frame, categorical=[...]), or columns of the type category",
    "categorical_feature": "rankgrove.load(frame, categorical=[...]), or columns of the type "
    "category",
    "cat_features": "rankgrove.load(frame, categorical=[...]), or columns of the type category",
}
_FIT_NAMES = (
    "qid",
    "group_sizes",
    "sample_weight",
    "position",
    "propensity",
    "eval_set",
    "eval_metric",
    "early_stopping_rounds",
    "stopping_rule",
    "init_model",
    "callbacks",
)

_STOPPING = "fit(..., eval_set=data, early_stopping_rounds=N) stops early"
_ENCODING = (
    "the data say which columns are categorical: frame.astype({'brand': 'category'}), or "
    "rankgrove.load(frame, categorical=['brand'])"
)
_RANKER_SAYS = (
    "choose the objective by class (LambdaMART, XENDCG, MART, ...); "
    "rankgrove.CustomMART(objective=function) takes your own"
)
_KINDS_OF_BOOSTING = (
    "tree= chooses how trees grow; drop_rate=0.1 is DART, sampling='goss' is GOSS, and "
    "RandomForest and RFPoint are forests"
)
_SUBSAMPLE = "each tree draws a sample anew; subsample is its size, and sampling what is drawn"
_NO_COUNTERPART = "rankgrove has no counterpart; leave it out"
_EVAL_WEIGHTS = "metrics of evaluation sets weigh queries alike; leave it out"
_PROCESSOR = "training uses the processor, with n_jobs threads and histograms of max_bins bins"

# Names of other libraries that are no parameter of any ranker -> what to do instead.
ADVICE = {
    "group": "it is an option of fit: fit(..., group_sizes=...)",
    "pred_contrib": "ranker.explain(X).values has what each feature adds to a score",
    "lambdarank_unbiased": "position_bias='unbiased', with fit(..., position=...)",
    "extra_trees": "rankgrove.ExtraTrees is a forest with random thresholds; random_strength adds "
    "noise to splits",
    "warm_start": "fit(..., init_model=ranker) goes on from a model",
    "init": "fit(..., init_model=ranker) goes on from a model",
    "eval_at": "fit(..., eval_metric='ndcg@5') says what is measured",
    "eval_names": "fit(..., eval_set={'valid': data}) names the sets",
    "early_stopping": _STOPPING,
    "early_stopping_round": _STOPPING,
    "n_iter_no_change": _STOPPING,
    "validation_fraction": _STOPPING,
    "od_wait": _STOPPING,
    "od_type": _STOPPING,
    "use_best_model": "a fit with eval_set keeps the best iteration",
    "class_weight": "fit(..., sample_weight=w) weighs documents",
    "scale_pos_weight": "fit(..., sample_weight=w) weighs documents",
    "importance_type": "ranker.importances('gain'), ('split') or ('permutation', data)",
    "preset": "Ranker.as_in_paper() takes the settings of the ranker's paper",
    "deterministic": "the same seed gives the same model for any number of threads",
    **dict.fromkeys(("objective", "loss_function"), _RANKER_SAYS),
    **dict.fromkeys(("boosting", "boosting_type", "booster"), _KINDS_OF_BOOSTING),
    **dict.fromkeys(
        ("categorical_feature", "categorical_features", "cat_features", "enable_categorical"),
        _ENCODING,
    ),
    **dict.fromkeys(("bagging_freq", "subsample_freq"), _SUBSAMPLE),
    **dict.fromkeys(("sample_weight_eval_set", "eval_sample_weight"), _EVAL_WEIGHTS),
    **dict.fromkeys(("device", "device_type", "task_type", "tree_method", "gpu_id"), _PROCESSOR),
    **dict.fromkeys(
        (
            "path_smooth",
            "linear_tree",
            "subsample_for_bin",
            "bin_construct_sample_cnt",
            "feature_pre_filter",
            "force_row_wise",
            "force_col_wise",
        ),
        _NO_COUNTERPART,
    ),
    **{name: f"it is an option of fit: fit(..., {name}=...)" for name in _FIT_NAMES},
}


def meant_parameter(name: str, known: Iterable[str]) -> str | None:
    """Return our parameter for the name in another library, or a similar name."""
    names = list(known)
    meant = PARAMETERS_ELSEWHERE.get(name)
    if meant in names:
        return meant
    if name in ADVICE or name in PARAMETERS_ELSEWHERE:
        return None
    near = difflib.get_close_matches(name, names, n=1)
    return near[0] if near else None


def refuse_parameters(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for the first name that is no parameter, with a suggestion."""
    names = set(known)
    for name in given:
        if name not in names:
            raise TypeError(f"{owner} has no parameter {name!r}{hint_on_parameter(name, names)}")


def hint_on_parameter(name: str, known: Iterable[str]) -> str:
    """Return what to do about an unknown parameter, to be put behind its name; perhaps empty."""
    meant = meant_parameter(name, known)
    if meant:
        return f": did you mean {meant!r}?"
    if name in ADVICE:
        return f": {ADVICE[name]}"
    if name in PARAMETERS_ELSEWHERE:
        return f", which other rankers call {PARAMETERS_ELSEWHERE[name]!r}"
    return ""


def refuse_fit_options(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for the first option of fit that is unknown, with a suggestion.

    Parameters
    ----------
    known : parameters of the ranker, which belong into its constructor
    """
    parameters = set(known)
    for name in given:
        if name in parameters:
            raise TypeError(f"{name} is a parameter of the ranker: {owner}({name}=...).fit(...)")
        meant = _FIT_OPTIONS.get(name)
        if meant is None and name not in ADVICE:
            near = difflib.get_close_matches(name, _FIT_NAMES, n=1)
            meant = near[0] if near else None
        if meant is None and name in PARAMETERS_ELSEWHERE:
            meant = f"{PARAMETERS_ELSEWHERE[name]}, a parameter of {owner}(...)"
        hint = f": did you mean {meant}?" if meant else f"; it knows {', '.join(_FIT_NAMES)}"
        if meant is None and name in ADVICE:
            hint = f": {ADVICE[name]}"
        raise TypeError(f"{owner}.fit has no option {name!r}{hint}")


# Attributes and methods of other libraries' models, and what is called here.
_ATTRIBUTES = {
    **dict.fromkeys(("booster_", "get_booster", "booster"), "model_"),
    **dict.fromkeys(("feature_name_", "feature_names_"), "feature_names_in_"),
    **dict.fromkeys(("n_features_", "num_features"), "n_features_in_"),
    **dict.fromkeys(("feature_importance", "get_feature_importance"), "importances(kind)"),
    **dict.fromkeys(("get_score", "get_fscore"), "named_importances()"),
    "plot_importance": "plot_importances()",
    "load_model": "rankgrove.load_model(path)",
    "save_model": "save(path)",
    "best_iteration": "best_iteration_",
    "best_score": "best_score_",
    "evals_result": "evals_result_",
    "get_best_iteration": "best_iteration_",
    "get_evals_result": "evals_result_",
    "shap_values": "explain(X).values",
}


def refuse_attribute(owner: str, name: str) -> None:
    """Raise AttributeError for what the models of another library have, with our name of it."""
    meant = _ATTRIBUTES.get(name)
    if meant is not None:
        raise AttributeError(f"{owner!r} object has no attribute {name!r}: use {meant}")


# Options of predict in other libraries, and what is called here.
_PREDICT_OPTIONS = {
    **dict.fromkeys(("num_iteration", "iteration_range", "ntree_end"), "predict(X, n_steps=...)"),
    **dict.fromkeys(("pred_contrib", "pred_contribs"), "explain(X).values"),
    **dict.fromkeys(("num_threads", "nthread", "thread_count"), "predict(X, n_jobs=...)"),
    "group": "predict(X, group_sizes=...)",
}


def refuse_predict_options(owner: str, given: Iterable[str]) -> None:
    """Raise TypeError for the first option of predict that is unknown, with a suggestion."""
    for name in given:
        meant = _PREDICT_OPTIONS.get(name)
        hint = f": use {meant}" if meant else "; it knows qid, group_sizes, n_jobs, n_steps"
        raise TypeError(f"{owner}.predict has no option {name!r}{hint}")
