"""Digests of functions that are parameters."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import types

import numpy as np
import pytest

import rankgrove
from rankgrove.forests import criteria
from rankgrove.metrics import registry as metrics
from rankgrove.rankers.base.fit_key import code_digests


def scaled(by):
    return lambda labels: labels * by


def of(function):
    return code_digests({"function": function})["function"]


@pytest.fixture
def module(monkeypatch):
    """Return a function that makes a module of a user's own."""

    def made(source):
        monkeypatch.setitem(sys.modules, "my_ranking", types.ModuleType("my_ranking"))
        exec(source, vars(sys.modules["my_ranking"]))
        return sys.modules["my_ranking"]

    return made


@pytest.mark.parametrize("wrap", [scaled, lambda by: functools.partial(np.multiply, by)])
def test_arrays_that_a_function_holds_count_in_full(wrap):
    """``repr`` leaves out the middle of long arrays."""
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1
    assert of(wrap(one)) == of(wrap(one.copy())) != of(wrap(other))


def test_other_code_has_another_digest():
    assert of(scaled(2)) == of(scaled(2)) != of(scaled(3))
    assert of(lambda x: x + 1) != of(lambda x: x + 2)
    assert code_digests({"n_estimators": 3}) == {}


LOOKED_UP = {
    "a number": "step = VALUE\ndef f(doc): return step * doc.y",
    "an array": "import numpy as np\ntable = np.eye(99)\ntable[50, 50] = VALUE\n"
    "def f(doc): return table[doc.y]",
    "a function": "def helper(y): return VALUE * y\ndef f(doc): return helper(doc.y)",
    "of a function": "step = VALUE\ndef helper(y): return step * y\n"
    "def f(doc): return helper(doc.y)",
    "in an inner function": "step = VALUE\ndef f(doc): return [step * y for y in doc.y]",
    "a cached function": "from functools import lru_cache\n"
    "@lru_cache\ndef helper(y): return VALUE * y\ndef f(doc): return helper(doc.y)",
    "functions in a table": "kinds = {'one': lambda y: VALUE * y}\n"
    "def f(doc): return kinds['one'](doc.y)",
    "a class": "class Helper:\n def run(self, y): return VALUE * y\n"
    "def f(doc): return Helper().run(doc.y)",
    "an object": "class Helper:\n def run(self, y): return VALUE * y\n"
    "helper = Helper()\ndef f(doc): return helper.run(doc.y)",
    "another method": "class Helper:\n def half(self, y): return VALUE * y\n"
    " def run(self, doc): return self.half(doc.y)\nf = Helper().run",
    "a base class": "class Base:\n @property\n def step(self): return VALUE\n"
    "class Helper(Base):\n def __call__(self, doc): return self.step * doc.y\nf = Helper()",
    "an attribute in a slot": "class Helper:\n __slots__ = ('step',)\n"
    " def __init__(self): self.step = VALUE\n"
    " def __call__(self, doc): return self.step * doc.y\nf = Helper()",
    "an enclosed function": "def wrapped(g): return lambda doc: g(doc.y)\n"
    "f = wrapped(lambda y: VALUE * y)",
    "functions that call each other": "def even(n): return n == VALUE or odd(n - 1)\n"
    "def odd(n): return even(n - 1)\nf = even",
}


@pytest.mark.parametrize("source", LOOKED_UP.values(), ids=LOOKED_UP)
def test_what_a_function_looks_up_counts(module, source):
    one, same, other = (of(module(source.replace("VALUE", value)).f) for value in "223")
    assert one == same != other


USED = {
    "a value of a module": "import my_helper\ndef f(doc): return my_helper.step * doc.y",
    "a function of a module": "import my_helper\ndef f(doc): return my_helper.scaled(doc.y)",
    "a function by its name": "from my_helper import scaled\ndef f(doc): return scaled(doc.y)",
    "a class by its name": "from my_helper import Helper\ndef f(doc): return Helper().run(doc.y)",
    "a method of a base class": "from my_helper import Helper\nclass Mine(Helper): pass\n"
    "f = Mine().run",
    "a module that a function imports": "def f(doc):\n import my_helper\n return my_helper.step",
    "a name that a function imports": "def f(doc):\n from my_helper import step\n return step",
    "through another module": "import my_other\ndef f(doc): return my_other.run(doc.y)",
    "through a name of another module": "from my_other import run\ndef f(doc): return run(doc.y)",
}


