"""`bench-assets candidates`, `benchmarks` and `validate`."""

from tests.endtoend.project import ECHO, quiz, write_package

AGENTS = "agents:\n  kg: {source: 'git+https://git.example.org/t/kg.git@{ref}', entry_point: agent}\n"


def test_candidates_are_added_listed_and_removed(project):
    project.agents(AGENTS)
    write_package(project.folder / "agent", ECHO)
    added = project.cli("candidates", "add", "kg@feature/a%2Cb")
    assert (added.returncode, added.stdout) == (0, "kg@feature/a%2Cb\n")
    source = project.cli("candidates", "add", "./agent", "--agent-entry-point", "agent").stdout.strip()
    again = project.cli("candidates", "add", "./agent", "--agent-entry-point", "agent").stdout.strip()
    other = project.cli("candidates", "add", "./agent", "--agent-import-path", "my_agent:make_agent").stdout.strip()
    assert source == again != other
    assert project.cli("candidates", "list").stdout.splitlines() == sorted([source, other, "kg@feature/a%2Cb"])
    assert project.cli("candidates", "remove", source).returncode == 0
    assert source not in project.cli("candidates", "list").stdout
    assert project.cli("candidates", "remove", source).returncode == 2


def test_a_candidate_that_names_nothing_is_refused(project):
    project.agents(AGENTS)
    for name in ("gk@v1", "kg", "kg@a,b"):
        done = project.cli("candidates", "add", name)
        assert done.returncode == 2, name
        assert "Traceback" not in done.stderr
    assert project.cli("candidates", "list").stdout == ""
    assert "no agent `gk`" in project.cli("candidates", "add", "gk@v1").stderr


def test_benchmarks_are_listed_and_broken_ones_named(project):
    project.benchmark(quiz())
    assert "quiz@1.0" in project.cli("benchmarks").stdout
    project.benchmark(quiz(), name="odd", extra="version: '2'\n")
    listed = project.cli("benchmarks")
    assert listed.returncode == 2
    assert "quiz@1.0" in listed.stdout
    assert "odd" in listed.stderr


def test_a_golden_that_its_matcher_cannot_use_is_refused_with_its_line(project):
    project.benchmark(
        [{"id": "q1", "question": "?", "golden": "4"}, {"id": "q2", "question": "?", "golden": "four"}],
        judge="{type: numeric}",
    )
    done = project.cli("validate", "benchmarks/quiz/1.0")
    assert done.returncode == 2
    assert "dataset.jsonl:2" in done.stderr
