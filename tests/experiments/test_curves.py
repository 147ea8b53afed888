from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

import rankgrove
from rankgrove.experiments.curves import (
    Curve,
    curves_svg,
    history_curves,
    history_svg,
    plot_curves,
    plot_history,
)

HISTORY = {"train": {"ndcg@10": [0.5, 0.6, 0.7]}, "valid": {"ndcg@10": [0.4, 0.5, 0.45]}}


def test_svg_draws_every_curve_inside_the_picture():
    picture = ElementTree.fromstring(history_svg(HISTORY, title="a < b"))
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    points = [tuple(map(float, p.split(","))) for p in lines[0].get("points").split()]
    assert len(points) == 3
    assert all(0 <= x <= 640 and 0 <= y <= 360 for x, y in points)
    assert points[0][1] > points[1][1] > points[2][1]  # a rising metric rises


@pytest.mark.parametrize("values", [[0.5], [0.0, 0.0], [float("nan"), 0.3], [-5e-9, 1e9]])
def test_svg_of_odd_values(values):
    ElementTree.fromstring(history_svg({"valid": {"m": values}}))


def test_one_point_alone_can_be_seen():
    assert "<circle" in history_svg({"valid": {"m": [0.5]}})
    assert "<circle" not in history_svg({"valid": {"m": [0.5] * 50}})
    pytest.importorskip("plotly")
    assert plot_history({"valid": {"m": [0.5]}}).data[0].mode == "lines+markers"


def test_rankers_are_sources(small_data):
    ranker = rankgrove.MART(n_estimators=3, n_jobs=1).fit(
        small_data, eval_set={"train": small_data}, eval_metric=["ndcg@5", "map"]
    )
    (curve,) = history_curves(ranker, "map")
    assert curve.name == "train map"
    assert list(curve.values) == ranker.evals_result_["train"]["map"]
    both = history_curves({"a": ranker, "b": ranker})
    assert [curve.name for curve in both] == ["a, train ndcg@5", "b, train ndcg@5"]


def test_figure():
    pytest.importorskip("plotly")
    figure = plot_history(HISTORY)
    assert [trace.name for trace in figure.data] == ["train ndcg@10", "valid ndcg@10"]
    assert list(figure.data[1].y) == [0.4, 0.5, 0.45]


def test_nothing_to_draw_is_an_error(small_data):
    with pytest.raises(ValueError, match="no history to plot"):
        history_svg(rankgrove.MART(n_estimators=1, n_jobs=1).fit(small_data))
    with pytest.raises(ValueError, match="'map' was not recorded on 'train'"):
        history_curves(HISTORY, "map")
    with pytest.raises(ValueError, match="no finite value"):
        history_svg({"valid": {"m": [float("nan")]}})


def test_ticks_are_round():
    texts = re.findall(r'text-anchor="end"[^>]*>([^<]+)<', history_svg(HISTORY))
    assert [float(text) for text in texts] == [0.4, 0.5, 0.6, 0.7]


def test_intervals_are_drawn_around_the_values():
    curve = Curve("a", [0.5, 0.6], [1, 2], ([0.4, 0.45], [0.55, 0.7]))
    picture = ElementTree.fromstring(curves_svg([curve]))
    (area,) = picture.findall("{http://www.w3.org/2000/svg}polygon")
    corners = [tuple(map(float, p.split(","))) for p in area.get("points").split()]
    (line,) = picture.findall("{http://www.w3.org/2000/svg}polyline")
    points = [tuple(map(float, p.split(","))) for p in line.get("points").split()]
    assert corners[0][1] > points[0][1] > corners[3][1]  # low below, high above
    assert all(0 <= y <= 360 for _, y in corners)
    pytest.importorskip("plotly")
    assert list(plot_curves([curve]).data[1].y) == [0.4, 0.45, 0.7, 0.55]


def test_the_axis_of_shares_has_ticks_between_them_and_ends_at_the_last():
    svg = curves_svg([Curve("a", [0.5, 0.6, 0.7], [0.2, 0.5, 1.0])], "", "share", "ndcg@10")
    ticks = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle"[^>]*>([\d.]+)<', svg)
    assert [text for _, text in ticks] == ["0.2", "0.4", "0.6", "0.8", "1"]
    dots = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)]
    assert (min(dots), max(dots)) == (float(ticks[0][0]), float(ticks[-1][0]))
    (title,) = re.findall(r'<text x="([\d.]+)"([^>]*)>ndcg@10<', svg)
    assert float(title[0]) >= 0
    assert 'text-anchor="start"' in title[1]  # there is no place for it to the left of the axis
