"""A project with finished runs in its store, made without an agent."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_assets.analysis.metrics import summarize
from bench_assets.catalog.benchmarks import find_benchmark
from bench_assets.catalog.dataset import dataset_digest
from bench_assets.catalog.project import Project
from bench_assets.contracts.outcome import Outcome
from bench_assets.contracts.plan import RunStatus, Selection
from bench_assets.contracts.run import FinishedRun
from bench_assets.stages.comparison import Assessed, assess, attach
from bench_assets.stages.progress import LogReporter
from bench_assets.stages.records import record_key
from bench_assets.stages.workspace import Workspace
from bench_assets.storage.bundle import RunBundle
from tests.analysis.observing import environment, records, run_record
from tests.endtoend.project import UserProject

QUESTIONS = 40


class Runs:
    """Writes finished runs of the benchmark `quiz@1.0`, one after the other in time."""

    def __init__(self, project: UserProject, *, gate: str = "{}", questions: int = QUESTIONS, extra: str = "") -> None:
        self.project = project
        self.questions = questions
        self.name = project.benchmark(
            [
                {"id": f"q{n}", "question": f"What is q{n}?", "golden": "golden", "meta": {"topic": "abc"[n % 3]}}
                for n in range(questions)
            ],
            extra=f"gate: {gate}\n{extra}",
        )
        found = Project.find(project.environ, cwd=project.folder)
        reporter = LogReporter(lambda _: None, detail=lambda _: None)
        self.workspace = Workspace(project=found, environ=project.environ, reporter=reporter)
        self._made = 0

    @property
    def benchmark(self) -> Any:
        """The benchmark as its files say now."""
        return find_benchmark(self.workspace.project.benchmarks, self.name)

    def add(
        self,
        candidate: str,
        *,
        right: int = 0,
        outcomes: Mapping[str, Outcome] | None = None,
        limit: int | None = None,
        status: RunStatus = "finished",
        **made: Any,
    ) -> str:
        """Store a run in which the first `right` questions are correct. Returns its run_id."""
        self._made += 1
        run_id = f"20260101-0000{self._made:02d}-00000000"
        asked = range(limit or self.questions)
        given: Mapping[str, Outcome] = outcomes or {f"q{n}": "correct" if n < right else "incorrect" for n in asked}
        answers, scores = records(given, **made)
        answers = [one.model_copy(update={"run_id": run_id}) for one in answers]
        scores = [one.model_copy(update={"run_id": run_id}) for one in scores]
        ids = [f"q{n}" for n in asked] if limit else None
        summary = summarize(
            zip(answers, scores, strict=True), questions=len(asked), repetitions=1, partial=limit is not None
        )
        run = run_record(
            candidate,
            run_id=run_id,
            status=status,
            benchmark=self.name,
            start_time=f"2026-01-01T00:00:{self._made:02d}.000000+00:00",
            selection=Selection(questions=len(asked), limit=limit, ids=ids),
            total_rows=self.questions,
            dataset_digest=dataset_digest(self.benchmark.dataset),
            environment=environment(candidate, lock_digest=str(self._made) * 64),
        )
        bundle = RunBundle(self.workspace.store, run_id)
        bundle.write(
            run,
            {
                "answers.jsonl": b"".join(one.to_line() for one in answers),
                "scores.jsonl": b"".join(one.to_line() for one in scores),
                "summary.json": json.dumps(summary.to_json()).encode(),
                "environment.lock": b"",
            },
        )
        finished = FinishedRun(
            run_id=run_id, candidate=candidate, benchmark=self.name, folder=bundle.url, summary=summary
        )
        key = record_key("quiz/1.0/summary", partition=candidate, suffix=".json")
        self.workspace.store.write(key, json.dumps(finished.to_json()).encode())
        return run_id

    def assess(self, candidate: str, **options: Any) -> Assessed:
        """Do with a candidate's newest run what `comparison` does, but for Postgres."""
        key = record_key("quiz/1.0/summary", partition=candidate, suffix=".json")
        run_id = json.loads(self.workspace.store.read(key))["run_id"]
        made = assess(self.workspace, run_id, spec=self.benchmark.spec, **options)
        attach(self.workspace, made)
        key = record_key("quiz/1.0/comparison", partition=candidate, suffix=".json")
        self.workspace.store.write(key, json.dumps(made.assessment.to_json()).encode())
        return made

    def decided(self, candidate: str, **made: Any) -> Assessed:
        """Add a run and assess it."""
        self.add(candidate, **made)
        return self.assess(candidate)

    def file(self, run_id: str, name: str) -> Path:
        """Return the place of a run's file."""
        return self.project.storage / "runs" / run_id / name
