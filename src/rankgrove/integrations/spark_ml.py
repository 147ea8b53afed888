"""Rankers as stages of Spark ML pipelines: an Estimator, and the Model that it fits.

::

    from rankgrove.integrations.spark_ml import SparkRanker

    stage = SparkRanker(ranker=rankgrove.LambdaMART(), queryCol="qid", labelCol="label")
    model = Pipeline(stages=[assembler, stage]).fit(frame)
    model.write().overwrite().save("models/pipeline")
    PipelineModel.load("models/pipeline").transform(frame)

Spark finds the classes of a saved pipeline by their names, so that this module is imported by name,
and needs pyspark. The fit is that of ``rankgrove.distributed.fit``, with the bits of one machine.
"""

# Imports follow a check that they can be made; names are those of Spark ML.
# ruff: noqa: E402, N802, N815

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
import pandas as pd

from rankgrove._optional import require

require("pyspark.ml", "spark", "a stage of a Spark ML pipeline")

from pyspark.ml import Estimator, Model
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DoubleType, StructType

from rankgrove.distributed.driver import fit
from rankgrove.distributed.partition_scorer import PartitionScorer
from rankgrove.errors import DataError, ModelError
from rankgrove.formats.container import read_container, to_bytes
from rankgrove.formats.ranker_state import ranker_of_params, unpack
from rankgrove.rankers.base.estimator import BaseRanker
from rankgrove.rankers.base.fitted import FittedRanker
from rankgrove.rankers.base.parameter_encoding import encoded_params
from rankgrove.rankers.base.registry import name_of

_MODEL = "model"  # folder of the model file, below that of the stage


class _RankerParams(HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol):
    """Columns of a ranking stage."""

    queryCol: Param[str] = Param(
        Params._dummy(),
        "queryCol",
        "column of the query of each document",
        typeConverter=TypeConverters.toString,
    )
    featureCols: Param[list[str]] = Param(
        Params._dummy(),
        "featureCols",
        "columns of single features, instead of featuresCol",
        typeConverter=TypeConverters.toListString,
    )
    numWorkers: Param[int] = Param(
        Params._dummy(),
        "numWorkers",
        "tasks of the fit at most; 0: as many as can run at the same time",
        typeConverter=TypeConverters.toInt,
    )

    def _set_columns(self, columns: dict[str, Any]) -> None:
        self._setDefault(queryCol="qid", featureCols=[], numWorkers=0)
        known = {name: value for name, value in columns.items() if value is not None}
        unknown = sorted(name for name in known if not self.hasParam(name))
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {unknown[0]!r}")
        self._set(**known)

    def _expanded(self, dataset: Any) -> tuple[list[Any], list[str]]:
        """Return features as single columns of a frame, and their names."""
        names = self.getOrDefault(self.featureCols)
        if names:
            _refuse_absent(dataset, names)
            return [functions.col(_quoted(name)) for name in names], list(names)
        array, names = _vector(dataset, self.getFeaturesCol())
        return [array[i].alias(name) for i, name in enumerate(names)], names


