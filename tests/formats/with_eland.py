"""python with_eland.py MODEL: prints what eland sends to Elasticsearch, in eland's environment.

These are the steps of docs/how-to/exporting.md without a cluster.
"""

import json
import sys

import xgboost
from eland.ml.transformers import get_model_transformer

path = sys.argv[1]
ranker = xgboost.XGBRanker()
ranker.load_model(path)
with open(path) as file:
    learner = json.load(file)["learner"]
ranker.base_score = float(learner["learner_model_param"]["base_score"])
transformer = get_model_transformer(ranker, feature_names=learner["feature_names"])
print(json.dumps(transformer.transform().serialize_model()))