@pytest.mark.parametrize("source", USED.values(), ids=USED)
def test_other_modules_of_the_user_count(module, source, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_other.py").write_text(
        "import my_helper\ndef run(y): return my_helper.scaled(y)\n"
    )
    digests = []
    for value in "223":
        (tmp_path / "my_helper.py").write_text(
            f"step = {value}\ndef scaled(y): return step * y\n"
            f"class Helper:\n def run(self, y): return {value} * y\n"
        )
        for name in ("my_helper", "my_other"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        importlib.invalidate_caches()
        digests.append(of(module(source).f))
    assert digests[0] == digests[1] != digests[2]


def test_a_missing_module_that_a_function_may_import_is_no_error(module):
    source = "def f(doc):\n try: import of_nobody.at_all\n except ImportError: return VALUE"
    one, other = (of(module(source.replace("VALUE", value)).f) for value in "23")
    assert one != other


def test_what_it_does_not_look_up_is_no_part_of_it(module):
    source = (
        "import numpy as np\ny = VALUE\ndef other(): return y\ndef f(doc): return np.exp(doc.y)"
    )
    one, other = (module(source.replace("VALUE", value)) for value in "23")
    assert of(one.f) == of(other.f)


def test_other_libraries_count_by_name(module):
    source = "from statistics import mean, NAME as middle\ndef f(doc): return middle(doc.y)"
    one, other = (module(source.replace("NAME", name)) for name in ("median", "median_low"))
    assert of(one.f) != of(other.f)


@pytest.mark.process
def test_digests_are_the_same_in_every_process(module, tmp_path):
    source = (
        "import threading\n"
        "from rankgrove.rankers.base.fit_key import code_digests\n"
        "lock, names = threading.Lock(), {'some', 'few', 'names'}\n"
        "class Helper:\n"
        " def __call__(self, y): return y in {'three', 'other', 'names'} or y in names\n"
        "helper = Helper()\n"
        "def f(doc):\n"
        " with lock: return helper(doc.y)\n"
        "digests = code_digests({'f': f, 'g': helper})\n"
    )
    (tmp_path / "my_ranking.py").write_text(source)
    command = [sys.executable, "-c", "import my_ranking; print(my_ranking.digests)"]
    told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert told.stdout.strip() == str(module(source).digests)


METRIC = """
import rankgrove
@rankgrove.register_metric("first-label", of="ranked")
def first_label(labels, k=1):
    return VALUE * float(labels[:k].max())
"""

METRIC_CLASS = """
from dataclasses import dataclass
import rankgrove
from rankgrove.metrics.ndcg import NDCG
@rankgrove.register_metric("first-label")
@dataclass(frozen=True, repr=False)
class FirstLabel(NDCG):
    def mean(self, values, groups, weights):
        return VALUE * super().mean(values, groups, weights)
"""

CRITERION = """
import rankgrove
@rankgrove.register_criterion("even")
def even(left, right):
    return VALUE - abs(left.weight - right.weight)
"""


@pytest.fixture
def registries(monkeypatch):
    metrics.metric_names()  # those of rankgrove are there before the copy is made
    monkeypatch.setattr(metrics, "_families", dict(metrics._families))
    monkeypatch.setattr(criteria, "_registered", dict(criteria._registered))


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [
        (METRIC, "metric", "first-label"),
        (METRIC, "metric", "First-Label@3"),
        (METRIC_CLASS, "metric", "first-label@3"),
        (CRITERION, "criterion", "even"),
        (CRITERION, "base__criterion", "even"),
    ],
)
def test_names_stand_for_what_is_registered(registries, module, source, name, text):
    def digest(value):
        module(source.replace("VALUE", value))
        return code_digests({name: text})[name]

    assert digest("2") == digest("2") != digest("3")


def test_a_ready_metric_counts_with_its_function(registries, module):
    def digest(value):
        module(METRIC.replace("VALUE", value))
        return of(rankgrove.metric("first-label@2"))

    assert digest("2") == digest("2") != digest("3")


def test_what_rankgrove_brings_is_known_by_its_version():
    params = {"metric": "ndcg@10", "criterion": "entropy", "base": rankgrove.MART()}
    assert code_digests(params) == {}
    assert code_digests({"metric": "of nobody (", "criterion": "of nobody"}) == {}
