import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_assets.analysis.versions import candidate_order, version_order

ASCENDING = [
    "v1.0.0-dev",
    "v1.0.0-alpha",
    "v1.0.0-alpha.1",
    "v1.0.0-alpha.beta",
    "v1.0.0-beta",
    "v1.0.0-beta.2",
    "v1.0.0-beta.11",
    "v1.0.0-rc.1",
    "v1.0.0-rc9",
    "v1.0.0-rc10",
    "v1.0.0-SNAPSHOT",
    "v1.0.0",
    "v1.0.0-3-gabcdef0",
    "v1.0.1-1",
    "v1.0.1",
    "v1.0.1.post1",
    "v1.2.3-rc1",
    "v1.2.3",
    "v1.10.0",
    "v2",
    "2026.1.15",
]


def test_versions_stand_in_the_order_of_semantic_versioning():
    assert sorted([*ASCENDING[::2], *ASCENDING[1::2]], key=version_order) == ASCENDING
    for one, other in itertools.pairwise(ASCENDING):
        assert version_order(one) < version_order(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v1.2", "1.2.0"),
        ("v1.2.0+linux", "v1.2.0+mac"),
        ("1.2rc1", "v1.2.0-rc.1"),
        ("1.2.dev3", "1.2.0-dev.3"),
        ("refs/tags/v1.2", "v1.2"),
        ("agent/v1.2.3", "agent-1.2.3"),
        ("1.0a1", "v1.0.0-alpha.1"),
    ],
)
def test_other_spellings_of_a_version_are_equal(one, other):
    assert version_order(one) == version_order(other)


@pytest.mark.parametrize("ref", ["main", "fix/1234", "0123456789abcdef0123456789abcdef01234567", "1234567", "HEAD", ""])
def test_branches_and_commits_are_no_versions_and_stand_by_time(ref):
    assert not version_order(ref).is_version
    assert version_order(ref, time="2026-01-02") > version_order("other", time="2026-01-01")
    assert version_order(ref, time="2026-01-02") < version_order("v0.0.1-alpha", time="2026-01-01")


def test_a_candidate_stands_where_its_ref_does():
    assert candidate_order("kg@v1.0.0-rc1") < candidate_order("kg@v1.0.0~large") < candidate_order("kg@v1.0.1")
    assert not candidate_order("no candidate").is_version


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_two_refs_can_be_ordered(one, other):
    assert (version_order(one) < version_order(other)) or (version_order(one) >= version_order(other))
