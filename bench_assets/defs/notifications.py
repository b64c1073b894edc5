"""Sensors that tell a channel of the team's what came of a run."""

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

import dagster as dg

from bench_assets.contracts.deployment import Deployment
from bench_assets.contracts.notification import Event, Notify
from bench_assets.defs.comparison import GATE
from bench_assets.errors import BenchError
from bench_assets.stages.workspace import Workspace

if TYPE_CHECKING:
    from bench_assets.notifying.webhook import Message

VERDICTS: dict[str, Event] = {"GO": "GO", "NO-GO": "NO-GO", "INCONCLUSIVE": "INCONCLUSIVE"}
"""How a line of the gate's check begins."""


def notification_sensors(assets: Sequence[dg.AssetsDefinition], *, deployment: Deployment) -> list[dg.SensorDefinition]:
    """Return a sensor for runs that end well and one for those that do not; none without `notify`."""
    if deployment.notify is None:
        return []
    ours = frozenset(key for asset in assets for key in asset.keys)
    endings = {"notify_success": dg.DagsterRunStatus.SUCCESS, "notify_failure": dg.DagsterRunStatus.FAILURE}
    return [
        _sensor(name, status, deployment.notify, ours=ours, interval_sec=deployment.automation_interval_sec)
        for name, status in endings.items()
    ]


def _sensor(
    name: str, status: dg.DagsterRunStatus, notify: Notify, *, ours: frozenset[dg.AssetKey], interval_sec: int
) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=name,
        minimum_interval_seconds=interval_sec,
        default_status=dg.DefaultSensorStatus.RUNNING,
        # A run of `bench-assets run` or `dagster asset materialize` belongs to no code location in Dagster's eyes.
        monitor_all_code_locations=True,
        description="Posts the gate's verdicts, or a failure, to the webhook of the deployment's `notify`.",
    )
    def told(context: dg.RunStatusSensorContext, workspace: dg.ResourceParam[Workspace]) -> None:
        run = context.dagster_run
        if not ours & _assets_of(context.instance, run):
            return
        for message in messages(context.instance, run, failed=status == dg.DagsterRunStatus.FAILURE):
            if message.event not in notify.events:
                continue
            if (fault := _posted(message, notify, workspace)) is not None:
                context.log.error(fault)

    return told


def _assets_of(instance: dg.DagsterInstance, run: dg.DagsterRun) -> Set[dg.AssetKey]:
    """Return what a run was to make; a job's run that makes all of the job's assets does not name them."""
    if run.asset_selection:
        return run.asset_selection
    planned = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED)
    return {key for record in planned.records if (key := record.asset_key) is not None}


def _posted(message: "Message", notify: Notify, workspace: Workspace) -> str | None:
    """Return why a message did not arrive. A channel that is down must not hold up the next run's."""
    from bench_assets.notifying.webhook import post

    try:
        post(message, notify=notify, environ=workspace.environ)
    except BenchError as fault:
        return str(fault)
    return None


def messages(instance: dg.DagsterInstance, run: dg.DagsterRun, *, failed: bool) -> "Iterator[Message]":
    """Yield what there is to tell of a finished run: each verdict of the gate in it, else its failure."""
    from bench_assets.notifying.webhook import Message

    path, decided = f"/runs/{run.run_id}", False
    checks = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION).records
    for record in checks:
        event = record.event_log_entry.dagster_event
        check = event.asset_check_evaluation_data if event else None
        if check is None or check.check_name != GATE:
            continue
        for line in (check.description or "").splitlines():
            kind, _, rest = line.partition(": ")
            subject, _, reasons = rest.partition(". ")
            if (verdict := VERDICTS.get(kind)) is not None:
                benchmark = "@".join(check.asset_key.path[:2])
                decided = True
                yield Message(event=verdict, subject=f"{subject} on {benchmark}", reasons=reasons, path=path)
    if failed and not decided:
        partition = run.tags.get("dagster/partition") or run.tags.get("dagster/asset_partition_range_start", "a run")
        assets = ", ".join(sorted(key.to_user_string() for key in run.asset_selection or ()))
        yield Message(
            event="FAILURE",
            subject=f"{partition}: {assets or run.job_name}",
            reasons=_reasons(instance, run),
            path=path,
        )


def _reasons(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    steps = instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE).records
    found = []
    for record in steps:
        event = record.event_log_entry.dagster_event
        data = event.step_failure_data if event else None
        told = data.user_failure_data.description if data and data.user_failure_data else None
        found.append(told or (data.error.message if data and data.error else "a step failed"))
    return "\n".join(found) or "the run ended before any step failed; see its log"