class SparkRanker(Estimator[Any], _RankerParams, MLReadable[Any], MLWritable):
    """A ranker as an Estimator of Spark ML.

    Parameters
    ----------
    ranker : boosted trees or a forest, not fitted
    columns : ``featuresCol`` (a vector column, as VectorAssembler makes it) or ``featureCols`` (a
        list of single columns), ``labelCol``, ``queryCol`` (default ``"qid"``), ``weightCol``,
        ``predictionCol``, and ``numWorkers``
    """

    def __init__(self, ranker: BaseRanker | None = None, **columns: Any) -> None:
        super().__init__()
        self.ranker = ranker
        self._set_columns(columns)

    def _fit(self, dataset: Any) -> SparkRankerModel:
        if self.ranker is None:
            raise ModelError("SparkRanker needs a ranker: SparkRanker(ranker=LambdaMART())")
        sides: dict[str, Any] = {
            "label": self.getLabelCol(),
            "query": self.getOrDefault(self.queryCol),
        }
        if self.isDefined(self.weightCol):
            sides["weight"] = self.getWeightCol()
        _refuse_absent(dataset, list(sides.values()))
        features, names = self._expanded(dataset)
        taken = sorted(set(names) & set(sides.values()))
        if taken:
            raise DataError(f"the column {taken[0]!r} is a feature, and label, query or weight")
        kept = [functions.col(_quoted(name)) for name in sides.values()]
        ranker = type(self.ranker)(**self.ranker.get_params(deep=False))
        fit(
            ranker,
            dataset.select(*kept, *features),
            on=dataset.sparkSession,
            n_workers=self.getOrDefault(self.numWorkers) or None,
            features=names,
            **sides,
        )
        model = SparkRankerModel(ranker)
        self._copyValues(model)
        return model

    def copy(self, extra: Any = None) -> SparkRanker:
        """Return a copy with other parameters of Spark; the ranker is shared."""
        copied = super().copy(extra)
        copied.ranker = self.ranker
        return copied

    def write(self) -> MLWriter:
        """Return a writer of the stage."""
        return _EstimatorWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return a reader of stages."""
        return _EstimatorReader()


class SparkRankerModel(Model, _RankerParams, MLReadable[Any], MLWritable):
    """A fitted ranker as a Model of Spark ML: ``transform`` adds a column of scores.

    Attributes
    ----------
    ranker : the fitted ranker, as ``rankgrove.load_model`` returns it
    """

    def __init__(self, ranker: FittedRanker | None = None) -> None:
        super().__init__()
        self.ranker = ranker
        self._set_columns({})

    def _transform(self, dataset: Any) -> Any:
        from pyspark.sql.pandas.types import to_arrow_schema

        ranker, prediction = copy(self._fitted()), self.getPredictionCol()
        ranker.set_params(n_jobs=1)  # Spark runs tasks side by side
        if prediction in dataset.columns:
            raise DataError(f"the data have a column {prediction!r} already: set predictionCol")
        schema = StructType([*dataset.schema.fields]).add(prediction, DoubleType())
        names = self.getOrDefault(self.featureCols)
        if names:
            _refuse_absent(dataset, names)
            scorer = PartitionScorer(ranker).of_schema(to_arrow_schema(dataset.schema))
            return dataset.mapInArrow(functools.partial(_with_scores, scorer, prediction), schema)
        column = self.getFeaturesCol()
        array, names = _vector(dataset, column)
        places: list[int] | None = None
        if _attribute_names(dataset.schema[column]):  # as VectorAssembler writes them
            places = ranker.model_.columns.places(names, f"the vectors of {column!r}")
        of_series: Any = pandas_udf  # its types list every signature but this one

        def scores(vectors: pd.Series) -> pd.Series:
            return _vector_scores(ranker, vectors, places)

        return dataset.withColumn(prediction, of_series(scores, DoubleType())(array))

    def _fitted(self) -> FittedRanker:
        if self.ranker is None:
            raise ModelError("this SparkRankerModel has no ranker")
        if self.ranker.fitted_model().needs_queries:
            raise ModelError(
                f"{type(self.ranker).__name__}: scores depend on all documents of a query, which "
                "partitions may cut: predict on one machine"
            )
        return self.ranker

    def copy(self, extra: Any = None) -> SparkRankerModel:
        """Return a copy with other parameters of Spark; the ranker is shared."""
        copied = super().copy(extra)
        copied.ranker = self.ranker
        return copied

    def write(self) -> MLWriter:
        """Return a writer of the stage: its parameters, and the model file in a Parquet file."""
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return a reader of stages."""
        return _ModelReader()


class _EstimatorWriter(MLWriter):
    """Writes the parameters of a stage and of its ranker."""

    def __init__(self, stage: SparkRanker) -> None:
        super().__init__()
        self._stage = stage

    def saveImpl(self, path: str) -> None:
        ranker = self._stage.ranker
        saved: dict[str, Any] = {"ranker": None}
        if ranker is not None:
            params = encoded_params(ranker)
            lost = [name for name, value in params.items() if _is_description(value)]
            if lost or name_of(type(ranker)) is None:
                what = f"parameter {lost[0]}" if lost else "class, which is not registered,"
                raise ModelError(f"the {what} of {type(ranker).__name__} cannot be saved")
            saved = {"ranker": name_of(type(ranker)), "params": params}
        DefaultParamsWriter.saveMetadata(
            self._stage, path, self.sparkSession, extraMetadata={"rankgrove": json.dumps(saved)}
        )


