"""Markdown for a pull request and for the metadata of Dagster's UI.

Texts of agents, judges and datasets are untrusted: `plain` makes them plain text wherever they stand.
"""

import re
import string
from collections.abc import Iterable, Iterator, Sequence

from bench_assets.analysis.sentences import effect_sentence, p_text, percent, points, spread
from bench_assets.contracts.comparison import Comparison, Ratio, Shown, Transition, TransitionKind
from bench_assets.contracts.gate import CheckStatus, GateCheck, GateDecision, Verdict
from bench_assets.contracts.leaderboard import Leaderboard, Standing

MARKS: dict[CheckStatus, str] = {"fail": "❌ broken", "unknown": "❔ open", "pass": "✅ kept"}
SIGNS: dict[Verdict, str] = {"GO": "✅", "NO-GO": "❌", "INCONCLUSIVE": "❔"}
SHOWN_KINDS: tuple[TransitionKind, ...] = ("broken", "to_error", "flaky", "fixed")
ESCAPES = {ord(sign): f"&#{ord(sign)};" for sign in string.punctuation if sign not in ".,:;%?'()/=+-@"}
REFERENCES = re.compile(r"(?<!\w)@(?=\w)|#(?=\d)")
"""What GitHub and GitLab take for a person or another issue, even where it is written as an entity."""


def plain(text: str, *, most: int = 160) -> str:
    """Return untrusted text as one line of Markdown that shows it and does nothing else.

    Punctuation that could be markup, HTML or a table's border becomes entities; nobody is mentioned and no issue
    referred to. Cut at `most` characters.
    """
    line = " ".join(text.split())
    line = line if len(line) <= most else line[: most - 1] + "…"
    return REFERENCES.sub("\\g<0>\u2060", line).translate(ESCAPES)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Return a Markdown table; cells are Markdown already. `right` names the columns with figures."""
    rule = ["---:" if number in right else "---" for number in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def checks_table(checks: Iterable[GateCheck]) -> str:
    """Return the gate's conditions, each with its reason."""
    rows = [(MARKS[check.status], check.name.replace("_", " "), _sentence(check.reason)) for check in checks]
    return table(("", "condition", "why"), rows)


def figures_table(comparison: Comparison) -> str:
    """Return both runs side by side, and what changed on the questions they share."""
    one, other, effect = comparison.baseline, comparison.candidate, comparison.effect
    rows = [
        ("accuracy of all", percent(one.accuracy), percent(other.accuracy)),
        ("95 % interval (Wilson)", spread(one.wilson), spread(other.wilson)),
        ("accuracy of those with a verdict", percent(one.of_judged), percent(other.of_judged)),
        ("questions × repetitions", *(f"{side.questions} × {side.repetitions}" for side in (one, other))),
        ("without a verdict", str(one.errors), str(other.errors)),
        *_passes(comparison),
        *_ratios(comparison),
    ]
    text = table(("", plain(one.candidate), plain(other.candidate)), rows, right=(1, 2))
    if effect is None:
        return text
    on = f"On the {effect.n} common questions: {effect_sentence(effect)}"
    return f"{text}\n\n{on}"


def transitions_table(comparison: Comparison) -> str:
    """Return how many questions there are of each kind."""
    rows = [(kind.replace("_", " "), str(count)) for kind, count in comparison.counts.items() if count]
    return table(("questions", "number"), rows, right=(1,))


def groups_table(comparison: Comparison) -> str:
    """Return the comparison by meta fields; empty text without groups."""
    if not comparison.groups:
        return ""
    rows = [
        (
            plain(f"{group.field} = {group.value}"),
            str(group.n),
            percent(group.baseline_accuracy),
            percent(group.candidate_accuracy),
            points(group.delta),
            spread(group.interval, signed=True),
        )
        for group in comparison.groups
    ]
    head = ("group", "n", "baseline", "candidate", "difference", "95 % interval")
    return table(head, rows, right=range(1, 6))


