"""Values of an agent's variables that refer to variables of ours."""

import re
from collections.abc import Mapping

from bench_assets.errors import InvalidPlan

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
