"""Where an agent's code comes from: the text of a source, read into a record.

Forms that `parse_source` takes:

- a local project or archive: `./path`, `/abs/path`, `~/path`, `file:///abs/path`, each with `[extras]` if wanted;
- git: `git+https|http|ssh|file://[user[:password]@]host/path[.git][@ref][#subdirectory=…&egg=…]`, and `git+file:path`
  relative to the project;
- anything else that pip takes as one requirement: `pkg`, `pkg[extra]>=1`, a URL of a wheel;
- each direct reference also as `name[extras] @ …`.
"""

import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement

from bench_assets.environments.git_url import parse_fragment, parse_git_url
from bench_assets.environments.local_path import local_path
from bench_assets.environments.source_records import (
    Credentials,
    GitSource,
    LocalSource,
    RequirementSource,
    Source,
)
from bench_assets.errors import InvalidAgent
from bench_assets.redaction import redact_url

__all__ = ["Credentials", "GitSource", "LocalSource", "RequirementSource", "Source", "parse_source"]

REF = "{ref}"
PROJECT = "{project}"
ARCHIVES = (".whl", ".tar.gz", ".zip")

_NAMED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[(?P<extras>[^\]]*)\])?\s*@\s*"
    r"(?P<rest>(?:git\+|https?:|file:|\.{0,2}/|~/|\{project\}).*)"
)
_PATH_WITH_EXTRAS = re.compile(r"(?P<path>.+?)\[(?P<extras>[A-Za-z0-9._, -]*)\]")
_SCP = re.compile(r"(?:git\+)?(?:ssh://)?[\w.-]+@[\w.-]+:(?!\d+/)(?P<path>[\w.~-].*)")


def parse_source(text: str, *, ref: str | None = None, base: Path) -> Source:
    """Read a source.

    Args:
        text: one of the forms above. `{ref}` in it is replaced by `ref`, `{project}` by `base`.
        ref: the candidate's ref; None when there is none. Not used where the text has no `{ref}`.
        base: the folder that relative paths start from: the one of `agents.yaml`, or the working folder.

    Raises:
        InvalidAgent: the text is none of the forms, has a `{ref}` without `ref`, or names a local path that does not
            exist or is no Python project. Credentials never appear in the message.
    """
    text = text.strip()
    _refuse_text(text, ref=ref)
    project = base.expanduser().resolve()
    named = _NAMED.fullmatch(text)
    target = named["rest"] if named else text
    name = named["name"] if named else None
    extras = _extras(named["extras"] if named else None)
    shown = redact_url(text.replace(REF, ref or "").replace(PROJECT, str(project)))
    if target.startswith("git+"):
        return parse_git_url(
            target.replace(PROJECT, quote(str(project))), shown=shown, ref=ref, base=project, name=name, extras=extras
        )
    target = target.replace(REF, ref or "")
    if target.startswith("file:"):
        path, name, extras = _file_url(
            target.replace(PROJECT, quote(str(project))), shown=shown, name=name, extras=extras
        )
        return _local(path, shown=shown, base=project, name=name, extras=extras)
    if target.startswith((".", "/", "~", PROJECT)) or ("/" in target and not re.search(r"[@:;\s]", target)):
        return _local(target.replace(PROJECT, str(project)), shown=shown, base=project, name=name, extras=extras)
    return _requirement(text.replace(REF, ref or "").replace(PROJECT, quote(str(project))), shown=shown)


def _refuse_text(text: str, *, ref: str | None) -> None:
    shown = redact_url(text)
    if not text:
        raise InvalidAgent("A source is empty. Give a local path, a `git+…` URL or a requirement that pip takes.")
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in text):
        raise InvalidAgent(
            f"The source {shown!r} holds a line break or another control character. Give one source a line."
        )
    if text.startswith("-"):
        raise InvalidAgent(f"The source `{shown}` starts with `-`, which is an option and no source.")
    if "${" in text:
        raise InvalidAgent(
            f"The source `{shown}` holds `${{`, but variables are not replaced in a source. Leave credentials out of "
            "it: git and uv read them from `.netrc`."
        )
    if REF in text and not ref:
        raise InvalidAgent(
            f"The source `{shown}` has a `{REF}`, but no ref was given. Write the candidate as `agent@ref`."
        )
    if (scp := _SCP.fullmatch(text)) is not None:
        raise InvalidAgent(
            f"`{shown}` is the short form of an ssh address, which pip and uv do not take. "
            f"Write it as a URL: `git+ssh://user@host/{scp['path']}`."
        )


