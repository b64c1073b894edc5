"""The report's two drawings, as SVG: the difference with its interval, and the history with error bars."""

import math
from collections.abc import Callable, Iterator, Sequence

from bench_assets.analysis.report.html import Html, tag
from bench_assets.analysis.sentences import percent, points, spread
from bench_assets.contracts.comparison import Effect
from bench_assets.contracts.leaderboard import Standing
from bench_assets.contracts.run import Interval

WIDTH, HEIGHT = 760, 310
LEFT, RIGHT, TOP, BOTTOM = 52, 16, 14, 100
MOST_POINTS = 40
MOST_LABELS = 14


def difference_chart(effect: Effect, interval: Interval, *, max_drop: float | None) -> Html:
    """Return the difference on a line through 0, with its interval and the allowed drop."""
    reach = max(abs(interval.low), abs(interval.high), (max_drop or 0.0) * 1.3, 0.01) * 1.15

    def x(share: float) -> float:
        return round(300 + 280 * share / reach, 1)

    colour = "worse" if interval.high < 0 else "better" if interval.low > 0 else "even"
    allowed: list[Html] = []
    if max_drop:
        allowed = [
            tag("line", x1=x(-max_drop), x2=x(-max_drop), y1=14, y2=56, class_="limit"),
            tag("text", f"allowed {points(-max_drop)}", x=x(-max_drop), y=70, class_="label middle"),
        ]
    return tag(
        "svg",
        tag("line", x1=12, x2=588, y1=36, y2=36, class_="axis"),
        tag("line", x1=300, x2=300, y1=14, y2=56, class_="axis"),
        tag("text", "0", x=300, y=10, class_="label middle"),
        tag("text", "worse", x=14, y=10, class_="label"),
        tag("text", "better", x=586, y=10, class_="label end"),
        *allowed,
        tag("line", x1=x(interval.low), x2=x(interval.high), y1=36, y2=36, class_=f"bar {colour}"),
        tag("circle", cx=x(effect.delta), cy=36, r=7, class_=f"dot {colour}"),
        viewBox="0 0 600 76",
        role="img",
        class_="difference",
        aria_label=f"Difference of {points(effect.delta)}, interval {spread(interval, signed=True)}.",
    )


def history_chart(standings: Sequence[Standing], *, current: str) -> Html:
    """Return accuracy over candidates with 95 % error bars; `current` is the run_id to set off. Newest 40 at most."""
    shown = [one for one in standings if one.accuracy is not None][-MOST_POINTS:]
    low, high = _range(shown)
    step = (WIDTH - LEFT - RIGHT) / max(len(shown), 1)

    def y(share: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - share) / (high - low), 1)

    every = math.ceil(len(shown) / MOST_LABELS)
    drawn: list[Html] = []
    for number, one in enumerate(shown):
        x = round(LEFT + step * (number + 0.5), 1)
        is_current = one.run_id == current
        drawn.append(_point(one, x=x, y=y(one.accuracy or 0.0), is_current=is_current, bar=_bar(one, x, y)))
        if is_current or number % every == 0:
            drawn.append(_label(one.candidate, x=x, is_current=is_current))
    return tag(
        "svg",
        *_scale(low, high, y),
        *drawn,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        class_="history",
        aria_label=f"Accuracy of {len(shown)} candidates with 95 % intervals; the table below has the figures.",
    )


def _range(shown: Sequence[Standing]) -> tuple[float, float]:
    lows = [one.interval.low if one.interval else one.accuracy or 0.0 for one in shown] or [0.0]
    highs = [one.interval.high if one.interval else one.accuracy or 0.0 for one in shown] or [1.0]
    low, high = math.floor(min(lows) * 20) / 20, math.ceil(max(highs) * 20) / 20
    return low, max(high, low + 0.05)


def _scale(low: float, high: float, y: Callable[[float], float]) -> Iterator[Html]:
    size = next(size for size in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25) if (high - low) / size <= 6)
    for number in range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1):
        share = number * size
        yield tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(share), y2=y(share), class_="grid")
        yield tag("text", f"{100 * share:.0f} %", x=LEFT - 8, y=y(share) + 4, class_="label end")


def _bar(one: Standing, x: float, y: Callable[[float], float]) -> Html | None:
    if one.interval is None:
        return None
    top, bottom = y(one.interval.high), y(one.interval.low)
    return tag("path", d=f"M{x - 5} {top}H{x + 5}M{x} {top}V{bottom}M{x - 5} {bottom}H{x + 5}", class_="whisker")


def _point(one: Standing, *, x: float, y: float, is_current: bool, bar: Html | None) -> Html:
    verdict = {"GO": "better", "NO-GO": "worse", "INCONCLUSIVE": "even", None: "plain"}[one.verdict]
    aside = "" if one.same_questions else ", over other questions"
    text = f"{one.candidate}: {percent(one.accuracy)} ({spread(one.interval)}), n = {one.questions} questions{aside}"
    return tag(
        "g",
        tag("title", text if one.verdict is None else f"{text}, {one.verdict}"),
        bar,
        tag("circle", cx=x, cy=y, r=7 if is_current else 5, class_=f"dot {verdict}"),
        class_="point" + (" current" if is_current else "") + ("" if one.same_questions else " apart"),
    )


def _label(candidate: str, *, x: float, is_current: bool) -> Html:
    text = candidate if len(candidate) <= 19 else f"{candidate[:8]}…{candidate[-10:]}"
    y = HEIGHT - BOTTOM + 16
    kind = "label end current" if is_current else "label end"
    return tag("text", text, x=x, y=y, transform=f"rotate(-38 {x} {y})", class_=kind)
