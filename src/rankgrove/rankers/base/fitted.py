"""Methods of a fitted ranker, all of which use its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankgrove._html import html_table
from rankgrove.data.core.columns import Columns, refuse_other_reading
from rankgrove.data.core.dataset import Dataset
from rankgrove.data.core.queries import QueryGroups
from rankgrove.data.core.ranking_input import RankingInput
from rankgrove.data.input_checks import groups_of, ranking_input, row_values
from rankgrove.data.matrix.feature_matrix import FeatureMatrix
from rankgrove.data.scanning.scan import Scan, as_scan
from rankgrove.errors import DataError, ModelError, NoAttributeError
from rankgrove.models.model import Model
from rankgrove.models.scoring import scanned_scores, warn_of_rounded_values
from rankgrove.rankers.base.provenance import checked_provenance, make_provenance
from rankgrove.rankers.base.sklearn_interface import SklearnInterface
from rankgrove.rankers.base.wording import refuse_attribute, refuse_predict_options
from rankgrove.training.progress import History
from rankgrove.trees.scorer import Scorer

if TYPE_CHECKING:
    from rankgrove._svg import Drawing
    from rankgrove.explain.explanation import Explanation
    from rankgrove.formats.exporting import Export
    from rankgrove.metrics.metric import Metric

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]


class FittedRanker(SklearnInterface):
    """Scores, ranks, measures, saves and explains by ``model_``; subclasses learn it.

    Attributes
    ----------
    model_ : the model, which scores documents (see ``rankgrove.models``)
    evals_result_ : ``{set name: {metric name: [value after each step]}}``
    best_iteration_ : steps kept because of the validation metric, None without validation
    best_score_ : value of the deciding metric after these steps, None without validation
    stopping_rule_ : name of the rule that chose these steps, None without validation
    provenance_ : when and from what the model was trained (``rankers.base.provenance``), None if it
        was not recorded
    """

    # Whether the logistic function of a score is a probability of relevance.
    scores_are_log_odds: ClassVar[bool] = False

    model_: Model
    evals_result_: History
    best_iteration_: int | None
    best_score_: float | None
    stopping_rule_: str | None
    provenance_: dict[str, Any] | None = None
    n_jobs: int | None

    if not TYPE_CHECKING:  # with __getattr__, a type checker would take every name for Any

        def __getattr__(self, name: str) -> Any:
            refuse_attribute(type(self).__name__, name)
            return object.__getattribute__(self, name)  # raises the error of this name once more

    def predict(
        self,
        X: Any,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        n_jobs: int | None = None,
        n_steps: int | None = None,
        **unknown: Any,
    ) -> Floats:
        """Score documents: the higher, the more relevant.

        Most models score a document by its own features and need no queries; models that score
        whole lists (``model_.needs_queries``) require them. Scores are comparable only
        among documents of the same query.

        Parameters
        ----------
        X : matrix, data frame or Dataset; columns are taken by name where names are known. If they
            do not fit into memory: what ``fit`` takes (paths, batches, a scan), without labels
        qid : one query id per row (a Dataset brings its own), where queries matter
        group_sizes : documents per query, instead of ``qid``
        n_jobs : threads; None: those of the ranker
        n_steps : score by the first steps of the fit alone (boosting iterations, trees of a
            forest), as ``staged_predict`` does; None: by all

        Returns
        -------
        float64 array, one score per row of X, in the order of X
        """
        refuse_predict_options(type(self).__name__, unknown)
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        X = as_scan(X)
        if isinstance(X, Scan):
            _refuse_with_scan("predict", qid=qid, group_sizes=group_sizes)
            return scanned_scores(self.fitted_model(), X, n_jobs, n_steps=n_steps).scores
        matrix, groups = self._asked(X, qid, group_sizes, "predict")
        return self.model_.scores_after(n_steps, matrix, groups, n_jobs)

    def staged_predict(
        self, X: Any, qid: Any = None, *, group_sizes: Any = None
    ) -> Iterator[Floats]:
        """Yield the scores after each step of the fit (trees of the init model included).

        With dropout (``drop_rate``), trees have their final weights in all of them.
        """
        matrix, groups = self._asked(X, qid, group_sizes, "staged_predict")
        return self.model_.stages(matrix, groups, n_jobs=self.n_jobs)

    @property
    def predict_proba(self) -> Callable[..., Floats]:
        """Return the probabilities of each document not to be relevant, and to be relevant.

        ``predict_proba(X, qid=None, *, group_sizes=None)`` takes what ``predict`` takes and returns
        a float64 array of shape (documents, 2), in the order of X. Only rankers that give
        probabilities have it, once they are fitted: those whose scores are log-odds (``ListCE``,
        ``QueryCrossEntropy``), ``Calibrated`` ones, and imported classifiers.
        """
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet: call fit first")
        if not (self.scores_are_log_odds or self.model_.tells_probabilities):
            raise NoAttributeError(
                f"the scores of {type(self).__name__} are no probabilities: fit "
                "Calibrated(ranker=...)"
            )
        return self._predict_proba

    def _predict_proba(self, X: Any, qid: Any = None, *, group_sizes: Any = None) -> Floats:
        matrix, groups = self._asked(X, qid, group_sizes, "predict_proba")
        relevant = self.probability_of(self.model_.scores(matrix, groups, self.n_jobs))
        return np.stack([1.0 - relevant, relevant], axis=1)

    def probability_of(self, scores: Floats) -> Floats:
        """Return the probability to be relevant of documents with these scores.

        ModelError if scores are no probabilities (see ``predict_proba``).
        """
        if not self.scores_are_log_odds:
            return self.fitted_model().probability_of(scores)
        from scipy.special import expit

        return np.asarray(expit(scores))

    def _asked(
        self, X: Any, qid: Any, group_sizes: Any, what: str
    ) -> tuple[FeatureMatrix, QueryGroups | None]:
        """Return documents with the model's columns, and their queries if given or needed."""
        model = self.fitted_model()
        if isinstance(as_scan(X), Scan):
            raise DataError(f"{what} takes data in memory: rankgrove.load reads them")
        matrix = model.columns.match(X, owner=type(self).__name__)
        refuse_other_reading(X, model.absent, what)
        if isinstance(X, Dataset):
            warn_of_rounded_values(model.uncertain(matrix), stacklevel=4)
        if qid is None and group_sizes is None and not model.needs_queries:
            return matrix, None
        return matrix, groups_of(X, qid, group_sizes, len(matrix), what)

    def _listed(
        self, X: Any, qid: Any, group_sizes: Any, what: str
    ) -> tuple[FeatureMatrix, QueryGroups]:
        """Return documents with the model's columns, and their queries, which are required."""
        matrix, groups = self._asked(X, qid, group_sizes, what)
        return matrix, groups_of(
            X, qid, group_sizes, len(matrix), what
        ) if groups is None else groups

    def rank(self, X: Any, qid: Any = None, *, group_sizes: Any = None) -> npt.NDArray[np.int64]:
        """Rank documents within their query: 1 is the best; equal scores keep their input order.

        Parameters
        ----------
        X : matrix, data frame or Dataset; columns are taken by name where names are known
        qid : one query id per row (a Dataset brings its own)
        group_sizes : documents per query, instead of ``qid``

        Returns
        -------
        int64 array, one rank per row of X, in the order of X
        """
        X = as_scan(X)
        if isinstance(X, Scan):
            _refuse_with_scan("rank", qid=qid, group_sizes=group_sizes)
            found = scanned_scores(self.fitted_model(), X, self.n_jobs, queries=True, what="rank")
            assert found.groups is not None
            return found.groups.ranks(found.scores)
        matrix, groups = self._listed(X, qid, group_sizes, "rank")
        return groups.ranks(self.model_.scores(matrix, groups, self.n_jobs))

    def score(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        sample_weight: None = None,
        metric: Any = "ndcg@10",
    ) -> float:
        """Return the mean NDCG@10 over queries (or another metric); queries are required.

        Inside scikit-learn's model selection, ``qid`` arrives through metadata routing:
        ``sklearn.set_config(enable_metadata_routing=True)``. Documents have no weights in a metric:
        ``sample_weight`` is there because scikit-learn's pipelines pass None.
        """
        if sample_weight is not None:
            raise ValueError(
                "score has no use for sample_weight: metrics weigh queries alike (in model "
                "selection, ranker.set_score_request(sample_weight=False) keeps weights for fit)"
            )
        from rankgrove.metrics.parsing import metric as as_metric

        measure = as_metric(metric)
        X = as_scan(X)
        if isinstance(X, Scan):
            _refuse_with_scan("score", y=y, qid=qid, group_sizes=group_sizes)
            found = scanned_scores(self.fitted_model(), X, self.n_jobs, labels=True, what="score")
            assert found.y is not None
            scores = self._measured(found.scores, measure)
            return measure(found.y, scores, groups=found.groups, n_jobs=self.n_jobs)
        if qid is None and group_sizes is None and not isinstance(X, Dataset):
            raise DataError(
                "score needs the queries: pass qid (one query id per row) or group_sizes, or a "
                "Dataset; scikit-learn's model selection passes qid on after "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        matrix, groups = self._listed(X, qid, group_sizes, "score")
        if isinstance(X, Dataset) and y is not None:
            raise DataError("score: a Dataset brings its labels and queries, give X alone")
        if y is None and not isinstance(X, Dataset):
            raise DataError("score needs the labels: pass y, or a Dataset")
        labels = row_values(X.y if isinstance(X, Dataset) else y, len(matrix), "y", "score")
        scores = self._measured(self.model_.scores(matrix, groups, self.n_jobs), measure)
        doc_ids = X.doc_ids if isinstance(X, Dataset) and measure.ranks_by_doc_id else None
        return measure(labels, scores, groups=groups, doc_ids=doc_ids, n_jobs=self.n_jobs)

    def _measured(self, scores: Floats, measure: Metric) -> Floats:
        """Return the scores, or the probabilities, as the metric takes them."""
        if not measure.of_probabilities:
            return scores
        probabilities = self.probability_of(scores)
        own, asked = getattr(self, "relevant_from", None), getattr(measure, "relevant_from", None)
        if own is not None and asked != own:
            raise ValueError(
                f"{measure.name} counts labels from {asked} on as relevant, and these "
                f"probabilities are those of labels from {own:g} on: ask for "
                f"{measure.name}(relevant_from={own:g})"
            )
        return probabilities

    def compile(self) -> Scorer:
        """Return one prepared scorer for serving, with the scores of ``predict``.

        Raises
        ------
        ModelError : the model is not one sum of trees on documents
        """
        return self.fitted_model().compile()

    def save(self, path: Any, *, note: str | None = None, card: Any = None) -> None:
        """Write the fitted ranker to a model file; read it back with ``rankgrove.load_model``.

        Parameters
        ----------
        path : the file
        note : a text for the model's provenance, which then also holds the date and the version.
            Without it, the same fit gives the same bytes
        card : file of a model card (Markdown) to write, too
        """
        from rankgrove._files import same_place
        from rankgrove.formats.container import save_model

        if card is not None and same_place(card, path):
            raise ValueError(
                f"card={str(card)!r} is the model file: give the card a file of its own"
            )
        if note is not None:
            self.provenance_ = {**make_provenance(), **(self.provenance_ or {}), "note": note}
        save_model(self, path)
        if card is not None:
            from rankgrove.formats.model_card import write_model_card

            write_model_card(self, card)

    def export(self, path: Any, to: str, **options: Any) -> Export:
        """Write the model for another library or a search engine.

        Parameters
        ----------
        path : the file
        to : the target: ``"lightgbm"``, ``"xgboost"``, ``"onnx"``, ``"c"``, ...
            (docs/how-to/exporting.md)
        options : ``missing``, ``feature_names``, ``known_features`` and ``with_request`` of
            ``formats.exporting.export_model``

        Raises
        ------
        ModelError : the target cannot carry this model; nothing was written
        """
        from rankgrove.formats.exporting import export_model

        ranges = (self.provenance_ or {}).get("ranges")
        return export_model(self.fitted_model(), path, to, ranges=ranges, **options)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf of every document in every tree, as its node number within the tree.

        Returns
        -------
        int32 array of shape (documents, trees)
        """
        model = self.fitted_model()
        matrix = model.columns.match(X, owner=type(self).__name__)
        refuse_other_reading(X, model.absent, "apply")
        return model.leaves(matrix, self.n_jobs)

    def explain(self, X: Any, qid: Any = None, *, group_sizes: Any = None) -> Explanation:
        """Compute what each feature adds to the score of each document (exact Shapley values).

        Parameters
        ----------
        X : matrix, data frame or Dataset; columns are taken by name where names are known
        qid : one query id per row (a Dataset brings its own), to explain lists
        group_sizes : documents per query, instead of ``qid``
        """
        from rankgrove.explain.explanation import explain

        return explain(self, X, qid, group_sizes=group_sizes)

    def _judged_data(self, X: Any, y: Any, qid: Any, group_sizes: Any, what: str) -> RankingInput:
        """Check labelled data in the columns of the model; ``what`` names the caller in errors."""
        model = self.fitted_model()
        return ranking_input(
            X,
            y,
            qid=qid,
            group_sizes=group_sizes,
            columns=model.columns,
            absent=model.absent,
            what=what,
        )

    def importances(
        self,
        kind: str = "gain",
        X: Any = None,
        y: Any = None,
        qid: Any = None,
        *,
        group_sizes: Any = None,
        metric: Any = "ndcg@10",
        n_repeats: int = 5,
        random_state: Any = 0,
    ) -> Floats:
        """Return the importance of each feature.

        Parameters
        ----------
        kind : ``"gain"`` (share of the total gain of splits), ``"split"`` (share of the number of
            splits) or ``"permutation"`` (mean loss of the metric when the column is shuffled)
        X, y, qid, group_sizes : data to permute; these and the others only for ``"permutation"``
        metric : the metric whose loss is measured
        n_repeats : shuffles per feature
        random_state : seed of the shuffles
        """
        model = self.fitted_model()
        if kind == "permutation":
            from rankgrove.explain.permutation import permutation_importances

            if X is None:
                raise ValueError(
                    "permutation importances need data: pass X, y and qid, or a Dataset"
                )
            data = self._judged_data(X, y, qid, group_sizes, "permutation importances")
            if n_repeats < 1:
                raise ValueError(f"n_repeats must be at least 1, not {n_repeats!r}")
            doc_ids = X.doc_ids if isinstance(X, Dataset) else None
            return permutation_importances(
                model, data, metric, n_repeats, random_state, self.n_jobs, doc_ids
            )
        if kind not in ("gain", "split"):
            raise ValueError(f"kind must be 'gain', 'split' or 'permutation', not {kind!r}")
        given = {"X": X, "y": y, "qid": qid, "group_sizes": group_sizes}
        unused = [name for name, value in given.items() if value is not None]
        settings = {"metric": (metric, "ndcg@10"), "n_repeats": (n_repeats, 5)}
        settings["random_state"] = (random_state, 0)
        unused += [name for name, (value, default) in settings.items() if value != default]
        if unused:
            raise ValueError(
                f"{unused[0]} has an effect with kind='permutation' alone, not {kind!r}"
            )
        total = model.importances(kind)
        return total / total.sum() if total.sum() > 0 else total

    def named_importances(self, kind: str = "gain", **options: Any) -> Any:
        """Return the ``importances`` with the names of the columns, the largest first.

        A pandas Series, or a dict if pandas is not installed. Columns without names are called
        f1, f2, ...; ``options`` are those of ``importances``.
        """
        values = self.importances(kind, **options)
        names = self.model_.columns.all_names
        ordered = {names[j]: float(values[j]) for j in np.argsort(-values, kind="stable")}
        try:
            import pandas
        except ImportError:
            return ordered
        return pandas.Series(ordered, name=kind, dtype=float)

    def plot_importances(
        self, kind: str = "gain", *, n_features: int = 20, title: str | None = None, **options: Any
    ) -> Drawing:
        """Draw the largest ``importances`` as bars; ``options`` are those of ``importances``."""
        from rankgrove.explain.pictures import bars

        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, not {n_features!r}")
        values = dict(self.named_importances(kind, **options))
        if title is None:
            title = f"{self.ranker_name}: importance by {kind}"
        return bars(title, list(values.items()), n_features)

    def plot_history(self, metric: str | None = None, title: str | None = None) -> Drawing:
        """Draw the learning curve: a metric of each evaluation set after each step of the fit.

        Parameters
        ----------
        metric : one that was recorded; None: the first one
        title : of the picture; None: the name of the ranker
        """
        from rankgrove._curves import draw_curves, history_curves, steps_title

        self.fitted_model()
        curves = history_curves(self, metric)
        return draw_curves(curves, self.ranker_name if title is None else title, steps_title(self))

    def _repr_html_(self) -> str:
        """Return the parameters and, after a fit, what was learnt, as a notebook shows them."""
        return super()._repr_html_() + (self._learnt_html() if self.__sklearn_is_fitted__() else "")

    def _learnt_html(self) -> str:
        rows = self.model_.described()
        if self.best_iteration_ is not None:
            rows.append(("steps kept", f"{self.best_iteration_} by {self.stopping_rule_!r}"))
        if self.best_score_ is not None:
            rows.append(("validation", f"{self.best_score_:.6f}"))
        return html_table("what was learnt", ("", ""), rows)

    @property
    def feature_importances_(self) -> Floats:
        """Share of each feature in the total gain of all splits (all 0 if nothing was split)."""
        try:
            return self.importances("gain")
        except ModelError as error:
            raise NoAttributeError(str(error)) from None

    @property
    def n_features_in_(self) -> int:
        """Number of features that the ranker was trained with."""
        return self._columns_in().count

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the features that the ranker was trained with, if they had names."""
        names = self._columns_in().names
        if names is None:
            raise AttributeError("the training data had no feature names")
        return np.asarray(names, dtype=object)

    def _columns_in(self) -> Columns:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.model_.columns

    @property
    def ranker_name(self) -> str:
        """The registered name of the ranker (its class name if it is not registered)."""
        from rankgrove.rankers.base.registry import name_of

        return name_of(type(self)) or type(self).__name__

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def clear_fitted(self) -> None:
        """Delete all fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def fitted_model(self) -> Model:
        """Return the model; raise NotFittedError if there is none."""
        if not self.__sklearn_is_fitted__():
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    def _get_fitted(self) -> tuple[dict[str, Any], Arrays]:
        """Return fitted attributes besides the model, as JSON values and as arrays."""
        values = {"evals_result": self.evals_result_, "best_iteration": self.best_iteration_}
        chosen = {"best_score": self.best_score_, "stopping_rule": self.stopping_rule_}
        if self.provenance_ is not None:
            values["provenance"] = self.provenance_
        return values | chosen, {}

    def _set_fitted(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        """Restore the state of ``_get_fitted`` after the model is set; all of it is validated."""
        self.evals_result_ = _checked_history(values.get("evals_result", {}))
        self.best_iteration_ = _checked_step(values.get("best_iteration"))
        self.best_score_ = _checked_value(values.get("best_score"))
        self.stopping_rule_ = _checked_rule(values.get("stopping_rule"))
        if values.get("provenance") is not None:
            self.provenance_ = checked_provenance(values["provenance"])

    def __getstate__(self) -> dict[str, Any]:
        """Pickle through the model file's container, with the parameters as they are."""
        if not self.__sklearn_is_fitted__():
            return dict(self.__dict__)
        from rankgrove.formats.container import to_bytes

        return {"params": self.get_params(deep=False), "model": to_bytes(self, named=False)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model" not in state:
            self.__dict__.update(state)
            return
        from rankgrove.formats.container import read_container
        from rankgrove.formats.ranker_state import set_learnt

        self.__dict__.update(state["params"])
        set_learnt(self, *read_container(state["model"], "pickled ranker"))


def _refuse_with_scan(what: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise DataError(f"{what}: data that are streamed bring their own {name}")


def _checked_history(value: Any) -> History:
    """Return the history of metrics from a model file, or refuse it."""
    if not isinstance(value, dict):
        raise ModelError("evals_result is not a table of metrics")
    history: History = {}
    for name, metrics in value.items():
        if not isinstance(metrics, dict):
            raise ModelError(f"evals_result of {name!r:.100} is not a table of metrics")
        for metric, numbers in metrics.items():
            if not isinstance(numbers, list) or not all(isinstance(x, float) for x in numbers):
                raise ModelError(f"evals_result of {metric!r:.100} is not a list of numbers")
            history.setdefault(name, {})[metric] = numbers
    return history


def _checked_step(value: Any) -> int | None:
    """Return a number of steps from a model file, or refuse it."""
    if value is not None and (type(value) is not int or value < 1):
        raise ModelError(f"best_iteration is {value!r:.100}")
    return value


def _checked_rule(value: Any) -> str | None:
    """Return the name of a stopping rule from a model file (old ones have none), or refuse it."""
    if value is not None and not isinstance(value, str):
        raise ModelError(f"stopping_rule is {value!r:.100}")
    return value


def _checked_value(value: Any) -> float | None:
    """Return the value of a metric from a model file (old ones have none), or refuse it."""
    if value is not None and not isinstance(value, float):
        raise ModelError(f"best_score is {value!r:.100}")
    return value