def _extras(text: str | None) -> tuple[str, ...]:
    return tuple(sorted({extra.strip() for extra in (text or "").split(",") if extra.strip()}))


def _file_url(
    url: str, *, shown: str, name: str | None, extras: tuple[str, ...]
) -> tuple[str, str | None, tuple[str, ...]]:
    address, _, fragment = url.partition("#")
    options = parse_fragment(fragment, shown=shown, name=name, extras=extras)
    bracketed = re.fullmatch(r"(.*?)\[([^\]/]*)\]", address)
    if bracketed is not None:
        address, extras_of_path = bracketed[1], _extras(bracketed[2])
    else:
        extras_of_path = ()
    parts = urlsplit(address)
    if parts.netloc not in {"", "localhost"}:
        raise InvalidAgent(
            f"`{shown}` names the host `{parts.netloc}`, but a `file:` URL is on this machine. Write `file:///path`."
        )
    path = unquote(parts.path)
    if options.subdirectory:
        path = f"{path}/{options.subdirectory}"
    return path, options.name, options.extras or extras_of_path


def _local(text: str, *, shown: str, base: Path, name: str | None, extras: tuple[str, ...]) -> LocalSource:
    path = local_path(text, base=base, shown=shown)
    with_extras = _PATH_WITH_EXTRAS.fullmatch(text)
    if with_extras is not None and not path.exists():
        path = local_path(with_extras["path"], base=base, shown=shown)
        extras = extras or _extras(with_extras["extras"])
    if not path.exists():
        raise InvalidAgent(
            f"The source `{shown}` is a local path, but there is no `{path}`. Relative paths start from `{base}`."
        )
    if path.is_file():
        if not path.name.endswith(ARCHIVES):
            raise InvalidAgent(
                f"The source `{shown}` is the file `{path}`, which is no package. Give a project's folder, or a file "
                f"that ends in {', '.join(f'`{ending}`' for ending in ARCHIVES)}."
            )
    elif not any((path / file).is_file() for file in ("pyproject.toml", "setup.py")):
        raise InvalidAgent(
            f"The source `{shown}` is the folder `{path}`, which is no Python project: it has neither `pyproject.toml` "
            f"nor `setup.py`.{_nearby_projects(path)}"
        )
    return LocalSource(redacted=shown, path=path, name=name, extras=extras)


def _nearby_projects(path: Path) -> str:
    found = sorted(
        file.parent.relative_to(path) for pattern in ("*", "*/*") for file in path.glob(f"{pattern}/pyproject.toml")
    )
    return f" There is one in {', '.join(f'`{folder}`' for folder in found[:3])}." if found else ""


def _requirement(text: str, *, shown: str) -> RequirementSource:
    if re.match(r"https?://", text):
        if " " in text:
            raise InvalidAgent(f"The source `{shown}` holds a space. Percent-encode it as `%20`.")
        return RequirementSource(redacted=shown, requirement=text, pinned=True)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        # The parser's message quotes the text with a marker below it; its first line says what is wrong.
        reason = redact_url(str(error).splitlines()[0])
        raise InvalidAgent(
            f"`{shown}` is no source: it is neither a path (`./…`), nor a `git+…` URL, nor a requirement ({reason})."
        ) from None
    if requirement.url is not None and not requirement.url.startswith(("http://", "https://")):
        raise InvalidAgent(
            f"The source `{shown}` refers to `{redact_url(requirement.url)}`. After `@` comes a `git+…`, `https:` or "
            "`file:` URL."
        )
    exact = any(
        spec.operator == "===" or (spec.operator == "==" and "*" not in spec.version) for spec in requirement.specifier
    )
    return RequirementSource(redacted=shown, requirement=text, pinned=exact or requirement.url is not None)
