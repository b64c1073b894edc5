"""The history as a picture by itself, for places that show Markdown: Dagster's UI, a pull request's comment."""

import base64
from collections.abc import Sequence

from bench_assets.analysis.report.chart import HEIGHT, WIDTH, history_chart
from bench_assets.analysis.report.html import Html, join, tag
from bench_assets.contracts.leaderboard import Standing

STYLE = """
text { font: 11.5px system-ui, "DejaVu Sans", sans-serif; fill: #5b636d; } .end { text-anchor: end; }
.current { fill: #1d2126; font-weight: 650; } .grid { stroke: #d9dce0; } .whisker { stroke: #5b636d; fill: none; }
.dot { fill: #5b636d; } .dot.better { fill: #17693a; } .dot.worse { fill: #b3261e; } .dot.even { fill: #7a5600; }
.apart .dot { fill: #fff; stroke: #5b636d; } .ground { fill: #fff; }
"""
"""The report's colours for a light page. A picture has its own ground, as it cannot know what it is shown on."""


def history_picture(standings: Sequence[Standing], *, current: str) -> str:
    """Return accuracy over candidates as an SVG in a `data:` address. `current` is the run_id to set off."""
    chart = history_chart(standings, current=current)
    opening, _, drawn = chart.partition(">")
    ground = tag("rect", width=WIDTH, height=HEIGHT, class_="ground")
    svg = join([Html(f'{opening} xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'),
                tag("style", Html(STYLE)), ground, Html(drawn)])  # fmt: skip
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
