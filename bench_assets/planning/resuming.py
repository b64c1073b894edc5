"""Decides whether a run can go on, and as what."""

from collections.abc import Mapping

from bench_assets.contracts.base import JsonValue, digest
from bench_assets.contracts.plan import Plan
from bench_assets.errors import InvalidPlan

POPULATION = frozenset({"dataset_digest", "total_rows", "selection.ids", "selection.questions"})
"""What follows from the dataset's rows: the only things in which a resumed run may differ from the one before."""


def resumed(plan: Plan, current: Plan, *, run_id: str | None = None) -> Plan:
    """Return the plan that goes on with `current` under the settings of `plan`.

    The same conditions and the same rows: the same run, with its run_id. The same conditions but other rows: a new run
    that takes over the answers to unchanged questions. Other conditions: another run, and InvalidPlan names them all.
    `run_id` is the one that the person asked for; None for any.
    """
    same = plan.model_copy(
        update={"run_id": current.run_id, "created_at": current.created_at, "reuse_from": current.reuse_from}
    )
    differing = differences(current, same)
    if not differing and run_id in (None, current.run_id):
        return same
    if not differing:
        raise InvalidPlan(
            f"run `{run_id}` cannot be resumed: the current run of `{plan.candidate}` on `{plan.benchmark}` is "
            f"`{current.run_id}`. Leave the run_id out to go on with that, or leave `resume` out for a new run."
        )
    conditions = [text for name, text in differing.items() if name not in POPULATION]
    if conditions:
        raise InvalidPlan(
            f"run `{current.run_id}` cannot be resumed, because this would be another run. It differs in: "
            f"{'; '.join(conditions)}. Leave `resume` out to start a new run."
        )
    if run_id == current.run_id:
        raise InvalidPlan(
            f"run `{run_id}` cannot be resumed under its own run_id: the benchmark's rows have changed, which makes "
            "it a new run. Leave the run_id out; answers to unchanged questions are taken over."
        )
    return plan.model_copy(update={"reuse_from": current.run_id})


def differences(old: Plan, new: Plan) -> dict[str, str]:
    """Return what tells two plans apart, by the field's name, as `field: old → new`; digests cut to 12 digits."""
    before, after = _flat(old.identity_fields()), _flat(new.identity_fields())
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return {name: f"{name}: {_short(before.get(name))} → {_short(after.get(name))}" for name in names}


def _flat(fields: Mapping[str, JsonValue], prefix: str = "") -> dict[str, JsonValue]:
    flat: dict[str, JsonValue] = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _short(value: JsonValue) -> str:
    if isinstance(value, str) and len(value) == 64:
        return value[:12]
    if isinstance(value, list):
        return f"[{len(value)} items, {digest(value)[:12]}]"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "…"
