"""What carries on behind a plan by itself."""

from collections.abc import Sequence

import dagster as dg

from bench_assets.catalog.benchmarks import Benchmark
from bench_assets.contracts.deployment import Deployment
from bench_assets.defs.partitions import asset_key


def carry_on_sensors(benchmarks: Sequence[Benchmark], *, deployment: Deployment) -> list[dg.SensorDefinition]:
    """Return the sensor that evaluates the conditions; none when no benchmark has `automation: true`.

    Dagster's own one would be off until a person turns it on in each deployment.
    """
    automated = [benchmark for benchmark in benchmarks if benchmark.spec.automation]
    if not automated:
        return []
    keys = dg.AssetSelection.key_prefixes(*([benchmark.spec.name, benchmark.spec.version] for benchmark in automated))
    return [
        dg.AutomationConditionSensorDefinition(
            "carry_on",
            target=keys - dg.AssetSelection.assets(*(asset_key(benchmark, "plan") for benchmark in automated)),
            default_status=dg.DefaultSensorStatus.RUNNING,
            minimum_interval_seconds=deployment.automation_interval_sec,
            run_tags={"dagster/priority": str(deployment.automatic_priority), "bench/started_by": "automation"},
            description=(
                "Carries a new plan on to answers, scores and everything behind them, for benchmarks with "
                "`automation: true`. Nothing but a new plan makes it start."
            ),
        )
    ]
