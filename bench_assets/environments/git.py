"""Asking git: which commit a ref means, without cloning, and what state a local folder is in.

A password in a URL never becomes an argument, since every user of a machine can read those. It reaches git, also the
one that uv runs, as configuration in the child's environment, bound to the one repository it was given for.
"""

import base64
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from bench_assets.environments.child_process import Finished, run_child
from bench_assets.environments.source_records import GitSource
from bench_assets.errors import EnvironmentFailed
from bench_assets.redaction import Redactor

LOOKUP_TIMEOUT_SEC = 60.0
LOOKUP_LIMIT = "the time for asking a git repository"
FULL_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
SHORT_COMMIT = re.compile(r"[0-9a-f]{7,63}")

_REFUSED = re.compile(
    r"authentication failed|could not read (?:username|password)|terminal prompts disabled|permission denied"
    r"|host key verification failed|returned error: 40[13]|access denied|invalid credentials",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"not found|does not exist|does not appear to be a git repository|returned error: 404|no such file", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class WorkTreeState:
    """What git says of a local folder."""

    commit: str
    """Full id of the commit that is checked out."""
    dirty: bool
    """True when files below the folder differ from the commit, or are new and not ignored."""


def git_variables(variables: Mapping[str, str], *, sources: Sequence[GitSource]) -> dict[str, str]:
    """Return `variables` with what git needs for these sources: their credentials, and an ssh that never asks."""
    settings: list[tuple[str, str]] = []
    secrets: dict[str, str] = {}
    for source in sources:
        if source.credentials is None:
            continue
        user, password = source.credentials.user, source.credentials.password
        if password is None:
            # A user alone may be a token, or belong to a password in `.netrc` or a helper: so it is only the answer
            # to a question that nothing before it could answer.
            name = f"BA_GIT_USER_{len(secrets)}"
            secrets[name] = user
            answer = f'!f() {{ test "$1" != get || printf "username=%s\\npassword=\\n" "${name}"; }}; f'
            settings += [(f"credential.{source.url}.username", user), (f"credential.{source.url}.helper", answer)]
        else:
            token = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            settings.append((f"http.{source.url}.extraHeader", f"Authorization: Basic {token}"))
    first = int(variables.get("GIT_CONFIG_COUNT") or 0)  # the user's own settings stay, ours come behind them
    added = dict(variables) | secrets
    for number, (key, value) in enumerate(dict.fromkeys(settings), start=first):
        added |= {
            f"GIT_CONFIG_KEY_{number}": key,
            f"GIT_CONFIG_VALUE_{number}": value,
            "GIT_CONFIG_COUNT": str(number + 1),
        }
    if any(source.url.startswith("ssh:") for source in sources) and not _has_ssh_command(added):
        added["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes -oConnectTimeout=15"
    return added


def _has_ssh_command(variables: Mapping[str, str]) -> bool:
    # Our variable would win over `core.sshCommand`, which may hold the key that is needed. A command of the user's
    # cannot ask either: `run_child` leaves it no terminal.
    configured = ["config", "--get", "core.sshCommand"]
    return not {"GIT_SSH", "GIT_SSH_COMMAND"}.isdisjoint(variables) or bool(
        _git(configured, variables=variables).stdout.strip()
    )


def resolve_commit(source: GitSource, *, variables: Mapping[str, str]) -> str:
    """Return the full id of the commit that the source's ref means now.

    A full id is taken as it is. Annotated tags are followed to their commit. Raises EnvironmentFailed when the
    repository refuses, is absent or does not answer in time, when it has no such ref, and when the ref is both a tag
    and a branch on different commits.
    """
    if source.ref is not None and FULL_COMMIT.fullmatch(source.ref):
        return source.ref
    variables = git_variables(variables, sources=[source])
    redact = Redactor(source.secrets)
    wanted = _patterns(source.ref)
    refs = _remote_refs(source, patterns=list(wanted), variables=variables, redact=redact)
    if source.ref is None:
        if "HEAD" not in refs:
            raise EnvironmentFailed(f"The repository `{source.url}` has no default branch. Name a ref: `…@branch`.")
        return refs["HEAD"]
    found = {kind: refs[name] for name, kind in wanted.items() if name in refs}
    if "peeled tag" in found:
        found["tag"] = found.pop("peeled tag")
    if len(set(found.values())) > 1:
        raise EnvironmentFailed(
            f"`{source.ref}` is both a tag and a branch of `{source.url}`, on different commits. "
            f"Write `refs/tags/{source.ref}` or `refs/heads/{source.ref}`."
        )
    if found:
        return next(iter(found.values()))
    if SHORT_COMMIT.fullmatch(source.ref):
        return _lengthen(source, variables=variables, redact=redact)
    raise _no_such_ref(source, variables=variables, redact=redact)


def remote_refs(source: GitSource, *, variables: Mapping[str, str], timeout_sec: float) -> dict[str, str]:
    """Return all tags and branches of a source's repository: `refs/tags/v1` → full id of the commit.

    Annotated tags are followed to their commit. Raises EnvironmentFailed when the repository refuses, is absent or
    does not answer in time.
    """
    found = _remote_refs(
        source,
        patterns=["refs/tags/*", "refs/heads/*"],
        variables=git_variables(variables, sources=[source]),
        redact=Redactor(source.secrets),
        timeout_sec=timeout_sec,
    )
    peeled = {name.removesuffix("^{}"): commit for name, commit in found.items() if name.endswith("^{}")}
    return {name: commit for name, commit in found.items() if not name.endswith("^{}")} | peeled


def work_tree_state(path: Path, *, variables: Mapping[str, str]) -> WorkTreeState | None:
    """Return the commit and the state of a local folder.

    None when git keeps nothing of it: it is in no repository that git would read, or the repository ignores it.
    """
    folder = path if path.is_dir() else path.parent
    command = ["-C", str(folder), "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch", "--", str(path)]
    try:
        result = _git(command, variables=variables)
    except EnvironmentFailed:  # no git on this machine, or a repository too large to look through in time
        return None
    head = re.search(r"^# branch\.oid ([0-9a-f]{40,64})$", result.stdout, re.MULTILINE)
    if result.returncode != 0 or head is None:
        return None
    changed = any(line[:1] in "12u?" for line in result.stdout.splitlines() if line)
    if not changed and _git(["-C", str(folder), "check-ignore", "-q", "."], variables=variables).returncode == 0:
        return None
    return WorkTreeState(commit=head[1], dirty=changed)


@dataclass(frozen=True, kw_only=True)
class Repository:
    """Where a work tree and its repository lie."""

    top: Path
    """The work tree's top folder."""
    store: Path
    """What git itself keeps, usually `top/.git`."""


def repository_of(path: Path, *, variables: Mapping[str, str]) -> Repository | None:
    """Return the repository that holds a local folder; None when there is none that git would read."""
    try:
        result = _git(["-C", str(path), "rev-parse", "--show-toplevel", "--absolute-git-dir"], variables=variables)
    except EnvironmentFailed:
        return None
    lines = result.stdout.splitlines()
    return Repository(top=Path(lines[0]), store=Path(lines[1])) if result.returncode == 0 and len(lines) == 2 else None


def _patterns(ref: str | None) -> dict[str, str]:
    if ref is None or ref == "HEAD":
        return {"HEAD": "branch"}
    names = {f"refs/heads/{ref}": "branch", f"refs/tags/{ref}": "tag", f"refs/tags/{ref}^{{}}": "peeled tag"}
    return {ref: "tag", f"{ref}^{{}}": "peeled tag"} if ref.startswith("refs/") else names


def _remote_refs(
    source: GitSource,
    *,
    patterns: Sequence[str],
    variables: Mapping[str, str],
    redact: Redactor,
    timeout_sec: float = LOOKUP_TIMEOUT_SEC,
) -> dict[str, str]:
    ask = ["ls-remote", "--", source.url, *patterns]
    result = _git(ask, variables=variables, redact=redact, timeout_sec=timeout_sec)
    if result.returncode != 0:
        raise EnvironmentFailed(_why_refused(source, result))
    return {name: commit for commit, _, name in (line.partition("\t") for line in result.stdout.splitlines())}


def _why_refused(source: GitSource, result: Finished) -> str:
    last = f" git said:\n{result.tail}" if result.tail else ""
    if _REFUSED.search(result.tail):
        host = urlsplit(source.url).hostname or source.url
        given = "were refused" if source.credentials else "are needed and none were given"
        how = (
            "Load the key into the ssh agent, and connect once by hand so that the host is known."
            if source.url.startswith("ssh:")
            else f"Give them as a line `machine {host} login … password …` in `.netrc`, or in the source's URL."
        )
        return f"Authentication failed for `{source.url}`: credentials {given}. {how}{last}"
    if _ABSENT.search(result.tail):
        return (
            f"There is no git repository `{source.url}`, or it is private and says so only to those who may read it. "
            f"Check the address.{last}"
        )
    asked = f"`{source.ref}`" if source.ref else "its default branch"
    return f"The git repository `{source.url}` could not be asked for {asked}.{last}"


def _no_such_ref(source: GitSource, *, variables: Mapping[str, str], redact: Redactor) -> EnvironmentFailed:
    refs = _remote_refs(source, patterns=["refs/heads/*", "refs/tags/*"], variables=variables, redact=redact)
    names = [re.sub(r"^refs/(?:heads|tags)/", "", name) for name in refs if not name.endswith("^{}")]
    wanted = source.ref or ""
    # Those that share the longest beginning with the wanted one are the likeliest meant.
    names.sort(key=lambda name: (-_common(name.lower(), wanted.lower()), name))
    some = ", ".join(f"`{name}`" for name in names[:5])
    there = f"It has {some}{' and more' if len(names) > 5 else ''}." if names else "It has no branches and no tags."
    return EnvironmentFailed(f"`{source.url}` has no branch, tag or commit `{wanted}`. {there}")


def _common(left: str, right: str) -> int:
    return next(
        (number for number, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )


def _lengthen(source: GitSource, *, variables: Mapping[str, str], redact: Redactor) -> str:
    """Return the full id of an abbreviated one. Only the history can tell, so it is fetched, without files."""
    assert source.ref is not None
    with tempfile.TemporaryDirectory(prefix="bench-assets-git-") as folder:
        at = ["-C", folder]
        _git(["init", "--quiet", "--bare", folder], variables=variables)
        fetch = [
            "fetch",
            "--quiet",
            "--filter=tree:0",
            "--",
            source.url,
            "refs/heads/*:refs/heads/*",
            "refs/tags/*:refs/tags/*",
        ]
        result = _git([*at, *fetch], variables=variables, redact=redact)
        if result.returncode != 0:
            raise EnvironmentFailed(_why_refused(source, result))
        result = _git([*at, "rev-parse", f"--disambiguate={source.ref}"], variables=variables)
        commits = {line for line in result.stdout.split() if _is_commit(line, at=at, variables=variables)}
    if len(commits) > 1:
        raise EnvironmentFailed(
            f"`{source.ref}` begins {len(commits)} commits of `{source.url}`. Give more of its digits."
        )
    if not commits:
        raise _no_such_ref(source, variables=variables, redact=redact)
    return commits.pop()


def _is_commit(identifier: str, *, at: Sequence[str], variables: Mapping[str, str]) -> bool:
    return _git([*at, "cat-file", "-t", identifier], variables=variables).stdout.strip() == "commit"


def _git(
    arguments: Sequence[str],
    *,
    variables: Mapping[str, str],
    redact: Redactor | None = None,
    timeout_sec: float = LOOKUP_TIMEOUT_SEC,
) -> Finished:
    # Messages are read for what they mean, so they must not be translated.
    return run_child(
        ["git", *arguments],
        variables={**variables, "LC_ALL": "C", "LANGUAGE": ""},
        timeout_sec=timeout_sec,
        limit=LOOKUP_LIMIT,
        redact=redact or Redactor(),
    )
