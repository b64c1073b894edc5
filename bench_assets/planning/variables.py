"""The values of an agent's variables, and digests of them."""

import re
from collections.abc import Iterable, Mapping

from bench_assets.contracts.base import digest
from bench_assets.contracts.plan import VariableDigest
from bench_assets.errors import InvalidPlan
from bench_assets.redaction import is_secret_name

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def expand(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Replace each `${NAME}` by that variable of `environ`. Raises InvalidPlan when it is not set."""

    def look_up(reference: re.Match[str]) -> str:
        if reference[1] not in environ:
            raise InvalidPlan(
                f"a variable of the agent is to be taken from `{reference[1]}`, which is not set. "
                "Set it where bench-assets runs."
            )
        return environ[reference[1]]

    return {name: REFERENCE.sub(look_up, value) for name, value in values.items()}


def digests(values: Mapping[str, str]) -> list[VariableDigest]:
    """Return a digest of each variable, by name; equal only for equal name and value."""
    return [VariableDigest(name=name, digest=digest([name, values[name]])) for name in sorted(values)]


def seen(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return those of an agent's variables that are set and, by their name, hold no secret.

    A key that was renewed changes no answer; the name of a model, an address or a switch does.
    """
    return {name: environ[name] for name in names if name in environ and not is_secret_name(name)}
