"""What counts as news in a repository: order, first looks, moved and deleted tags, odd names, branches."""

import pytest

from bench_assets.contracts.agent import CandidateKey
from bench_assets.contracts.watch import Watch
from bench_assets.watching.news import news_of


def commit(letter):
    return letter * 40


def refs(**tags):
    return {f"refs/tags/{name}": commit(letter) for name, letter in tags.items()}


def tagged(names, letter="a"):
    return {f"refs/tags/{name}": commit(letter) for name in names}


def looked(watch, refs, *, seen=None, epoch="e1", now=1000.0):
    return news_of("kg", watch, refs=refs, seen=seen, epoch=epoch, now=now)


def candidates(news):
    return [found.candidate for found in news.found]


@pytest.fixture
def watch():
    return Watch(tags="*", benchmarks=["quiz@1.0"])


@pytest.mark.parametrize(
    ("tags", "newest"),
    [
        (["0.5.9", "0.5.10", "0.5.2"], "0.5.10"),
        (["v1.0.0", "v1.0.0-rc.2", "v1.0.0-rc.10", "v0.9"], "v1.0.0"),
        (["v1.0.0-rc.2", "v1.0.0-rc.10", "v1.0.0-beta"], "v1.0.0-rc.10"),
        (["agent/v2.0", "agent/v10.0", "nightly"], "agent/v10.0"),
    ],
)
def test_the_first_look_takes_only_the_newest_version(watch, tags, newest):
    news = looked(watch, tagged(tags))
    assert candidates(news) == [str(CandidateKey(agent="kg", ref=newest))]
    assert set(news.seen.tags) == set(tags)


def test_hundreds_of_tags_give_one_request_unless_all_or_none_are_asked_for():
    many = tagged([f"v1.{n}.0" for n in range(400)])
    for existing, count in (("newest", 1), ("all", 400), ("none", 0)):
        watch = Watch(tags="v*", benchmarks=["quiz@1.0"], existing=existing)
        news = looked(watch, many)
        assert len(news.found) == count
        assert len({found.run_key for found in news.found}) == count
        assert looked(watch, many, seen=news.seen).found == []


def test_two_new_tags_are_two_requests_oldest_first(watch):
    first = looked(watch, tagged(["v1.0"]))
    second = looked(watch, tagged(["v1.10", "v1.0", "v1.9"]), seen=first.seen)
    assert candidates(second) == ["kg@v1.9", "kg@v1.10"]
    assert looked(watch, tagged(["v1.10", "v1.0", "v1.9"]), seen=second.seen).found == []


def test_a_moved_tag_is_a_new_run_that_says_so_even_when_it_moves_back(watch):
    seen = looked(watch, refs(v1="a")).seen
    moved = looked(watch, refs(v1="b"), seen=seen)
    assert candidates(moved) == ["kg@v1"]
    assert "moved from aaaaaaaaaaaa to bbbbbbbbbbbb" in moved.found[0].reason
    back = looked(watch, refs(v1="a"), seen=moved.seen)
    keys = {looked(watch, refs(v1="a")).found[0].run_key, moved.found[0].run_key, back.found[0].run_key}
    assert len(keys) == 3


def test_a_deleted_tag_is_told_once_and_its_return_is_no_news(watch):
    seen = looked(watch, refs(v1="a", v2="a")).seen
    gone = looked(watch, refs(v2="a"), seen=seen)
    assert gone.found == []
    assert any("tag `v1` was deleted" in note for note in gone.notes)
    again = looked(watch, refs(v2="a"), seen=gone.seen)
    assert (again.found, again.notes) == ([], [])
    assert looked(watch, refs(v1="a", v2="a"), seen=again.seen).found == []


def test_an_emptied_cursor_asks_again_under_another_key_and_a_normal_look_does_not(watch):
    first = looked(watch, refs(v1="a"), epoch="e1")
    assert looked(watch, refs(v1="a"), epoch="e1", seen=first.seen).found == []
    anew = looked(watch, refs(v1="a"), epoch="e2")
    assert candidates(anew) == candidates(first)
    assert anew.found[0].run_key != first.found[0].run_key


@pytest.mark.parametrize("tag", ["feature/a,b", "a|b", "ü", "x~1~y", "100%", "a...b", "v1.0+build@x", "-dash"])
def test_any_character_of_a_tag_becomes_a_key_that_reads_back(watch, tag):
    (key,) = candidates(looked(watch, tagged([tag])))
    assert not set(key) & set(",| ")
    assert CandidateKey.parse(key).ref == tag


def test_a_tag_too_long_for_a_partition_is_left_out_and_named(watch):
    news = looked(watch, tagged(["é" * 60, "v1"]))
    assert candidates(news) == ["kg@v1"]
    long = looked(watch, tagged(["é" * 60]), seen=news.seen)
    assert long.found == []
    only = looked(Watch(tags="é*", benchmarks=["quiz@1.0"]), tagged(["é" * 60]))
    assert any("left out" in note for note in only.notes)


def test_versions_before_since_and_tags_outside_the_pattern_are_not_looked_at():
    watch = Watch(tags="v*", since="v1.2", existing="all", benchmarks=["quiz@1.0"])
    news = looked(watch, tagged(["v1.1", "v1.2-rc1", "v1.2", "v1.10", "w2"]))
    assert candidates(news) == ["kg@v1.2", "kg@v1.10"]


def test_a_wider_pattern_does_not_start_all_that_it_now_matches():
    old = looked(Watch(tags="v2*", benchmarks=["quiz@1.0"]), tagged(["v2.0", "v1.0", "v1.1"]))
    wide = looked(Watch(tags="v*", benchmarks=["quiz@1.0"]), tagged(["v2.0", "v1.0", "v1.1"]), seen=old.seen)
    assert candidates(wide) == []


def test_a_branchs_commit_is_taken_after_a_quiet_time():
    watch = Watch(branch="main", quiet_sec=60, benchmarks=["quiz@1.0"])
    heads = {"refs/heads/main": commit("a")}
    first = looked(watch, heads, now=0)
    assert first.found == []
    later = looked(watch, {"refs/heads/main": commit("b")}, seen=first.seen, now=59)
    early = looked(watch, {"refs/heads/main": commit("b")}, seen=later.seen, now=100)
    assert (later.found, early.found) == ([], [])
    quiet = looked(watch, {"refs/heads/main": commit("b")}, seen=early.seen, now=119)
    assert candidates(quiet) == [f"kg@{commit('b')}"]
    assert looked(watch, {"refs/heads/main": commit("b")}, seen=quiet.seen, now=500).found == []


def test_a_branch_set_back_is_asked_again_under_another_key():
    watch = Watch(branch="main", quiet_sec=0, benchmarks=["quiz@1.0"])
    keys, seen = set(), None
    for letter in "aba":
        news = looked(watch, {"refs/heads/main": commit(letter)}, seen=seen)
        seen = news.seen
        keys |= {found.run_key for found in news.found}
    assert len(keys) == 3


def test_an_absent_branch_is_told():
    news = looked(Watch(branch="gone", benchmarks=["quiz@1.0"]), {})
    assert any("no branch `gone`" in note for note in news.notes)
