"""What a run needs of a Kubernetes cluster: for a whole deployment, for one agent, for one run."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from bench_assets.contracts.base import Record

Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")]
"""The name of an object in the cluster."""
Cpu = Annotated[str, Field(pattern=r"^([0-9]+m|[0-9]+(\.[0-9]{1,3})?)$")]
"""Cores: `2`, `0.5`, `500m`."""
Bytes = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(Ki|Mi|Gi|Ti|k|M|G|T)?$")]
"""Memory or disk: `512Mi`, `4Gi`."""
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
LabelKey = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
]
LabelValue = Annotated[str, Field(pattern=r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")]


class SecretKey(Record):
    """One value in a Secret."""

    secret: Name
    key: Annotated[str, Field(pattern=r"^[-._A-Za-z0-9]+$")]


class Toleration(Record):
    """A taint of nodes that does not keep the pod away."""

    key: LabelKey
    value: LabelValue | None = None
    """None means any value."""
    effect: Annotated[str, Field(pattern=r"^(NoSchedule|PreferNoSchedule|NoExecute)$")] | None = None
    """None means all of them."""


class PodSettings(Record):
    """Settings of a run's pod. What is left out is taken from the layer below: run over agent over deployment.

    Holds names of secrets, never a secret's value.
    """

    image: str | None = None
    """The image; the launcher's where nobody says."""
    cpu: Cpu | None = None
    """Cores that are reserved. There is no limit besides."""
    memory: Bytes | None = None
    """Memory that is reserved, and the limit above which the pod is killed."""
    disk: Bytes | None = None
    """Scratch space (`ephemeral-storage`) that is reserved."""
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels that a node must have. Joined with those of the layers below."""
    tolerations: list[Toleration] = Field(default_factory=list)
    """Joined with those of the layers below."""
    service_account: Name | None = None
    env_from: list[Name] = Field(default_factory=list)
    """Secrets whose items all become variables: the tool's, the agent's, the tracing's. Joined, the later one wins."""
    env: dict[Variable, str] = Field(default_factory=dict)
    """Variables that win over those of the same name in `env_from`; numbers and booleans become text. No secrets."""
    env_secrets: dict[Variable, SecretKey] = Field(default_factory=dict)
    """Variables that are one item of a Secret each."""
    netrc_secret: Name | None = None
    """A Secret with an item `netrc`, which becomes `.netrc` in the home folder: credentials for git and indexes."""
    home: str = "/home/bench"
    """The home folder of the image's user."""
    cache_claim: Name | None = None
    """A PersistentVolumeClaim for environments and downloads; None means that each pod restores its own."""

    @field_validator("env", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: str(item).lower() if isinstance(item, bool) else _number(item) for name, item in value.items()}


def _number(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else value
