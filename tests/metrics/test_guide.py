"""The guide's tables list what the code declares."""

import re

import pytest

from rankgrove.metrics import PRESETS, metric_names
from rankgrove.metrics.parameters import PARAMETERS, format_value
from rankgrove.metrics.registry import metric_class

METRICS = metric_names()


@pytest.fixture(scope="module")
def tables(repository):
    """First cell of each table row -> all cells."""
    text = (repository / "docs" / "reference" / "metrics.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): row for row in rows}


def test_every_name_has_a_row(tables):
    assert set(tables) == {*METRICS, *PARAMETERS, *PRESETS}


@pytest.mark.parametrize("name", METRICS)
def test_parameters_of_a_metric(tables, name):
    listed = re.findall(r"\w+", tables[name][2]) if len(tables[name]) > 2 else []
    assert set(listed) == set(metric_class(name).defaults())


@pytest.mark.parametrize("name", PARAMETERS)
def test_default_of_a_parameter(tables, name):
    listed = tables[name][2].partition(" ")[0].strip("`")
    exceptions = {"empty": ["tau", "spearman", "ic", "pair-accuracy"]}.get(name, [])
    families = [metric_class(metric).defaults() for metric in METRICS if metric not in exceptions]
    defaults = {declared[name] for declared in families if name in declared}
    assert {"none" if d is None else format_value(d) for d in defaults} == {listed}
