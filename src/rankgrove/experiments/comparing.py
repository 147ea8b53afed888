"""``rankgrove.compare``: from data and rankers to a comparison, in one call."""

from __future__ import annotations

import os
from typing import Any

from rankgrove.data.core.dataset import concatenate
from rankgrove.data.reading.folds import Fold
from rankgrove.data.reading.loading import is_folder
from rankgrove.experiments.cells import fit_cell
from rankgrove.experiments.comparison import Comparison
from rankgrove.experiments.progress import NoProgress, StudyProgress
from rankgrove.experiments.results import Significance
from rankgrove.experiments.running import Run, run_study
from rankgrove.experiments.sources import StudyData
from rankgrove.experiments.store import Store
from rankgrove.experiments.study import Cell, Study, make_study
from rankgrove.experiments.study_options import DEFAULT_METRICS, NAMES
from rankgrove.experiments.views import viewed


def compare(
    data: Any,
    rankers: Any,
    *,
    metrics: Any = DEFAULT_METRICS,
    preset: str | None = None,
    folds: int | None = None,
    max_folds: int | None = None,
    repeats: int = 1,
    baseline: str | None = None,
    seed: int = 0,
    early_stopping_rounds: int | None = None,
    label_shift: int = 0,
    train_share: float | None = None,
    best_features: int | None = None,
    feature_order: str = "lambdamart",
    blend: bool = False,
    naive_twin: bool = False,
    fold_order: str | None = None,
    significance_test: str = "randomisation",
    alpha: float = 0.05,
    out: str | os.PathLike[str] | None = None,
    workers: int = 1,
    backend: str = "loky",
    n_jobs: int | None = None,
    memory_limit: int | None = None,
    verbose: bool = False,
    **load_options: Any,
) -> Comparison:
    """Train rankers on the same folds, evaluate them alike, and test their differences.

    Parameters
    ----------
    data : a file, a folder of folds (as of ``load_folds``), a Dataset, a data frame, or a list of
        Folds; also a list of such, or a dict that names them
    rankers : texts such as ``"lambdamart"``, ``"rf-hybrid:listwise_levels=4"``,
        ``"rcrank:max_depth=3..6,learning_rate=0.1|0.2"`` (a grid: each fold takes the setting with
        the best first metric on its validation part), ``"lightgbm:lambdarank"``,
        ``"model:old.rg"`` (a model file), ``"scores:run.txt"``, ``"scores:column=bm25"`` (a feature
        or another column of the data, higher is better); rankers as objects; or a dict that
        names them
    metrics : what is measured; the first one cuts models and chooses settings on validation data
    preset : conventions of another tool, for metrics given by name
    folds : into which a single file or Dataset is divided by query; None: 5
    max_folds : use only the first folds
    repeats : fits with different seeds; values of a query are averaged over them
    baseline : label of the ranker that the others are marked against
    seed : of the division into folds, and of the first repeat of every ranker
    early_stopping_rounds : for rankers that learn in steps
    label_shift : added to all labels
    train_share : learn from so much of the training queries, the same ones for every ranker
    best_features : number of features to keep: those with the most splits in models of the training
        part
    feature_order : the models that count: ``"lambdamart"``, one of 50 trees, or ``"study"``, all
        models of the study, which are fitted to all training queries and features before
    naive_twin : whether to add, beside each ranker with a ``position_bias``, the same one without;
        the table says whether their difference is real
    blend : whether to add a ``Blend`` of all rankers, whose weights come from validation data
    fold_order : ``"random"``, or ``"sorted"``: folds of a single file hold neighbouring query ids;
        None: random
    significance_test, alpha : of differences: ``"randomisation"``, ``"t"`` or ``"wilcoxon"``, and
        what p-value (corrected by Holm) makes a difference real
    out : folder of results: finished fits stay in it, and the same call goes on where it was
    workers, backend : fits at a time, and joblib's way to run them (``loky``, ``dask``, ``ray``)
    n_jobs : threads of each fit
    memory_limit : bytes for all running fits together; one that wants more fails
    verbose : whether to show progress bars
    load_options : how to read files, as of ``load``
    """
    given = locals()
    options = {name: value for name, value in given.items() if name in NAMES}
    study = make_study(data, rankers, **options, **load_options)
    run = Run(workers=workers, backend=backend, n_jobs=n_jobs, memory_limit=memory_limit)
    significance = Significance(significance_test, alpha)
    with Store(out) as store:
        return compare_study(study, store, run, significance, verbose=verbose)


def compare_study(
    study: Study,
    store: Store,
    run: Run,
    significance: Significance | None = None,
    *,
    verbose: bool = False,
) -> Comparison:
    """Run a study to its end and read the comparison from its store."""
    if verbose:
        with StudyProgress() as progress:
            run_study(study, store, run, progress)
    else:
        run_study(study, store, run, NoProgress())
    return Comparison.from_store(store, significance)


def fit_best(study: Study, comparison: Comparison, n_jobs: int | None = None) -> Any:
    """Train the ranker and setting with the best validation value, to be saved.

    It learns from the training part of the first data set's first fold and keeps the trees up to
    the best value on the validation part. With several folds it learns from the test part, too.
    """
    source = study.sources[0]
    label, params = comparison.best(source.name)
    fold = next(source.folds())
    parts = fold.parts
    if len(comparison.folds(source.name)) > 1:
        parts = Fold(concatenate([parts.train, parts.test]), parts.validation, parts.test)
    for cell in study.cells(fold):
        if cell.spec.label == label and cell.all_params == params:
            seen = viewed(parts, cell.view, n_jobs=n_jobs)
            fitted = fit_cell(cell, seen, n_jobs)
            if fitted.ranker is None:
                raise ValueError(
                    f"the best is {label}, which rankgrove cannot save: to save the best of the "
                    "others, leave it out (finished fits of the others are kept)"
                )
            if cell.spec.trained:
                fitted.ranker.provenance_ = _provenance(source, seen, cell, fitted.validation)
            return fitted.ranker
    raise ValueError(f"{label} is not part of the study")


def _provenance(
    source: StudyData, parts: Fold, cell: Cell, validation: float | None
) -> dict[str, Any]:
    """Return the record of the training of the best ranker."""
    from rankgrove.rankers.base.provenance import make_provenance

    origin = source.origin
    is_file = isinstance(origin, str | os.PathLike) and not is_folder(origin)
    files = [origin] if is_file else []  # of a folder of folds, the data alone are described
    value = {} if validation is None else {str(cell.metrics[0]): validation}
    return make_provenance(data=parts.train, files=files, metrics={"validation": value})
