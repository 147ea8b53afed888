"""Picture of a comparison: differences from one ranker with their intervals."""

from __future__ import annotations

from rankgrove._svg import DOWN, INK, PALE, UP, Drawing, round_ticks, shortened, width_of
from rankgrove.experiments.results import ComparisonResults

_ROW, _TOP, _CHART, _LONGEST = 24, 64, 380, 40


def plot_comparison(
    comparison: ComparisonResults, metric: str | None = None, data: str | None = None
) -> Drawing:
    """Draw each ranker's mean difference from a reference, with its 95 % interval.

    The reference is the baseline, or without one the best ranker. The intervals are those of the
    differences query by query, so that queries that are hard for all rankers do not widen them.
    Rankers that share a tier with the reference are grey, as in the table: intervals are not
    corrected for the number of pairs, tiers are.
    """
    metric = _known(metric, comparison.metrics, comparison.short_names, "metric")
    data = _known(data, comparison.datasets, {}, "data set")
    short = comparison.short_names[metric]
    results = comparison.results(data)
    whole = [result for result in results if not result.failure]
    sign = comparison.sign(metric)
    whole.sort(key=lambda result: -sign * result.values[metric])
    if not whole:
        raise ValueError(f"no ranker has a result on {data!r}")
    names = [result.ranker for result in whole]
    reference = comparison.baseline if comparison.baseline in names else names[0]
    order, table = comparison.pairs(data, metric, baseline=reference)
    if table is None:
        raise ValueError(f"there is nothing to compare by {metric!r} on {data!r}")
    found = {
        order[first]: (float(table.difference[i]), float(table.low[i]), float(table.high[i]))
        for i, first in enumerate(table.first.tolist())
    }
    found[reference] = (0.0, 0.0, 0.0)
    alpha = comparison.significance.alpha
    different = {order[first] for first in table.first[table.p_holm <= alpha].tolist()}
    failed = [result.ranker for result in results if result.failure]
    return _drawn(
        f"{data}: {short}, difference from {reference} with 95 % interval",
        [(r.ranker, r.values[metric], r.tiers[metric], found[r.ranker]) for r in whole],
        failed,
        sign,
        different,
    )


def _known(asked: str | None, known: list[str], short_names: dict[str, str], what: str) -> str:
    """Return the full name of a metric or data set; None: the first one."""
    if not known:
        raise ValueError(f"the comparison has no {what} yet")
    if asked is None:
        return known[0]
    full = {short: name for name, short in short_names.items()} | {name: name for name in known}
    if asked not in full:
        raise ValueError(f"there is no {what} {asked!r}: there are {', '.join(known)}")
    return full[asked]


def _drawn(
    title: str,
    rows: list[tuple[str, float, str, tuple[float, float, float]]],
    failed: list[str],
    sign: int,
    different: set[str],
) -> Drawing:
    """Draw a row per ranker: name, interval and dot, value and letters of its tiers.

    ``different`` names the rankers that share no tier with the reference.
    """
    labels = max(width_of(shortened(name, _LONGEST)) for name in [r[0] for r in rows] + failed) + 24
    ticks = round_ticks(
        min(low for *_, (_, low, _) in rows), max(high for *_, (_, _, high) in rows)
    )
    scale = _CHART / (ticks[-1] - ticks[0])
    bottom = _TOP + _ROW * (len(rows) + len(failed))
    values = labels + _CHART + 24
    drawing = Drawing(max(values + 130, width_of(title) + 24), bottom + 34, title)
    drawing.text(12, 24, title, bold=True)
    drawing.text(values, _TOP - 12, "mean", colour=PALE)
    drawing.text(values + 64, _TOP - 12, "tier", colour=PALE)

    def x(value: float) -> float:
        return labels + (value - ticks[0]) * scale

    for tick in ticks:
        drawing.line(x(tick), _TOP - 6, x(tick), bottom)
        drawing.text(
            x(tick), bottom + 18, f"{tick:+.6g}" if tick else "0", anchor="middle", colour=PALE
        )
    drawing.line(x(0), _TOP - 6, x(0), bottom, INK)
    for k, (name, value, letters, (middle, low, high)) in enumerate(rows):
        y = _TOP + _ROW * k + 8
        colour = PALE if name not in different else UP if sign * middle > 0 else DOWN
        drawing.text(labels - 12, y + 4, shortened(name, _LONGEST), anchor="end")
        drawing.line(x(low), y, x(high), y, colour, 3)
        drawing.dot(x(middle), y, colour, 4.5)
        drawing.text(values, y + 4, f"{value:.4f}")
        drawing.text(values + 64, y + 4, letters)
    for k, name in enumerate(failed, len(rows)):
        y = _TOP + _ROW * k + 12
        drawing.text(labels - 12, y, shortened(name, _LONGEST), anchor="end", colour=PALE)
        drawing.text(values, y, "no result", colour=PALE)
    return drawing
