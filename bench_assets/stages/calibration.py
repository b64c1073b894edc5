"""A judge held against people: reading labelled rows, keeping the result, finding it again."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bench_assets.analysis.judging import JudgingCounts, calibrate
from bench_assets.contracts.answer import AnswerRecord
from bench_assets.contracts.base import JsonValue
from bench_assets.contracts.judging import Calibration, CalibrationNote, JudgingFigures
from bench_assets.contracts.outcome import LABELS, Label
from bench_assets.errors import InvalidInput, ObjectMissing
from bench_assets.judging.scorer import score_answers
from bench_assets.judging.settings import EffectiveJudge
from bench_assets.planning.plan import timestamp
from bench_assets.stages.scores import open_judge
from bench_assets.stages.workspace import Workspace

COLUMNS = ("question", "golden", "answer", "label")
"""Of a file of labelled rows; `id` is optional, others are ignored."""


@dataclass(frozen=True)
class LabelledRow:
    """One answer with a person's verdict."""

    answer: AnswerRecord
    label: Label


def read_labelled(path: Path) -> list[LabelledRow]:
    """Read human-labelled rows: `.jsonl`, `.csv` or `.tsv` with `question`, `golden`, `answer`, `label`.

    A golden may be a list; in CSV and TSV, JSON text that is a list of texts. Raises InvalidInput with file and line.
    """
    if path.suffix not in (".jsonl", ".csv", ".tsv"):
        raise InvalidInput(f"`{path}` must be a .jsonl, .csv or .tsv file of human-labelled rows.")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"`{path}` cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"`{path}` is not UTF-8: byte {error.start + 1} fits no character.") from error
    rows = [_row(fields, number=number, where=f"{path}:{line}") for number, (line, fields) in _numbered(text, path)]
    if not rows:
        raise InvalidInput(f"`{path}` holds no rows.")
    return rows


def calibrate_judge(workspace: Workspace, judge: EffectiveJudge, *, path: Path) -> Calibration:
    """Have a judge label the rows of a file that people have labelled, and keep the result under its identity.

    Raises InvalidInput for a file that cannot be used, InvalidJudge and JudgeFailed for a judge that cannot judge.
    """
    rows = read_labelled(path)
    workspace.reporter.start(f"calibrating {judge.spec.model or judge.spec.type}", total=len(rows))
    scores = []
    try:
        with open_judge(workspace, judge) as scorer:
            for score in score_answers((row.answer for row in rows), scorer):
                scores.append(score)
                workspace.reporter.advance(len(scores))
    finally:
        workspace.reporter.finish()
    calibration = calibrate(
        zip((row.label for row in rows), scores, strict=True),
        judge=judge.identity,
        source=path.name,
        source_digest=sha256(path.read_bytes()).hexdigest(),
        created_at=timestamp(),
    )
    text = json.dumps(calibration.to_json(), ensure_ascii=False, allow_nan=False, indent=2)
    workspace.store.write(calibration_key(judge.identity.digest), text.encode() + b"\n")
    return calibration


def calibration_key(judge: str) -> str:
    """Return where the calibration of a judge lies. `judge` is the digest of its identity."""
    return f"calibrations/{judge}.json"


def calibration_of(workspace: Workspace, judge: str) -> CalibrationNote | None:
    """Return the calibration of a judge in short; None when it was never held against people."""
    key = calibration_key(judge)
    try:
        found = json.loads(workspace.store.read(key))
    except ObjectMissing:
        return None
    return Calibration.from_json(found, source=workspace.store.url(key)).note()


def judging_figures(workspace: Workspace, judge: EffectiveJudge, counts: JudgingCounts) -> JudgingFigures:
    """Return how the verdicts came about, with the calibration of their judge."""
    price = judge.spec.prices.get(judge.spec.model or "") if not judge.panel else None
    return counts.figures(price=price, calibration=calibration_of(workspace, judge.identity.digest))


def _numbered(text: str, path: Path) -> Iterator[tuple[int, tuple[int, JsonValue]]]:
    return enumerate(_lines(text, path), start=1)


def _lines(text: str, path: Path) -> Iterator[tuple[int, JsonValue]]:
    if path.suffix != ".jsonl":
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ",")
        for fields in reader:
            yield reader.line_num, _with_lists(fields)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise InvalidInput(f"{path}:{number}: the line is not JSON ({error}).") from error


def _with_lists(fields: dict[str, str]) -> dict[str, JsonValue]:
    golden = fields.get("golden") or ""
    if not golden.startswith("["):
        return dict(fields)
    try:
        return {**fields, "golden": json.loads(golden)}
    except ValueError:
        return dict(fields)


def _row(fields: JsonValue, *, number: int, where: str) -> LabelledRow:
    if not isinstance(fields, dict) or any(fields.get(name) is None for name in COLUMNS):
        raise InvalidInput(f"{where}: a row needs {', '.join(f'`{name}`' for name in COLUMNS)}.")
    label = str(fields["label"]).strip().lower()
    if label not in LABELS:
        raise InvalidInput(f"{where}: the label `{label[:80]}` is none of {', '.join(LABELS)}.")
    golden = fields["golden"]
    if not _is_text_or_texts(golden):
        raise InvalidInput(f"{where}: `golden` must be text or a list of texts.")
    name = str(fields.get("id") or number)
    answer = AnswerRecord(
        execution_id=f"{number}-{name}",
        id=name,
        repetition=1,
        question=str(fields["question"]),
        golden=golden,
        answer=str(fields["answer"]),
        duration_ms=0,
        attempt=1,
        attempts=[],
        started_at=timestamp(),
    )
    return LabelledRow(answer, next(known for known in LABELS if known == label))


def _is_text_or_texts(golden: JsonValue) -> bool:
    items: Iterable[JsonValue] = golden if isinstance(golden, list) and golden else [golden]
    return all(isinstance(item, str) for item in items)
