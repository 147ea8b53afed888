"""A study: rankers, data and metrics. The same study gives the same bits."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankgrove import __version__
from rankgrove._addresses import Address, FilePath, file_path, is_address
from rankgrove._build import build_digest
from rankgrove.data.reading.folds import FOLD_ORDERS
from rankgrove.experiments.peer_parameters import refuse_wrong_parameters
from rankgrove.experiments.peers import peer_version
from rankgrove.experiments.sources import (
    DEFAULT_FOLDS,
    RowsOf,
    StudyData,
    StudyFold,
    read_study_data,
)
from rankgrove.experiments.specs import (
    OF_THE_STUDY,
    PEER_LIBRARIES,
    SCORES,
    Spec,
    as_spec,
    blend_spec,
    read_specs,
    with_naive_twins,
)
from rankgrove.experiments.study_options import NAMES, split_options
from rankgrove.experiments.views import FEATURE_ORDERS, WHOLE, View, leading
from rankgrove.metrics.metric import Metric
from rankgrove.rankers.base.fit_key import code_digests
from rankgrove.rankers.base.parameter_encoding import encoded_param
from rankgrove.rankers.base.registry import ranker_class
from rankgrove.training.code_digest import is_users

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, eq=False)
class Study:
    """The rankers, data and options of one comparison.

    Attributes
    ----------
    sources : the data sets
    specs : the rankers
    metrics : what is measured; the first one decides on validation data
    repeats : fits of each setting on each fold, with the seeds ``seed``, ``seed + 1``, ...
    seed : of the rankers
    early_stopping_rounds : for rankers that learn in steps
    baseline : label of the ranker that others are marked against, None: none
    title : for reports
    feature_order : whose splits rank the features of views that keep some: of a ``"lambdamart"``
        model, or of all models that the ``"study"`` fits to the whole training part before
    feature_orders : by the fingerprint of a fold, once the models of the study are fitted
    """

    sources: Sequence[StudyData]
    specs: Sequence[Spec]
    metrics: Sequence[Metric]
    repeats: int = 1
    seed: int = 0
    early_stopping_rounds: int | None = None
    baseline: str | None = None
    title: str = "Comparison of rankers"
    feature_order: str = FEATURE_ORDERS[0]
    feature_orders: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.specs:
            raise ValueError("there is no ranker to compare: give at least one")
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, not {self.repeats}")
        labels = [spec.label for spec in self.specs]
        if self.baseline is not None and self.baseline not in labels:
            raise ValueError(f"the baseline {self.baseline!r} is none of {', '.join(labels)}")
        for spec in self.specs:
            if spec.library in PEER_LIBRARIES:
                peer_version(str(spec.library))

    @property
    def awaits_its_models(self) -> bool:
        """Whether models of the study must rank the features before it can be run."""
        chosen = any(spec.view.n_features is not None for spec in self.specs)
        return self.feature_order == "study" and chosen and not self.feature_orders

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the results, for the store and the report."""
        return {
            "title": self.title,
            "data": [
                {
                    "name": source.name,
                    "origin": str(source.origin)
                    if isinstance(source.origin, str | Path)
                    else repr(source.origin)[:200],
                    "folds": source.n_folds,
                    "fold_seed": source.seed,
                    "fold_order": source.fold_order,
                    "max_folds": source.max_folds,
                    "label_shift": source.label_shift,
                    "read": encoded(source.options),
                }
                for source in self.sources
            ],
            "rankers": [
                {
                    "label": spec.label,
                    "use": spec.use,
                    "settings": [encoded(params) for params in spec.settings],
                    "view": spec.view.facts(),
                }
                for spec in self.specs
            ],
            "metrics": [str(metric) for metric in self.metrics],
            "repeats": self.repeats,
            "seed": self.seed,
            "early_stopping_rounds": self.early_stopping_rounds,
            "baseline": self.baseline,
            "feature_order": self.feature_order,
        }

    def cells(self, fold: StudyFold) -> Iterator[Cell]:
        """Yield every fit on one fold."""
        for spec in self.specs:
            settings = spec.settings if spec.trained else ({},)
            for number, params in enumerate(settings):
                repeats = self.repeats if spec.trained else 1
                for repeat in range(repeats):
                    yield Cell(
                        data=fold.data,
                        fold=fold.number,
                        spec=spec,
                        setting=number,
                        params=params,
                        repeat=repeat,
                        seed=self.seed + repeat,
                        rounds=self.early_stopping_rounds,
                        metrics=tuple(self.metrics),
                        fingerprint=fold.fingerprint,
                        view=self._view(spec, fold),
                        scores=None if spec.column is None else fold.scores[spec.column],
                        test_rows=fold.test_rows if spec.library == SCORES else None,
                    )

    def _view(self, spec: Spec, fold: StudyFold) -> View:
        """Return what a ranker sees of a fold: with features by number, if models ranked them."""
        order = self.feature_orders.get(fold.fingerprint)
        if order is None or spec.view.n_features is None:
            return spec.view
        return replace(spec.view, features=tuple(leading(order, spec.view.n_features)))


