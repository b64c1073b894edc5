"""The endpoints that a judge can be asked through, as data."""

from dataclasses import dataclass

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge


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


PROVIDERS = {
    "openai": Provider(
        base_url="https://api.openai.com/v1", base_url_env="OPENAI_BASE_URL", api_key_env="OPENAI_API_KEY"
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
