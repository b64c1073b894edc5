"""`${NAME}` in a source's text: credentials from a variable, so that they need not stand in a file."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from bench_assets.errors import InvalidAgent

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def with_tokens(text: str, environ: Mapping[str, str]) -> str:
    """Return a source with each `${NAME}` replaced by that variable, percent-encoded as a URL's credentials need it.

    Raises InvalidAgent when a variable is not set, or when it stands elsewhere than before the `@` of a URL, where
    it would be shown.
    """

    def value(reference: re.Match[str]) -> str:
        name = reference[1]
        if not re.search(r"://[^/]*$", text[: reference.start()]) or not re.match(r"[^/]*@", text[reference.end() :]):
            raise InvalidAgent(
                f"`${{{name}}}` in a source stands for credentials, so it goes before the `@` of a URL: "
                f"`git+https://oauth2:${{{name}}}@host/repository`."
            )
        if not environ.get(name):
            raise InvalidAgent(f"The source takes its credentials from the variable `{name}`, which is not set here.")
        return quote(environ[name], safe="")

    return REFERENCE.sub(value, text)