@dataclass(frozen=True, eq=False)
class Cell:
    """One fit of one setting on one fold, and its measurement.

    Attributes
    ----------
    setting : number of the point of the ranker's grid
    params : its parameters
    rounds : of early stopping, for rankers that learn in steps
    fingerprint : of the fold's content
    scores : of the test part, of a spec ``scores:column=...``
    test_rows : of a spec ``scores:FILE``, the rows of the test part in the file of the data
    folder : where the path of a file of scores starts, also for a worker that stands elsewhere
    tested : whether the ranker is measured on the test part and described, or on the validation
        part alone
    """

    data: str
    fold: int
    spec: Spec
    setting: int
    params: Mapping[str, Any]
    repeat: int
    seed: int
    rounds: int | None
    metrics: tuple[Metric, ...]
    fingerprint: str
    view: View = WHOLE
    scores: npt.NDArray[np.float64] | None = None
    test_rows: RowsOf | None = None
    folder: Path = field(default_factory=Path.cwd)
    tested: bool = True

    @property
    def all_params(self) -> dict[str, Any]:
        """All parameters as values for JSON."""
        return encoded(self._given())

    def _given(self) -> dict[str, Any]:
        """Return all parameters unchanged."""
        given = {} if self.spec.estimator is None else self.spec.estimator.get_params(deep=False)
        return {**given, **self.params}

    @cached_property
    def key(self) -> str:
        """The cache key of the cell: a digest of everything that decides its result."""
        facts = {
            "data": self.fingerprint,
            "use": self.spec.use,
            "scores": None if self.spec.trained else _given_digest(self),
            "params": self.all_params,
            "seed": self.seed,
            "rounds": self.rounds,
            "metrics": [str(metric) for metric in self.metrics],
            "view": self.view.facts(),
            "versions": versions_of(self.spec),
        }
        if not self.tested:
            facts["tested"] = False
        functions = code_digests(self._code())
        if functions:
            facts["functions"] = functions
        text = json.dumps(facts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _code(self) -> dict[str, Any]:
        """Return all parameters, and the user's classes that are trained or measure."""
        given = self._given()
        classes = {f"metric {metric}": type(metric) for metric in self.metrics}
        if self.spec.library is None:
            estimator = self.spec.estimator
            ranker = ranker_class(self.spec.use) if estimator is None else type(estimator)
            classes[f"ranker {self.spec.use}"] = ranker
            if is_users(ranker) and estimator is None:
                given = {**ranker().get_params(deep=False), **given}
        return {**given, **{name: cls for name, cls in classes.items() if is_users(cls)}}

    def given_path(self) -> FilePath:
        """The file of a spec ``scores:...`` or ``model:...`` for this data set and fold."""
        name = self.spec.target.format(fold=self.fold, data=self.data)
        return file_path(name) if is_address(name) else self.folder / name


def make_study(data: Any, rankers: Any, **given: Any) -> Study:
    """Check the arguments of a study and complete them.

    Parameters
    ----------
    data, rankers : as of ``rankgrove.compare``
    given : the options of ``StudyOptions``, and how to read files, as of ``load``
    """
    options, reading = split_options(given)
    metrics = options.chosen_metrics
    for one in metrics:
        if one.of_probabilities:
            raise ValueError(
                f"{one} measures probabilities, and rankers are compared by their scores: "
                "ranker.score(test, metric=...) measures it (rankgrove predict --proba, then "
                "rankgrove evaluate, on the command line)"
            )
    texts = [rankers] if isinstance(rankers, str) else rankers
    if isinstance(texts, Mapping):
        texts = [replace(as_spec(value), label=str(label)) for label, value in texts.items()]
    elif not isinstance(texts, Sequence):
        texts = [texts]
    specs = read_specs(texts)
    if options.naive_twin:
        specs = with_naive_twins(specs)
    if options.blend:
        specs = read_specs([*specs, blend_spec(specs, str(metrics[0]))])
    seen = View(train_share=options.train_share, n_features=options.best_features)
    specs = [replace(spec, view=seen) if spec.trained else spec for spec in specs]
    refuse_wrong_parameters(specs, options.early_stopping_rounds)
    sources = read_study_data(
        data,
        specs,
        n_folds=options.folds or DEFAULT_FOLDS,
        seed=options.seed,
        fold_order=options.fold_order or FOLD_ORDERS[0],
        max_folds=options.max_folds,
        label_shift=options.label_shift,
        options=reading,
        score_columns=tuple(dict.fromkeys(spec.column for spec in specs if spec.column)),
    )
    for name in ("folds", "fold_order"):
        value = getattr(options, name)
        if value is not None and not any(source.is_divided for source in sources):
            raise ValueError(
                f"{name}={value} has no effect: {sources[0].name} brings its own folds (max_folds= "
                "uses only the first)"
            )
    return Study(
        sources=sources,
        specs=specs,
        metrics=metrics,
        repeats=options.repeats,
        seed=options.seed,
        early_stopping_rounds=options.early_stopping_rounds,
        baseline=options.baseline,
        title=options.title,
        feature_order=options.feature_order,
    )


_FILE_KEYS = ("data", "ranker", *NAMES, "read")


def read_study_file(name: str) -> dict[str, Any]:
    """Read a study file, or one of those that come with rankgrove, as arguments of ``make_study``.

    Paths in a file are relative to the file. ``[read]`` holds options of ``load``.
    """
    path = file_path(name)
    if path.suffix != ".toml":
        shipped = resources.files(__package__).joinpath("studies")
        names = sorted(p.name.removesuffix(".toml") for p in shipped.iterdir())
        if name not in names:
            raise ValueError(
                f"unknown study {name!r}: give a file that ends in .toml, or one of "
                f"{', '.join(names)}"
            )
        return _arguments(tomllib.loads(shipped.joinpath(f"{name}.toml").read_text()), name, None)
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return _arguments(table, str(path), path)


def _arguments(table: dict[str, Any], name: str, file: FilePath | None) -> dict[str, Any]:
    unknown = [key for key in table if key not in _FILE_KEYS]
    if unknown:
        near = difflib.get_close_matches(unknown[0], _FILE_KEYS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"keys are {', '.join(_FILE_KEYS)}"
        raise ValueError(f"{name}: unknown key {unknown[0]!r}: {hint}")
    arguments = {key: value for key, value in table.items() if key not in ("ranker", "read")}
    rankers = table.get("ranker", [])
    if not isinstance(rankers, list):
        raise ValueError(f"{name}: rankers are written as [[ranker]] tables")
    try:
        arguments["rankers"] = read_specs(rankers)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if "data" in arguments and file is not None:
        given = arguments["data"]
        if isinstance(given, Mapping):
            arguments["data"] = {key: _beside(file, value) for key, value in given.items()}
        else:
            paths = [given] if isinstance(given, str) else given
            arguments["data"] = [_beside(file, path) for path in paths]
    return {**arguments, **table.get("read", {})}


def _beside(file: FilePath, path: str) -> str:
    """Return a path or an address that a study file names, relative to the file."""
    if is_address(path):
        return path
    return os.fspath(file.with_name(path) if isinstance(file, Address) else file.parent / path)


def encoded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON; values that JSON cannot hold are described."""
    return {
        name: encoded_param(value)
        for name, value in sorted(params.items())
        if name not in OF_THE_STUDY
    }


def versions_of(spec: Spec) -> dict[str, str]:
    """Return the versions of the libraries that train a ranker, and rankgrove's build digest."""
    library = spec.library
    versions = {"rankgrove": __version__, "build": build_digest()}
    if library in PEER_LIBRARIES:
        versions[str(library)] = peer_version(str(library))
    return versions


def _given_digest(cell: Cell) -> str:
    try:
        content = cell.given_path().read_bytes() if cell.scores is None else cell.scores.tobytes()
    except OSError as error:
        return f"{error.strerror}"
    digest = hashlib.blake2b(content, digest_size=16)
    if (of_test := cell.test_rows) is not None:
        digest.update(f"{of_test.n_rows} {of_test.divided}".encode() + of_test.rows.tobytes())
    return digest.hexdigest()
