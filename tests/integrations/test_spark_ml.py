"""Rankers as stages of Spark ML pipelines."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pytest

import rankgrove
from rankgrove.data.writing import to_arrow
from rankgrove.datasets import make_ranking
from rankgrove.errors import DataError, ModelError

pytestmark = [pytest.mark.timeout(1200), pytest.mark.cluster]

DATA = make_ranking(20, seed=3)
NAMES = [name for name in to_arrow(DATA).column_names if name not in ("label", "qid")]


@pytest.fixture(scope="module")
def session():
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
        "spark.default.parallelism": "2",
        "spark.sql.shuffle.partitions": "2",
    }
    session = sql.SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(session):
    return session.createDataFrame(to_arrow(DATA)).coalesce(1)


def ranker():
    return rankgrove.MART(n_estimators=3, random_state=1)


def scores(frame):
    return frame.toPandas()["prediction"].to_numpy()


def test_a_pipeline_of_vectors_is_saved_and_loaded(session, frame, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import VectorAssembler

    from rankgrove.integrations.spark_ml import SparkRanker

    stages = [
        VectorAssembler(inputCols=NAMES, outputCol="features", handleInvalid="keep"),
        SparkRanker(ranker(), labelCol="label", queryCol="qid", numWorkers=2),
    ]
    Pipeline(stages=stages).write().save(str(tmp_path / "pipeline"))
    pipeline = Pipeline.load(str(tmp_path / "pipeline"))
    assert pipeline.getStages()[1].ranker.get_params() == ranker().get_params()
    fitted = pipeline.fit(frame)
    fitted.write().save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    local = ranker().fit(DATA)
    np.testing.assert_array_equal(scores(fitted.transform(frame)), local.predict(DATA))
    np.testing.assert_array_equal(scores(loaded.transform(frame)), local.predict(DATA))
    stage = loaded.stages[1]
    local.save(tmp_path / "local.rg")
    stage.ranker.save(tmp_path / "stage.rg")
    assert (tmp_path / "stage.rg").read_bytes() == (tmp_path / "local.rg").read_bytes()


def test_elements_of_vectors_are_matched_by_name(frame):
    from pyspark.ml.feature import VectorAssembler

    from rankgrove.integrations.spark_ml import SparkRanker

    def assembled(names):
        return VectorAssembler(inputCols=names, outputCol="features", handleInvalid="keep")

    model = SparkRanker(ranker()).fit(assembled(NAMES).transform(frame))
    reordered = assembled(NAMES[::-1]).transform(frame)
    np.testing.assert_array_equal(
        scores(model.transform(reordered)), ranker().fit(DATA).predict(DATA)
    )
    with pytest.raises(DataError, match=f"lacks 1 of .*{NAMES[0]}"):
        model.transform(assembled(["label", *NAMES[1:]]).transform(frame))


def test_single_columns(frame):
    from rankgrove.integrations.spark_ml import SparkRanker

    stage = SparkRanker(ranker(), featureCols=NAMES[::-1], predictionCol="prediction")
    local = ranker().fit(DATA.with_features(DATA.X[:, ::-1].copy(), NAMES[::-1]))
    reordered = frame.select(*sorted(frame.columns))
    np.testing.assert_array_equal(
        scores(stage.fit(frame).transform(reordered)), local.predict(DATA)
    )


def test_what_is_wrong_is_named(frame, tmp_path):
    from rankgrove.integrations.spark_ml import SparkRanker, SparkRankerModel

    with pytest.raises(DataError, match="no column 'query'"):
        SparkRanker(ranker(), featureCols=NAMES, queryCol="query").fit(frame)
    with pytest.raises(DataError, match="no column 'features'"):
        SparkRanker(ranker()).fit(frame)
    with pytest.raises(DataError, match="'label' is a feature"):
        SparkRanker(ranker(), featureCols=[*NAMES, "label"]).fit(frame)
    with pytest.raises(TypeError, match="no parameter 'labelcol'"):
        SparkRanker(ranker(), labelcol="label")
    with pytest.raises(ModelError, match="needs a ranker"):
        SparkRanker(featureCols=NAMES).fit(frame)
    with pytest.raises(ModelError, match="has no ranker"):
        SparkRankerModel().transform(frame)
    own = rankgrove.MART(criterion=lambda *sums: sums[0])
    with pytest.raises(ModelError, match="criterion of MART cannot be saved"):
        SparkRanker(own).write().save(str(tmp_path / "own"))
