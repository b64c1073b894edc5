"""How many shards are in one run, by deployment."""

import dagster as dg
import pytest

from bench_assets.catalog.benchmarks import list_benchmarks
from bench_assets.contracts.deployment import Deployment
from bench_assets.definitions import build_definitions


@pytest.fixture
def benchmarks(tmp_path):
    folder = tmp_path / "benchmarks" / "quiz" / "1.0"
    folder.mkdir(parents=True)
    spec = 'name: quiz\nversion: "1.0"\njudge: {type: llm, model: my-judge}\nshards: 4\nautomation: true\n'
    (folder / "benchmark.yaml").write_text(spec, encoding="utf-8")
    (folder / "dataset.jsonl").write_text('{"id": "q1", "question": "2+2?", "golden": "4"}\n', encoding="utf-8")
    return list_benchmarks(tmp_path / "benchmarks")[0]


def policies(benchmarks, deployment):
    graph = build_definitions(benchmarks, deployment=deployment).resolve_asset_graph()
    return {key.path[-1]: graph.get(key).backfill_policy for key in graph.get_all_asset_keys()}


def requested(benchmarks, deployment):
    """Return how many shards each run has that a new plan makes the automation ask for."""
    definitions = build_definitions(benchmarks, deployment=deployment)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("candidates", ["kg@v1"])
        before = dg.evaluate_automation_conditions(definitions, instance)
        assert before.total_requested == 0
        plan = dg.AssetMaterialization(dg.AssetKey(["quiz", "1.0", "plan"]), partition="kg@v1")
        instance.report_runless_asset_event(plan)
        after = dg.evaluate_automation_conditions(definitions, instance, cursor=before.cursor)
        again = dg.evaluate_automation_conditions(definitions, instance, cursor=after.cursor)
        assert again.total_requested == 0
        return after


def test_a_laptop_has_all_shards_in_one_run_and_a_cluster_one_a_pod(benchmarks):
    one, many = dg.BackfillPolicy.single_run(), dg.BackfillPolicy.multi_run(1)
    assert set(policies(benchmarks, Deployment()).values()) == {one}
    found = policies(benchmarks, Deployment(max_shards_per_run=1))
    assert {name for name, policy in found.items() if policy == many} == {"answers", "scores"}
    assert {name for name, policy in found.items() if policy == one} == set(found) - {"answers", "scores"}


# Dagster's own evaluation uses an option that it calls beta.
@pytest.mark.filterwarnings("ignore:Parameter `include_sources`")
def test_a_new_plan_and_nothing_else_starts_all_shards_once(benchmarks):
    result = requested(benchmarks, Deployment())
    for name in ("answers", "scores"):
        key = dg.AssetKey(["quiz", "1.0", name])
        assert result.get_requested_partitions(key) == {f"kg@v1|00{n}" for n in range(4)}
    assert result.get_num_requested(dg.AssetKey(["quiz", "1.0", "summary"])) == 0


def test_without_the_specs_word_nothing_carries_on(benchmarks, tmp_path):
    spec = tmp_path / "benchmarks" / "quiz" / "1.0" / "benchmark.yaml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("automation: true\n", ""), encoding="utf-8")
    definitions = build_definitions(list_benchmarks(tmp_path / "benchmarks")[0])
    graph = definitions.resolve_asset_graph()
    assert {graph.get(key).automation_condition for key in graph.get_all_asset_keys()} == {None}
    assert [sensor.name for sensor in definitions.sensors] == ["new_git_tags"]


def test_answers_and_an_llm_judges_scores_are_in_pools_that_a_deployment_can_limit(benchmarks):
    graph = build_definitions(benchmarks).resolve_asset_graph()
    pools = {key.path[-1]: graph.get(key).pools for key in graph.get_all_asset_keys()}
    assert pools["answers"] == {"answers"}
    assert pools["scores"] == {"judge_openai"}
