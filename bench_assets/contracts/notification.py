"""`notify:` of a deployment: what is told to a channel of the team's, and how."""

from string import Template
from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator

from bench_assets.contracts.base import Record

Event = Literal["GO", "NO-GO", "INCONCLUSIVE", "FAILURE"]
"""A gate's verdict, or a run that failed without one."""

PLACEHOLDERS = frozenset({"event", "subject", "reasons", "link"})


class Notify(Record):
    """Where finished runs are told of. Without it nothing is sent."""

    webhook_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "BENCH_WEBHOOK_URL"
    """The *name* of the variable that holds the webhook's URL, which is a secret."""
    events: list[Event] = Field(default_factory=lambda: list(get_args(Event)))
    """What is told; everything unless said otherwise."""
    template: str = "*$event* $subject\n$reasons\n$link"
    """The text: `$event`, `$subject` (the candidate, or what failed), `$reasons`, `$link`; `$$` is a dollar sign."""
    ui_url: str | None = None
    """Where Dagster's UI is, for links: `https://dagster.example.org`. None leaves `$link` empty."""

    @field_validator("template")
    @classmethod
    def _known(cls, text: str) -> str:
        template = Template(text)
        unknown = sorted(set(template.get_identifiers()) - PLACEHOLDERS)
        if unknown or not template.is_valid():
            known = ", ".join(f"`${name}`" for name in sorted(PLACEHOLDERS))
            raise ValueError(f"`template` may hold {known}, and `$$` for a dollar sign; found `{text}`")
        return text
