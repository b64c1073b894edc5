"""The endpoints that a judge can be asked through, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge


@dataclass(frozen=True, kw_only=True)
class TokenExchange:
    """Some providers take the key only to give a token for a while, and the token with each request."""

    url: str
    """Where the token is asked for, unless the judge's `oauth_url` says otherwise."""
    scope_env: str
    """A variable that may say what the token is for."""
    scope: str
    """What it is for otherwise."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One kind of endpoint. All of them speak OpenAI's chat completions."""

    base_url: str | None
    """Where it is, unless the judge's `base_url` says otherwise; None means that the judge has to say it."""
    base_url_env: str | None = None
    """A variable that may say it too; None where there is none by custom."""
    api_key_env: str
    """The variable that usually holds its key."""
    needs_key: bool = True
    """False for servers of one's own that ask for none."""
    key_header: str = "Authorization"
    """The header that carries the key."""
    key_prefix: str = "Bearer "
    """What stands before the key in it."""
    path: str = "/chat/completions"
    """Behind the base; `{model}` becomes the model's name."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Sent along with each request, unless the address itself says otherwise."""
    ca_bundle_env: str | None = None
    """A variable that may name a file of certificates to trust."""
    tokens: TokenExchange | None = None
    """None where the key itself goes along with each request."""


PROVIDERS = {
    "openai": Provider(
        base_url="https://api.openai.com/v1", base_url_env="OPENAI_BASE_URL", api_key_env="OPENAI_API_KEY"
    ),
    "gigachat": Provider(
        base_url="https://gigachat.devices.sberbank.ru/api/v1",
        base_url_env="GIGACHAT_BASE_URL",
        api_key_env="GIGACHAT_CREDENTIALS",
        ca_bundle_env="GIGACHAT_CA_BUNDLE_FILE",
        tokens=TokenExchange(
            url="https://ngw.devices.sberbank.ru:9443/api/v2/oauth",
            scope_env="GIGACHAT_SCOPE",
            scope="GIGACHAT_API_PERS",
        ),
    ),
    "azure": Provider(
        base_url=None,
        base_url_env="AZURE_OPENAI_ENDPOINT",
        api_key_env="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        key_prefix="",
        path="/openai/deployments/{model}/chat/completions",
        query={"api-version": "2024-10-21"},
    ),
    "openrouter": Provider(base_url="https://openrouter.ai/api/v1", api_key_env="OPENROUTER_API_KEY"),
    "ollama": Provider(base_url="http://127.0.0.1:11434/v1", api_key_env="OLLAMA_API_KEY", needs_key=False),
    "vllm": Provider(base_url="http://127.0.0.1:8000/v1", api_key_env="VLLM_API_KEY", needs_key=False),
}

ANY_COMPATIBLE = Provider(base_url=None, api_key_env="OPENAI_API_KEY")
"""A provider that the table does not know: it works as soon as the judge says its `base_url`."""


def provider_of(spec: JudgeSpec) -> Provider:
    """Return the judge's provider. Raises InvalidJudge for a name that is not known and comes without `base_url`."""
    provider = PROVIDERS.get(spec.provider)
    if provider is None and spec.base_url is None:
        known = ", ".join(f"`{name}`" for name in PROVIDERS)
        raise InvalidJudge(
            f"The judge's provider `{spec.provider}` is not known; known are {known}. Use one of them, or give the "
            "`base_url` of an endpoint that is compatible with OpenAI's chat completions."
        )
    return provider or ANY_COMPATIBLE
