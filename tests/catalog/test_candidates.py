from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_assets.catalog.agents import load_agents
from bench_assets.catalog.candidates import Candidates, ad_hoc_key
from bench_assets.catalog.project import Project
from bench_assets.contracts.agent import AGENT_NAME, AgentSpec, CandidateKey
from bench_assets.errors import InvalidAgent
from bench_assets.storage.local import LocalStore

AGENTS = """\
agents:
  kg:
    source: git+https://git.example.org/t/kg.git@{ref}
    entry_point: agent
    variants:
      fast: {kwargs: {depth: 1}}
"""


def catalog(folder: Path) -> Candidates:
    (folder / "agents.yaml").write_text(AGENTS, encoding="utf-8")
    project = Project.find({"BENCH_PROJECT": str(folder)}, cwd=folder)
    return Candidates(project, LocalStore(folder / ".bench"))


@given(
    ref=st.text(min_size=1, max_size=40),
    variant=st.none() | st.from_regex(AGENT_NAME, fullmatch=True),
)
def test_any_ref_makes_a_key_that_reads_back_and_that_dagster_can_hold(ref, variant):
    try:
        ref.encode()
    except UnicodeEncodeError:
        return  # no ref of git
    key = CandidateKey(agent="kg", ref=ref, variant=variant)
    assert CandidateKey.parse(str(key)) == key
    assert not set(str(key)) & set("|,[]\"'` \n")
    assert "..." not in str(key)
    assert "/" not in key.segment
    assert not key.segment.startswith(".")


def test_a_key_with_a_comma_in_its_ref_stays_readable():
    assert str(CandidateKey(agent="kg", ref="feature/a,b")) == "kg@feature/a%2Cb"


@pytest.mark.parametrize(
    "key", ["", "kg", "@v1", "kg@", "kg@v1|000", "kg@a,b", "kg@a...b", "k g@v1", "kg@v1~", "../kg@v1", "kg@v1\n"]
)
def test_what_is_no_key_is_refused_before_it_is_registered(key):
    with pytest.raises(InvalidAgent, match="is not a candidate"):
        CandidateKey.parse(key)


def test_an_agent_is_found_with_its_variant(tmp_path):
    key, agent, variant = catalog(tmp_path).resolve("kg@v1~fast")
    assert (key.ref, agent.entry_point, variant.kwargs) == ("v1", "agent", {"depth": 1})


def test_an_unknown_agent_or_variant_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(InvalidAgent, match=r"no agent `gk`.*`kg`"):
        catalog(tmp_path).resolve("gk@v1")
    with pytest.raises(InvalidAgent, match=r"no variant `slow`.*`fast`"):
        catalog(tmp_path).resolve("kg@v1~slow")


def test_one_definition_has_one_key_and_another_has_another():
    agent = AgentSpec(source="git+https://h/r.git@feature/a,b", entry_point="agent")
    again = AgentSpec(source="git+https://h/r.git@feature/a,b", entry_point="agent")
    other = AgentSpec(source="git+https://h/r.git@feature/a,c", entry_point="agent")
    keys = [str(ad_hoc_key(item, title="r", ref="feature/a,b")) for item in (agent, again, other)]
    assert keys[0] == keys[1] != keys[2]


def test_a_registered_candidate_is_found_by_another_process_until_it_is_removed(tmp_path):
    agent = AgentSpec(source="my-agent==1.0", import_path="my_agent:make")
    catalog(tmp_path).register("my-agent-1@1.0", agent)
    assert catalog(tmp_path).resolve("my-agent-1@1.0")[1] == agent
    assert catalog(tmp_path).registered() == ["my-agent-1@1.0"]
    catalog(tmp_path).forget("my-agent-1@1.0")
    with pytest.raises(InvalidAgent):
        catalog(tmp_path).resolve("my-agent-1@1.0")


def test_credentials_are_held_in_memory_and_not_written(tmp_path):
    candidates = catalog(tmp_path)
    public = AgentSpec(source="git+https://h/r.git@main", entry_point="agent")
    candidates.register("r@main", public)
    candidates.hold("r@main", public.model_copy(update={"source": "git+https://u:s3cr3t@h/r.git@main"}))
    assert "s3cr3t" in candidates.resolve("r@main")[1].source
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("agents:\n  kg:\n    source: x\n", 2, "exactly one of"),
        ("agents:\n  kg:\n    source: x\n    entry_point: a\n    import_path: a:b\n", 2, "exactly one of"),
        ("agents:\n  kg:\n    source: x\n    import_path: nonsense\n", 2, "module:attribute"),
        ("agents:\n  kg:\n    source: x\n    entry_point: a\n    python: 3.10\n", 5, 'python: "3.10"'),
        ("agents:\n  'k g':\n    source: x\n    entry_point: a\n", 2, "no name for an agent"),
        ("agents:\n  1:\n    source: x\n    entry_point: a\n", 2, "no name for an agent"),
        ("kg:\n  source: x\n", 1, "one key, `agents`"),
    ],
)
def test_a_bad_agents_file_is_refused_with_line_and_reason(tmp_path, text, line, said):
    path = tmp_path / "agents.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidAgent) as caught:
        load_agents(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in str(caught.value)