class _EstimatorReader(MLReader[Any]):
    """Reads what the writer has written."""

    def load(self, path: str) -> SparkRanker:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession, _class(SparkRanker))
        saved = json.loads(metadata["rankgrove"])
        stage = SparkRanker()
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        if saved["ranker"] is not None:
            stage.ranker = ranker_of_params(saved["ranker"], saved["params"])
        return stage


class _ModelWriter(MLWriter):
    """Writes the parameters of a stage, and the model file of its ranker."""

    def __init__(self, stage: SparkRankerModel) -> None:
        super().__init__()
        self._stage = stage

    def saveImpl(self, path: str) -> None:
        model = to_bytes(self._stage._fitted())
        DefaultParamsWriter.saveMetadata(self._stage, path, self.sparkSession)
        frame = self.sparkSession.createDataFrame([(bytearray(model),)], "model binary")
        frame.coalesce(1).write.parquet(f"{path}/{_MODEL}")


class _ModelReader(MLReader[Any]):
    """Reads what the writer has written."""

    def load(self, path: str) -> SparkRankerModel:
        session = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, session, _class(SparkRankerModel))
        content = session.read.parquet(f"{path}/{_MODEL}").head()
        if content is None:
            raise ModelError(f"{path} has no model")
        stage = SparkRankerModel(unpack(*read_container(bytes(content[0]), path)))
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage


def _class(stage: type[Any]) -> str:
    return f"{stage.__module__}.{stage.__name__}"


def _is_description(value: Any) -> bool:
    return isinstance(value, dict) and "description" in value


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _refuse_absent(dataset: Any, names: list[str]) -> None:
    for name in names:
        if name not in dataset.columns:
            raise DataError(f"the data have no column {name!r}; they have {dataset.columns}")


def _vector(dataset: Any, column: str) -> tuple[Any, list[str]]:
    """Return a column of vectors as arrays, and the names of their elements."""
    _refuse_absent(dataset, [column])
    field = dataset.schema[column]
    values = functions.col(_quoted(column))
    array = vector_to_array(values) if isinstance(field.dataType, VectorUDT) else values
    size = (field.metadata or {}).get("ml_attr", {}).get("num_attrs")
    if size is None:
        first = dataset.select(functions.size(array)).head()
        if first is None:
            raise DataError(f"there are no rows to tell how long the vectors of {column!r} are")
        size = int(first[0])
    known = _attribute_names(field)
    return array, [known.get(i, f"{column}_{i}") for i in range(size)]


def _attribute_names(field: Any) -> dict[int, str]:
    """Return the names of a vector's elements that Spark ML knows, by position."""
    attributes = (field.metadata or {}).get("ml_attr", {}).get("attrs", {})
    return {
        attribute["idx"]: attribute["name"]
        for kind in attributes.values()
        for attribute in kind
        if "name" in attribute
    }


def _with_scores(scorer: PartitionScorer, prediction: str, batches: Iterable[Any]) -> Iterator[Any]:
    """Append scores to the tables of a partition."""
    import pyarrow as pa

    for batch in batches:
        table = pa.Table.from_batches([batch])
        yield from table.append_column(prediction, pa.array(scorer.table(table))).to_batches()


def _vector_scores(ranker: FittedRanker, vectors: pd.Series, places: list[int] | None) -> pd.Series:
    """Return the scores of a pandas Series of arrays, whose elements may be in another order."""
    if vectors.isna().any():
        raise DataError("a row has no vector of features")
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise DataError(f"vectors of features have different lengths: {sorted(lengths)}")
    if not len(vectors):
        return pd.Series([], dtype=float)
    X = np.stack(list(vectors))
    return pd.Series(ranker.predict(X if places is None else X[:, places]), dtype=float)
