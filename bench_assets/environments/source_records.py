"""Records of parsed sources. `bench_assets.environments.source` makes them of text."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """What a URL said of who asks. Never shown: its repr is empty."""

    user: str = field(repr=False)
    """Percent-decoded. Some hosts take a token here."""
    password: str | None = field(repr=False, default=None)
    """Percent-decoded; None when the URL had only a user."""


@dataclass(frozen=True, kw_only=True)
class LocalSource:
    """A project's folder, or one package file, on this machine."""

    redacted: str
    """The source as it was given, `{ref}` and `{project}` filled in."""
    path: Path
    """Absolute, links resolved. Existed when it was parsed."""
    name: str | None = None
    """The distribution's name where it was given; None leaves it to the project."""
    extras: tuple[str, ...] = ()
    """Sorted."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no log may show: none."""
        return ()


@dataclass(frozen=True, kw_only=True)
class GitSource:
    """A repository, perhaps at a ref, perhaps one folder of it."""

    redacted: str
    """The source as it was given, `{ref}` and `{project}` filled in, credentials removed."""
    url: str
    """What git is asked, without `git+`, credentials, ref and fragment. An ssh URL keeps its user."""
    ref: str | None = None
    """A branch, tag, full name (`refs/…`) or commit id; None means the default branch."""
    subdirectory: str | None = None
    """The project's folder inside the repository, with `/`; None means its top."""
    name: str | None = None
    """The distribution's name where it was given; None leaves it to the project."""
    extras: tuple[str, ...] = ()
    """Sorted. Only with a name."""
    credentials: Credentials | None = field(repr=False, default=None)
    """For http and https; None where the URL had none."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no log may show."""
        if self.credentials is None:
            return ()
        user, password = self.credentials.user, self.credentials.password
        # A user beside a password is a name such as `oauth2`; one on its own may be a token.
        return (user,) if password is None else (password, f"{user}:{password}")

    def at(self, commit: str) -> str:
        """Return the requirement that installs this source at a commit, without credentials."""
        prefix = f"{distribution(self.name, self.extras)} @ " if self.name else ""
        fragment = f"#subdirectory={quote(self.subdirectory)}" if self.subdirectory else ""
        return f"{prefix}git+{self.url}@{commit}{fragment}"


@dataclass(frozen=True, kw_only=True)
class RequirementSource:
    """One requirement as pip takes it: `pkg[extra]==1.0`, `pkg`, or a URL of a package."""

    redacted: str
    """The source as it was given, `{ref}` and `{project}` filled in, credentials removed."""
    requirement: str = field(repr=False)
    """What is handed to uv; may hold a URL's credentials."""
    pinned: bool
    """True for `==`, `===` and URLs: the text names one thing and needs no resolving."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no log may show."""
        url = self.requirement.partition("://")
        if not url[1]:
            return ()
        parts = urlsplit(f"https://{url[2]}")
        user, password = parts.username, parts.password
        return tuple(unquote(text) for text in ([password] if password else [user] if user else []))


Source = LocalSource | GitSource | RequirementSource
"""Any source."""


def distribution(name: str, extras: tuple[str, ...]) -> str:
    """Return `name[extra,…]`."""
    return f"{name}[{','.join(extras)}]" if extras else name
