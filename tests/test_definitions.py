"""The Dagster code location: the graph it makes of a project, and that every way of loading it works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from bench_assets.catalog.benchmarks import list_benchmarks
from bench_assets.definitions import build_definitions, defs
from bench_assets.errors import StorageFailed
from bench_assets.resources.workspace import workspace_resource

ROOT = Path(__file__).parents[1]
NAMES = ("plan", "answers", "scores", "summary", "result_rows", "comparison", "leaderboard")
INPUTS = {
    "plan": {"agent_environment"},
    "answers": {"plan"},
    "scores": {"plan", "answers"},
    "summary": {"plan", "answers", "scores"},
    "result_rows": {"summary"},
    "comparison": {"summary"},
    "leaderboard": {"summary"},
}
KINDS = {
    "agent_environment": {"python", "uv"},
    "plan": {"python"},
    "answers": {"python"},
    "scores": {"python"},
    "summary": {"python"},
    "result_rows": {"postgres"},
    "comparison": {"python"},
    "leaderboard": {"python"},
}
QUIZ = "my-quiz.ru/1.10-rc.1"


def write_benchmark(folder: Path, place: str, *, judge: str = "{type: exact_match}", shards: int = 3) -> None:
    name, version = place.split("/")
    at = folder / "benchmarks" / place
    at.mkdir(parents=True)
    spec = f'name: {name}\nversion: "{version}"\njudge: {judge}\nshards: {shards}\n'
    (at / "benchmark.yaml").write_text(spec, encoding="utf-8")
    (at / "dataset.jsonl").write_text('{"id": "q1", "question": "2+2?", "golden": "4"}\n', encoding="utf-8")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    write_benchmark(folder, QUIZ)
    write_benchmark(folder, "sums/2", judge="{type: llm, model: my-judge}", shards=1)
    return folder


@pytest.fixture
def graph(project):
    benchmarks, faults = list_benchmarks(project / "benchmarks")
    assert not faults
    return build_definitions(benchmarks).resolve_asset_graph()


def node_of(graph, key):
    return graph.get(dg.AssetKey(key.split("/")))


def test_each_benchmark_has_its_seven_assets_behind_one_environment(graph):
    found = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.get_all_asset_keys()
    }
    expected = {"agent_environment": set()}
    for benchmark in (QUIZ, "sums/2"):
        for name in NAMES:
            inputs = {key if key == "agent_environment" else f"{benchmark}/{key}" for key in INPUTS[name]}
            expected[f"{benchmark}/{name}"] = inputs
    assert found == expected


def test_candidates_are_dynamic_and_shards_come_from_the_benchmark(graph):
    candidates = dg.DynamicPartitionsDefinition(name="candidates")
    assert node_of(graph, "agent_environment").partitions_def == candidates
    for benchmark, shards in ((QUIZ, ["000", "001", "002"]), ("sums/2", ["000"])):
        grid = dg.MultiPartitionsDefinition({"candidate": candidates, "shard": dg.StaticPartitionsDefinition(shards)})
        for name in NAMES:
            expected = {"answers": grid, "scores": grid, "leaderboard": None}.get(name, candidates)
            assert node_of(graph, f"{benchmark}/{name}").partitions_def == expected


def test_a_key_of_the_grid_reads_candidate_then_shard(graph):
    key = dg.MultiPartitionKey({"shard": "003", "candidate": "kg@v1"})
    assert str(key) == "kg@v1|003"


def test_a_candidate_flows_down_the_graph_and_a_summary_waits_for_all_its_shards(graph):
    with dg.instance_for_test() as instance:
        instance.add_dynamic_partitions("candidates", ["kg@v1", "kg@v2"])
        summary, scores = node_of(graph, f"{QUIZ}/summary"), node_of(graph, f"{QUIZ}/scores")
        with dg.partition_loading_context(dynamic_partitions_store=instance):
            mapping = graph.get_partition_mapping(summary.key, parent_asset_key=scores.key)
            needed = mapping.get_upstream_mapped_partitions_result_for_partitions(
                summary.partitions_def.subset_with_partition_keys(["kg@v1"]),
                summary.partitions_def,
                scores.partitions_def,
            )
            assert set(needed.partitions_subset.get_partition_keys()) == {"kg@v1|000", "kg@v1|001", "kg@v1|002"}


def test_the_leaderboard_reads_every_candidate_and_no_check_keeps_one_off_it(graph):
    leaderboard, summary = node_of(graph, f"{QUIZ}/leaderboard"), node_of(graph, f"{QUIZ}/summary")
    mapping = graph.get_partition_mapping(leaderboard.key, parent_asset_key=summary.key)
    assert mapping == dg.AllPartitionMapping()
    (gate,) = [key for key in graph.asset_check_keys if key.asset_key.path[0] == "my-quiz.ru"]
    assert gate == dg.AssetCheckKey(node_of(graph, f"{QUIZ}/comparison").key, "release_gate")
    assert graph.get(gate).blocking
    assert leaderboard.key not in graph.get(gate.asset_key).child_keys


def test_the_assets_carry_what_the_interface_sorts_them_by(graph):
    for key in graph.get_all_asset_keys():
        node, name = graph.get(key), key.path[-1]
        spec = graph.assets_def_for_key(key).get_asset_spec(key)
        expected = {"openai"} if key.to_user_string() == "sums/2/scores" else KINDS[name]
        assert spec.kinds == expected
        assert list(spec.owners) == ["team:evaluation"]
        assert len(spec.description) > 40
        assert node.group_name == {
            "agent_environment": "agents",
            "my-quiz.ru": "my_quiz_ru_1_10_rc_1",
            "sums": "sums_2",
        }.get(key.path[0])
        assert node.backfill_policy == dg.BackfillPolicy.single_run()
        assert graph.assets_def_for_key(key).get_io_manager_key_for_asset_key(key) == "records"


def test_every_setting_in_the_launchpad_is_described(graph):
    for key in graph.get_all_asset_keys():
        schema = graph.assets_def_for_key(key).op.config_schema
        fields = getattr(schema.config_type, "fields", {}) if schema else {}
        assert [name for name, field in fields.items() if not field.description] == []
    plan = graph.assets_def_for_key(dg.AssetKey(["sums", "2", "plan"])).op.config_schema
    assert {"limit", "sample", "seed", "timeout_sec", "env_overrides", "run_id"} <= set(plan.config_type.fields)


def test_a_broken_benchmark_is_left_out_and_named(project, monkeypatch):
    write_benchmark(project, "broken/1", judge="{type: psychic}")
    monkeypatch.chdir(project)
    monkeypatch.delenv("BENCH_PROJECT", raising=False)
    with pytest.warns(UserWarning, match=r"left out: .*broken/1/benchmark\.yaml:3: ") as warned:
        loaded = defs().resolve_asset_graph()
    assert len(warned) == 1
    assert {key.path[0] for key in loaded.get_all_asset_keys()} == {"agent_environment", "my-quiz.ru", "sums"}


def test_names_that_dagster_cannot_tell_apart_do_not_take_the_others_down(tmp_path):
    for place in ("a-b/1.0", "a_b/1.0", "a-b/1_0", "a-b/1.1", "ab/1.0"):
        write_benchmark(tmp_path, place)
    benchmarks, faults = list_benchmarks(tmp_path / "benchmarks")
    assert [benchmark.spec.id for benchmark in benchmarks] == ["a-b@1.0", "a-b@1.1", "ab@1.0"]
    assert [("`a-b@1.0`" in str(fault), "rename" in str(fault)) for fault in faults] == [(True, True)] * 2
    dg.Definitions.validate_loadable(build_definitions(benchmarks))


def test_a_run_opens_the_project_of_its_folder_and_reaches_for_s3_only_where_it_is_used(project, monkeypatch):
    monkeypatch.chdir(project)
    for name in ("BENCH_PROJECT", "BENCH_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this")
    with dg.build_resources({"workspace": workspace_resource}) as opened:
        assert opened.workspace.project.folder == project
        assert opened.workspace.store.root_url == str(project / ".bench")
        with pytest.raises(StorageFailed, match="nobody-has-this"):
            opened.workspace.open_place("s3://some-bucket/bench")


@pytest.fixture
def shell(tmp_path):
    """What a person's terminal has after the README's set-up, with a Dagster home of the test's own."""
    home = tmp_path / "dagster_home"
    home.mkdir()
    shutil.copy(ROOT / "dagster_home" / "dagster.yaml", home)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BENCH", "DAGSTER"))}
    scripts = str(Path(sys.executable).parent)
    return {
        **kept,
        "PATH": f"{scripts}{os.pathsep}{kept['PATH']}",
        "DAGSTER_HOME": str(home),
        "BENCH_CACHE_DIR": str(tmp_path / "cache"),
    }


