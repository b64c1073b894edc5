"""`git+…` URLs: taking one apart, and keeping its credentials out of everything that is shown."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from packaging.utils import canonicalize_name

from bench_assets.environments.local_path import local_path
from bench_assets.environments.source_records import Credentials, GitSource
from bench_assets.errors import InvalidAgent

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)(?::\d{1,5})?")
_BAD_REF = re.compile(r"^[-/]|[\s~^:?*\[\\]|\.\.|@\{|//|[/.]$|\.lock$")
_EGG = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[(?P<extras>[^\]]*)\])?")


@dataclass(frozen=True, kw_only=True)
class FragmentOptions:
    """What stood behind `#`, joined with what stood before `@`."""

    name: str | None
    extras: tuple[str, ...]
    subdirectory: str | None
    """With `/`, no leading or trailing one; None when not given."""


def parse_git_url(
    url: str, *, shown: str, ref: str | None, base: Path, name: str | None, extras: tuple[str, ...]
) -> GitSource:
    """Take a `git+…` URL apart.

    `{ref}` is filled in only after the URL was split, so a ref may hold `@`, `/` and `#`. `shown` is the text for
    messages, without credentials. Raises InvalidAgent.
    """
    address, _, fragment = url.removeprefix("git+").partition("#")
    options = parse_fragment(fragment.replace("{ref}", ref or ""), shown=shown, name=name, extras=extras)
    scheme, _, rest = address.partition(":")
    if scheme == "file":
        clean, ref_text, credentials = *_file_repository(rest, shown=shown, base=base, ref=ref), None
    elif scheme in {"http", "https", "ssh"} and rest.startswith("//"):
        clean, ref_text, credentials = _hosted_repository(scheme, rest[2:], shown=shown)
        clean = clean.replace("{ref}", quote(ref or ""))
    else:
        raise InvalidAgent(
            f"The source `{shown}` is no git address that is understood here. Write `git+https://…`, `git+http://…`, "
            "`git+ssh://…` or `git+file:…`."
        )
    if " " in url:
        raise InvalidAgent(
            f"The source `{shown}` holds a space. Percent-encode it as `%20`; markers are not supported here."
        )
    if options.extras and not options.name:
        raise InvalidAgent(f"The source `{shown}` has extras but no name. Write `name[extra] @ git+…`.")
    return GitSource(
        redacted=shown,
        url=clean,
        ref=_checked_ref(ref_text, ref=ref, shown=shown),
        subdirectory=options.subdirectory,
        name=options.name,
        extras=options.extras,
        credentials=credentials,
    )


def parse_fragment(fragment: str, *, shown: str, name: str | None, extras: tuple[str, ...]) -> FragmentOptions:
    """Read `subdirectory=…` and `egg=…` in any order. Raises InvalidAgent for anything else, and for contradictions."""
    subdirectory = None
    for option in filter(None, fragment.split("&")):
        key, _, value = option.partition("=")
        value = unquote(value)
        if key == "subdirectory":
            subdirectory = value.strip("/") or None
            if ".." in value.split("/"):
                raise InvalidAgent(f"The subdirectory `{value}` of `{shown}` leaves the repository.")
        elif key == "egg" and (egg := _EGG.fullmatch(value)) is not None:
            if name is not None and canonicalize_name(name) != canonicalize_name(egg["name"]):
                raise InvalidAgent(
                    f"The source `{shown}` has two names: `{name}` before the URL, `{egg['name']}` in `egg=`."
                )
            name = name or egg["name"]
            extras = extras or tuple(
                sorted({extra.strip() for extra in (egg["extras"] or "").split(",") if extra.strip()})
            )
        else:
            raise InvalidAgent(
                f"`{option}` behind the `#` of `{shown}` is not understood. "
                "Known are `subdirectory=folder` and `egg=name`."
            )
    return FragmentOptions(name=name, extras=extras, subdirectory=subdirectory)


def _file_repository(rest: str, *, shown: str, base: Path, ref: str | None) -> tuple[str, str | None]:
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in {"", "localhost"} or not slash:
            raise InvalidAgent(
                f"`{shown}` names the host `{host}`, but a `file:` repository is on this machine. Write "
                "`git+file:///path`, or `git+file:path` for a path relative to the project."
            )
        rest = "/" + path
    text, ref_text = _split_ref(rest)
    repository = local_path(unquote(text).replace("{ref}", ref or ""), base=base, shown=shown)
    if not repository.exists():
        raise InvalidAgent(f"The source `{shown}` is a local repository, but there is no `{repository}`.")
    return f"file://{quote(str(repository))}", ref_text


def _hosted_repository(scheme: str, rest: str, *, shown: str) -> tuple[str, str | None, Credentials | None]:
    authority, slash, path = rest.partition("/")
    user_info, at, host = authority.rpartition("@")
    if not _HOST.fullmatch(host):
        raise InvalidAgent(
            f"The host or port of `{shown}` cannot be read. A `/`, `@`, `#` or `?` inside a password is "
            "percent-encoded (`/` is `%2F`), and between an ssh host and its path stands `/`, not `:`."
        )
    if not slash or not path.strip("/"):
        raise InvalidAgent(f"The source `{shown}` names a host but no repository on it.")
    path, ref_text = _split_ref(path)
    user, colon, password = user_info.partition(":")
    credentials = Credentials(user=unquote(user), password=unquote(password) if colon else None) if at else None
    if scheme != "ssh":
        return f"{scheme}://{host}/{path}", ref_text, credentials
    if colon:
        raise InvalidAgent(
            f"The source `{shown}` has a password, but ssh takes none from a URL. Use a key or an agent."
        )
    return f"ssh://{user}{at}{host}/{path}", ref_text, None


def _split_ref(path: str) -> tuple[str, str | None]:
    # Refs may hold `@` (`agent@1.2.0` is a usual tag in a monorepo), and so may paths (`/@scope/repository`).
    head, mark, tail = path.partition(".git@")
    if mark:
        return f"{head}.git", tail
    if path.endswith("@{ref}"):
        return path.removesuffix("@{ref}"), "{ref}"
    head, mark, tail = path.rpartition("@")
    return (head, tail) if mark and head and not head.endswith("/") else (path, None)


def _checked_ref(text: str | None, *, ref: str | None, shown: str) -> str | None:
    if text is None:
        return None
    found = "".join(ref or "" if part == "{ref}" else unquote(part) for part in re.split(r"(\{ref\})", text))
    if not found or _BAD_REF.search(found) or any(ord(sign) < 32 or ord(sign) == 127 for sign in found):
        raise InvalidAgent(f"`{found}` in `{shown}` cannot be a branch, tag or commit.")
    return found