def questions_table(transitions: Iterable[Transition], *, most: int = 20) -> str:
    """Return the first questions that changed, with both answers and the candidate's reason; empty without one."""
    changed = [one for kind in SHOWN_KINDS for one in transitions if one.kind == kind]
    if not changed:
        return ""
    rows = [
        (
            one.kind.replace("_", " "),
            plain(one.id, most=40),
            plain(one.question),
            _answer(one.baseline),
            _answer(one.candidate),
            plain(_telling(one.candidate).reason),
        )
        for one in changed[:most]
    ]
    text = table(("", "id", "question", "baseline said", "candidate said", "why"), rows)
    return text if len(changed) <= most else f"{text}\n\n… and {len(changed) - most} more; the report has them all."


def leaderboard_table(board: Leaderboard) -> str:
    """Return the leaderboard, and who is missing from it."""
    rows = [
        (
            str(place),
            plain(one.candidate),
            f"{SIGNS[one.verdict]} {one.verdict}" if one.verdict else "-",
            percent(one.accuracy),
            spread(one.interval),
            points(one.delta),
            "-" if one.p_value is None or one.compared is None else p_text(one.p_value, one.compared),
            str(one.errors),
            f"{one.questions} × {one.repetitions}{_aside(one)}",
        )
        for place, one in enumerate(board.standings, start=1)
    ]
    against = f"against {plain(board.baseline)}" if board.baseline else "difference"
    head = ("", "candidate", "gate", "accuracy", "95 % interval", against, "p (Holm)", "errors", "questions")
    text = table(head, rows, right=(3, 4, 5, 6, 7, 8))
    missing = f"\n\nWithout a finished run: {', '.join(plain(one) for one in board.missing)}." if board.missing else ""
    return text + missing


def pull_request(decision: GateDecision, comparison: Comparison | None) -> str:
    """Return the whole summary for a pull request: verdict, reasons, figures, what changed."""
    return "\n\n".join(_parts(decision, comparison)) + "\n"


def _parts(decision: GateDecision, comparison: Comparison | None) -> Iterator[str]:
    against = f" against {plain(decision.baseline)}" if decision.baseline else ""
    yield f"## {SIGNS[decision.verdict]} {decision.verdict}: {plain(decision.candidate)} on {plain(decision.benchmark)}"
    yield f"Run {plain(decision.run_id)}{against}."
    yield checks_table(decision.checks)
    if decision.questions_needed is not None:
        yield (
            f"About {decision.questions_needed} questions (or more repetitions) would settle whether accuracy fell by "
            f"more than {100 * decision.policy.max_drop:.1f} points."
        )
    if comparison is None:
        return
    yield "### Figures"
    yield figures_table(comparison)
    yield from (f"- {_sentence(note)}" for note in comparison.notes)
    yield "### Questions"
    yield transitions_table(comparison)
    if changed := questions_table(comparison.transitions):
        yield f"<details><summary>Questions that changed</summary>\n\n{changed}\n\n</details>"
    if groups := groups_table(comparison):
        yield f"<details><summary>By group</summary>\n\n{groups}\n\n</details>"


def _sentence(text: str) -> str:
    """Return one of our sentences, whose quoted values may be anybody's, as Markdown."""
    return plain(text, most=2_000)


def _passes(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    one, other = comparison.baseline, comparison.candidate
    for k in range(2, min(one.repetitions, other.repetitions) + 1):
        yield f"right in at least one of {k}", percent(one.pass_at.get(k)), percent(other.pass_at.get(k))
        yield f"right in all of {k}", percent(one.pass_all.get(k)), percent(other.pass_all.get(k))


def _ratios(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    for found in (comparison.latency, comparison.cost):
        if found is not None:
            yield found.what.replace("_ms", " (ms)"), f"{found.baseline:,.4g}", f"{found.candidate:,.4g}{_times(found)}"


def _times(found: Ratio) -> str:
    return "" if found.ratio is None else f" ({found.ratio:.2f} ×)"


def _telling(side: Sequence[Shown]) -> Shown:
    """Return the repetition worth showing: the first that is not correct, or else the first."""
    return next((one for one in side if one.outcome != "correct"), side[0])


def _answer(side: Sequence[Shown]) -> str:
    one = _telling(side)
    return plain(one.answer if one.answer is not None else f"({one.error or one.outcome})")


def _aside(one: Standing) -> str:
    return (
        "" if one.same_questions and not one.partial else " (other questions)" if not one.same_questions else " (part)"
    )