def run(*command: str, cwd: Path, shell: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env=shell,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("dagster definitions validate", "All code locations passed validation"),
        ("dg check defs", "All definitions loaded successfully"),
        ("dagster asset list", "word_arithmetic/1.0/summary"),
    ],
)
def test_dagsters_own_commands_find_the_project_in_its_folder(shell, command, said):
    # `dagster asset …` alone reads no project file: it takes the module from -m or from this variable.
    if command.startswith("dagster asset"):
        shell["DAGSTER_MODULE_NAME"] = "bench_assets.definitions"
    done = run(*command.split(), cwd=ROOT, shell=shell)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout + done.stderr


def test_loading_the_definitions_writes_nothing_anywhere(project, shell, tmp_path):
    places = {name: tmp_path / name for name in ("home", "temporary", "empty_dagster_home")}
    for place in places.values():
        place.mkdir()
    shell |= {
        "HOME": str(places["home"]),
        "TMPDIR": str(places["temporary"]),
        "DAGSTER_HOME": str(places["empty_dagster_home"]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    before = sorted(project.rglob("*"))
    load = "from bench_assets.definitions import defs; print(len(defs().resolve_all_asset_keys()))"
    done = run(sys.executable, "-c", load, cwd=project, shell=shell)
    assert done.stdout == "15\n", done.stderr
    assert sorted(project.rglob("*")) == before
    assert [list(place.iterdir()) for place in places.values()] == [[], [], []]
    assert not (tmp_path / "cache").exists()
