"""Score rows with JPMML in a Java machine: ``with_jpmml.py MODEL ROWS.npy NAMES OUT.npy``.

A ``.txt`` is LightGBM's, which JPMML-LightGBM (in sklearn2pmml) converts to PMML first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jpmml_evaluator
import jpype
import numpy as np
import pandas as pd
import sklearn2pmml
from jpmml_evaluator import make_evaluator
from jpmml_evaluator.jpype import JPypeBackend

model, rows, names, out = sys.argv[1:]
packages = (jpmml_evaluator, sklearn2pmml)
jars = [str(jar) for package in packages for jar in Path(package.__path__[0]).rglob("*.jar")]
jpype.startJVM(classpath=jars)
if model.endswith(".txt"):
    stream = jpype.java.io.FileInputStream(model)
    booster = jpype.JClass("org.jpmml.lightgbm.LightGBMUtil").loadGBDT(stream)
    pmml = booster.encodePMML(jpype.java.util.HashMap(), None, None)
    model += ".pmml"
    with jpype.java.io.FileOutputStream(model) as target:
        jpype.JClass("org.jpmml.model.PMMLUtil").marshal(pmml, target)
evaluator = make_evaluator(model, backend=JPypeBackend())
frame = pd.DataFrame(np.load(rows), columns=names.split(","))
np.save(out, evaluator.evaluateAll(frame).iloc[:, 0].to_numpy(float))
