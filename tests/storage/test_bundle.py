"""The finished files of a run, in every kind of store."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench_assets.errors import InvalidInput, RunConflict, StorageFailed
from bench_assets.storage.bundle import RunBundle
from bench_assets.storage.objects import LocalStore, ObjectStore
from tests.storage.records import RUN_ID, answer_record, run_record, score_record, summary

Files = dict[str, bytes | Iterable[bytes]]


def files(*outcomes: Any, cached: bool = False) -> Files:
    """Return the files of a run whose executions ended in `outcomes`."""
    ended = outcomes or ("correct", "correct", "correct")
    names = [f"q{number}" for number in range(1, len(ended) + 1)]
    return {
        "answers.jsonl": (answer_record(name).to_line() for name in names),
        "scores.jsonl": (
            score_record(name, outcome, cached=cached, usage=None if cached else {"total_tokens": 7}).to_line()
            for name, outcome in zip(names, ended, strict=True)
        ),
        "summary.json": json.dumps(summary(*ended).to_json()).encode(),
        "environment.lock": b"a==1\n",
    }


@pytest.fixture
def bundle(store: ObjectStore) -> RunBundle:
    return RunBundle(store, RUN_ID)


def test_a_bundle_is_written_and_read_back(bundle: RunBundle, store: ObjectStore) -> None:
    assert bundle.run() is None
    assert bundle.write(run_record(), files()) == "stored"
    assert list(store.list("runs/")) == [
        f"runs/{RUN_ID}/{name}"
        for name in ("answers.jsonl", "environment.lock", "run.json", "scores.jsonl", "summary.json")
    ]
    assert bundle.run() == run_record()
    assert bundle.summary() == summary()
    assert bundle.url == store.url(f"runs/{RUN_ID}")


def test_a_bundle_is_unfinished_until_its_last_file_is_there(bundle: RunBundle) -> None:
    def failing() -> Iterator[bytes]:
        yield b"{}"
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        bundle.write(run_record(), files() | {"scores.jsonl": failing()})
    assert bundle.run() is None
    assert bundle.write(run_record(), files()) == "stored"
    assert bundle.run() == run_record()


def test_writing_the_same_result_again_changes_nothing(bundle: RunBundle) -> None:
    bundle.write(run_record(), files())
    later = run_record(
        finish_time="2026-06-01T00:00:00+00:00", dagster_run_ids=["another"], bench_assets_version="9", resume=True
    )
    assert bundle.write(later, files(cached=True)) == "unchanged"
    assert bundle.run() == run_record()
    assert b'"total_tokens"' in bundle.store.read(bundle.key("scores.jsonl"))


def test_another_run_under_the_same_run_id_is_refused(bundle: RunBundle) -> None:
    bundle.write(run_record(), files("agent_error", "missing", "correct"))
    with pytest.raises(RunConflict, match=r"taken by another run, in .*`kg@v1` on `rusimpleqa@1.0`"):
        bundle.write(run_record(plan_identity="9" * 64), files())
    assert bundle.summary() == summary("agent_error", "missing", "correct")


@pytest.mark.parametrize("left_open", ["agent_error", "judge_error", "missing"])
def test_a_run_that_left_something_open_is_replaced_by_its_continuation(bundle: RunBundle, left_open: str) -> None:
    bundle.write(run_record(), files("correct", left_open, "correct"))
    bundle.attach("report.html", b"of the beginning")
    assert bundle.write(run_record(), files()) == "continued"
    assert bundle.summary() == summary()
    assert "report.html" not in bundle.names(), "it told of a result that is gone"


def test_a_run_whose_judge_was_still_to_come_is_replaced(bundle: RunBundle) -> None:
    unjudged = {name: data for name, data in files().items() if name in {"answers.jsonl", "environment.lock"}}
    assert bundle.write(run_record(status="checkpoint", judge_identity=None), unjudged) == "stored"
    assert bundle.write(run_record(), files()) == "continued"
    assert bundle.summary() == summary()


@pytest.mark.parametrize(
    "other",
    [
        {"answers.jsonl": b""},
        {"scores.jsonl": score_record("q1", "incorrect").to_line()},
        {"summary.json": json.dumps(summary("correct", "incorrect", "correct").to_json()).encode()},
        {"environment.lock": b"a==2\n"},
        {"more.json": b"{}"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_complete_run_is_never_replaced_by_another_result(bundle: RunBundle, other: Files) -> None:
    bundle.write(run_record(), files())
    before = {name: bundle.store.read(bundle.key(name)) for name in bundle.names()}
    with pytest.raises(RunConflict, match="A finished run is never changed"):
        bundle.write(run_record(), files() | other)
    assert {name: bundle.store.read(bundle.key(name)) for name in bundle.names()} == before


def test_a_complete_run_of_another_judge_is_another_result(bundle: RunBundle) -> None:
    bundle.write(run_record(), files())
    judge = run_record().judge_identity
    assert judge is not None
    with pytest.raises(RunConflict):
        bundle.write(run_record(judge_identity=judge.model_copy(update={"digest": "another"})), files())


def test_files_about_a_finished_run_can_come_later_and_anew(bundle: RunBundle) -> None:
    with pytest.raises(StorageFailed, match="no finished run"):
        bundle.attach("report.html", b"")
    bundle.write(run_record(), files() | {"gate.json": b"first"})
    bundle.attach("gate.json", b"second")
    assert bundle.write(run_record(), files() | {"gate.json": b"third"}) == "unchanged"
    assert bundle.store.read(bundle.key("gate.json")) == b"third"
    with pytest.raises(InvalidInput, match="cannot be attached"):
        bundle.attach("answers.jsonl", b"")
    for _ in range(2):
        bundle.detach("gate.json")
        assert "gate.json" not in bundle.names()
    with pytest.raises(InvalidInput, match="cannot be taken"):
        bundle.detach("answers.jsonl")


@pytest.mark.parametrize("name", ["run.json", "../run.json", "a/b", ""])
def test_a_file_cannot_leave_its_bundle(bundle: RunBundle, name: str) -> None:
    with pytest.raises(InvalidInput):
        bundle.write(run_record(), {name: b""})
    assert bundle.names() == []


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "../escape"])
def test_a_run_id_that_is_no_folder_is_refused(local_store: LocalStore, run_id: str) -> None:
    with pytest.raises(InvalidInput):
        RunBundle(local_store, run_id)


def test_ids_of_questions_never_become_paths(tmp_path: Path) -> None:
    bundle = RunBundle(LocalStore(tmp_path / "store"), RUN_ID)
    bundle.write(run_record(), {"answers.jsonl": answer_record("../../escape").to_line()})
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {f"store/runs/{RUN_ID}/{name}" for name in ("answers.jsonl", "run.json")}


def test_a_finished_bundle_is_copied_to_a_folder_and_to_another_store(
    bundle: RunBundle, tmp_path: Path, s3_store: ObjectStore
) -> None:
    with pytest.raises(StorageFailed, match="no finished run"):
        bundle.copy_to(tmp_path)
    bundle.write(run_record(), files())
    original = {name: bundle.store.read(bundle.key(name)) for name in bundle.names()}
    for _ in range(2):
        assert bundle.copy_to(tmp_path / "out") == str(tmp_path / "out" / RUN_ID)
        assert {path.name: path.read_bytes() for path in (tmp_path / "out" / RUN_ID).iterdir()} == original
    assert bundle.copy_to(s3_store) == s3_store.url(RUN_ID)
    assert {name: s3_store.read(f"{RUN_ID}/{name}") for name in original} == original


def test_a_copy_never_replaces_another_run(bundle: RunBundle, local_store: LocalStore) -> None:
    bundle.write(run_record(), files())
    RunBundle(local_store, RUN_ID, folder="").write(run_record(plan_identity="9" * 64), files())
    with pytest.raises(RunConflict, match="holds another run under the same run_id"):
        bundle.copy_to(local_store)


def test_copying_a_bundle_onto_itself_leaves_it_as_it_is(local_store: LocalStore) -> None:
    bundle = RunBundle(local_store, RUN_ID)
    bundle.write(run_record(), files())
    assert bundle.copy_to(local_store.root / "runs") == bundle.url
    assert bundle.run() == run_record()
    assert bundle.write(run_record(), files()) == "unchanged"


def test_every_number_in_run_json_is_one_that_json_knows(bundle: RunBundle) -> None:
    run = run_record(describe={"score": float("nan"), "cost": [float("inf")], "text": "\ud83d"})
    bundle.write(run, files())

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    read = json.loads(bundle.store.read(bundle.key("run.json")), parse_constant=refuse)
    assert read["describe"] == {"score": None, "cost": [None], "text": "\ufffd"}
    assert bundle.write(run, files()) == "unchanged"
