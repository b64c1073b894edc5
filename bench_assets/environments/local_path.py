"""Reading a path out of a source's text."""

from pathlib import Path

from bench_assets.errors import InvalidAgent


def local_path(text: str, *, base: Path, shown: str) -> Path:
    """Return the absolute path that `text` means, links resolved, whether or not it exists.

    `~` is the home folder; relative paths start from `base`. Raises InvalidAgent when no file could have that name.
    """
    try:
        path = (base / Path(text).expanduser()).resolve()
        path.exists()  # a name that is too long, or that the file system cannot spell, shows only here
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidAgent(f"The source `{shown}` is no path on this machine: {error}.") from error
    return path
