"""The page of a run that is not finished: how far it came, and no figure that it cannot have."""

from collections.abc import Sequence

from bench_assets.analysis.report.html import Html, table, tag
from bench_assets.analysis.report.page import digest_of, own_file
from bench_assets.analysis.report.provenance import provenance_section
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.run import RunRecord

MOST = 500
"""Answers on the page; `answers.jsonl` has them all."""
LONGEST_CELL = 400


def render_unfinished(
    run: RunRecord, *, settled: int, planned: int, errors: int, answers: Sequence[AnswerRecord]
) -> str:
    """Return the page. `settled` of `planned` executions were answered or ended in one of the `errors`."""
    style = Html(own_file("report.css"))
    policy = f"default-src 'none'; style-src '{digest_of(style)}'; base-uri 'none'; form-action 'none'"
    title = f"{run.candidate} on {run.benchmark}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{run.status}: {title}"),
        tag("style", style),
    )
    told = f"{settled:,} of {planned:,} executions are settled, {errors:,} of them with an error."
    rows = [[one.id, _cut(one.question), _cut(one.answer), _cut(_error(one))] for one in answers[:MOST]]
    left_out = f"The first {MOST:,} of {len(answers):,}." if len(answers) > MOST else None
    body = tag(
        "body",
        tag(
            "header",
            tag("h1", run.candidate, tag("span", f" on {run.benchmark}", class_="quiet"), " ", _badge(run)),
            tag("p", f"Run {run.run_id}, started {run.start_time[:16].replace('T', ' ')} UTC", class_="quiet"),
        ),
        tag(
            "main",
            tag(
                "section",
                tag("h2", "Not finished"),
                tag("p", f"{told} There are no figures: over a part of the questions they would be others."),
                tag("p", "The command that began the run goes on with it when it is given --resume."),
                id="result",
            ),
            tag(
                "section",
                tag("h2", "Answers so far"),
                tag("p", left_out, class_="quiet") if left_out else None,
                table(["id", "question", "answer", "error"], rows, caption="Answers so far"),
                id="questions",
            )
            if rows
            else None,
            provenance_section([run]),
        ),
    )
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def _badge(run: RunRecord) -> Html:
    return tag("span", "interrupted" if run.status == "interrupted" else "under way", class_="badge even")


def _error(answer: AnswerRecord) -> str | None:
    return f"{answer.error.kind}: {answer.error.message}" if answer.error else None


def _cut(text: str | None) -> str:
    return "-" if text is None else text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
