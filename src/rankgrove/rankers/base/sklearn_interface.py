"""scikit-learn's estimator interface, without importing scikit-learn.

Importing ``sklearn.base`` takes longer than training a small model. A ranker therefore implements
the interface itself, and imports scikit-learn only when scikit-learn asks: for its tags, for
metadata routing, and for its picture in a notebook. ``clone``, pipelines, ``GridSearchCV`` and
``check_estimator`` need no more.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from rankgrove.errors import DataError, DataWarning
from rankgrove.rankers.base.wording import hint_on_parameter

Self = TypeVar("Self", bound="SklearnInterface")


class SklearnInterface:
    """Parameters (those of ``__init__``), representation, tags and metadata routing of a ranker."""

    # Methods to which scikit-learn's metadata routing passes ``qid`` without being asked for. (Of
    # weights, a user must say that they are for ``fit`` and not for ``score``. The default cannot
    # be the latter: ``Pipeline.score`` raises an error then.)
    _routed: ClassVar[tuple[str, ...]] = ("fit", "predict", "score")
    _metadata_request: Any

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(_defaults(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``deep`` adds those of parameters that are estimators."""
        params: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
            params[name] = value
        return params

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters; ``outer__inner`` is a parameter of a parameter that is an estimator."""
        known = self._get_param_names()
        for key in params:
            if key.partition("__")[0] not in known:
                hint = hint_on_parameter(key, known)
                raise ValueError(
                    f"Invalid parameter {key!r} for estimator {self}{hint}"
                    f"{'' if hint.endswith('?') else '.'} Valid parameters are: {known}"
                )
        for key, value in params.items():
            if "__" not in key:
                setattr(self, key, value)
        for key, value in params.items():
            outer, _, inner = key.partition("__")
            if inner:
                getattr(self, outer).set_params(**{inner: value})
        return self

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        defaults = _defaults(type(self))
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if not _equal(value, defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    # What scikit-learn before 1.6 asks instead of the tags.
    _estimator_type = "regressor"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            # Scores are numbers: partial_dependence and others ask for a regressor.
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            input_tags=InputTags(allow_nan=True, sparse=True),
            regressor_tags=RegressorTags(poor_score=True),
        )

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn's metadata routing may pass to each method."""
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=self)
        for method in self._routed:
            for name in _options(getattr(type(self), method)):
                alias = True if name == "qid" else None
                getattr(requests, method).add_request(param=name, alias=alias)
        return requests

    def _get_default_requests(self) -> Any:
        """Return what the default scorer of scikit-learn before 1.8 asks for."""
        return self.get_metadata_routing()

    def set_fit_request(self: Self, **requests: Any) -> Self:
        """Choose which options scikit-learn's metadata routing passes to ``fit``."""
        return self._set_request("fit", requests)

    def set_predict_request(self: Self, **requests: Any) -> Self:
        """Choose which options scikit-learn's metadata routing passes to ``predict``."""
        return self._set_request("predict", requests)

    def set_score_request(self: Self, **requests: Any) -> Self:
        """Choose which options scikit-learn's metadata routing passes to ``score``."""
        return self._set_request("score", requests)

    def _set_request(self: Self, method: str, requests: Mapping[str, Any]) -> Self:
        import sklearn

        if not sklearn.get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                f"set_{method}_request needs metadata routing: switch it on with "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        known = _options(getattr(type(self), method))
        if unknown := sorted(requests.keys() - set(known)):
            raise TypeError(f"{method} has no option {unknown[0]!r}; it has {', '.join(known)}")
        if method == "score" and requests.get("sample_weight"):
            raise ValueError(
                "score has no use for sample_weight: metrics weigh queries alike; request it for "
                "fit, and decline it here (sample_weight=False)"
            )
        routing = self.get_metadata_routing()
        for name, alias in requests.items():
            getattr(routing, method).add_request(param=name, alias=alias)
        self._metadata_request = routing
        return self


def refuse_search_without_score() -> None:
    """Refuse a fit of scikit-learn's model selection after which ``score`` can only fail.

    Without metadata routing ``score`` gets no ``qid``. With it, a Pipeline either passes
    ``sample_weight`` to ``score``, too, or its own ``score`` fails: a pipeline cannot be told that
    weights of that name are for ``fit`` alone.

    Model selection turns an error of ``score`` into a warning and a NaN per split, and one of
    ``fit`` in every split into an error. So ``fit`` must refuse, and it can recognise that
    ``score`` will follow only by the stack frame of the calling function:

    - ``score`` is called after the fits, and its errors are the ones that become NaN;
    - hiding ``score`` while routing is off (as with ``available_if``) would take it from users who
      call it themselves, with ``qid``;
    - cloning and ``set_params`` happen outside of searches, too;
    - an error that is no ``Exception`` would pass, but stop worker processes without a message.

    If a release of scikit-learn renames the function, its warnings and NaN come back, and the test
    of a grid search without routing fails.
    """
    if "sklearn.model_selection" not in sys.modules:
        return
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        frame = frame.f_back
    if frame is None:
        return
    scorer = frame.f_locals.get("scorer")
    scorers = getattr(scorer, "_scorers", {"score": scorer})  # cross_val_score wraps one in a dict
    if all(type(one).__name__ != "_PassthroughScorer" for one in scorers.values()):
        return
    import sklearn

    if not sklearn.get_config()["enable_metadata_routing"]:
        raise DataError(
            "scikit-learn's model selection passes qid to fit but not to score: switch on "
            "sklearn.set_config(enable_metadata_routing=True), or give a function of (ranker, X, "
            "y) as scoring"
        )
    in_pipeline = hasattr(frame.f_locals.get("estimator"), "steps")
    if in_pipeline and "sample_weight" in (frame.f_locals.get("fit_params") or {}):
        raise DataError(
            "scikit-learn's pipelines cannot keep sample_weight from score: request the weights "
            "under another name, ranker.set_fit_request(sample_weight='fit_weight'), and pass "
            "fit_weight instead of sample_weight"
        )
    _warn_of_cut_queries(frame.f_locals)


def _warn_of_cut_queries(split: Mapping[str, Any]) -> None:
    """Warn if a split of model selection, by rows, has one query in both of its parts."""
    parts = [(split.get(f"score_params_{part}") or {}).get("qid") for part in ("train", "test")]
    if any(part is None for part in parts):
        return
    trained, tested = (set(np.asarray(part).tolist()) for part in parts)
    if trained & tested:
        warnings.warn(
            "scikit-learn's model selection splits the documents of a query between training and "
            "test part, so that scores are of parts of queries that the ranker has seen: pass "
            "cv=GroupKFold(5) and groups=qid",
            DataWarning,
            stacklevel=2,
        )


def _defaults(cls: type) -> Mapping[str, Any]:
    """Return the parameters of a class with their defaults."""
    return _defaults_of(cls.__init__)  # type: ignore[misc]


@cache
def _defaults_of(init: Callable[..., None]) -> Mapping[str, Any]:
    parameters = list(inspect.signature(init).parameters.values())[1:]
    return MappingProxyType({parameter.name: parameter.default for parameter in parameters})


def _options(method: Any) -> list[str]:
    """Return the parameters of a method besides the instance, X and y."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.name not in ("X", "y") and p.kind not in variable]


def _equal(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default) and bool(np.array_equal(value, default))
    )
