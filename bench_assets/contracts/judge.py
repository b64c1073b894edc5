"""How answers are scored: the `judge` of a benchmark's spec."""

from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, model_validator

from bench_assets.contracts.base import JsonValue, Record
from bench_assets.contracts.outcome import Label

SECRET_ENDINGS = ("api_key", "headers", "token", "password", "secret", "authorization", "credentials")
"""A judge's setting with such a name belongs into the environment: plans and spec files are kept and shared."""

MatcherName = Literal["exact_match", "contains", "regex", "numeric", "choice", "token_f1", "python"]
"""What scores an answer without a model."""

MATCHER_NAMES: tuple[MatcherName, ...] = get_args(MatcherName)


class MatcherSettings(Record):
    """What matchers look at. Each looks at a few of them."""

    ignore_case: bool = True
    """Compare case-folded text. `regex` uses it as its flag; `numeric`, `choice` and `token_f1` do not look at it."""
    tolerance: float = Field(default=0.0, ge=0)
    """`numeric`: the largest absolute difference that still counts as equal."""
    relative_tolerance: float = Field(default=0.0, ge=0)
    """`numeric`: the largest difference as a share of the golden's size."""
    choices: str | None = Field(default=None, min_length=2)
    """`choice`: the letters that can be chosen, for instance `ABCD`; None means A to Z."""
    threshold: float = Field(default=0.5, gt=0, le=1)
    """`token_f1`: the least F1 of a correct answer."""
    function: str | None = Field(default=None, pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")
    """`python`: `module:function`, looked for in the project's folder, then among what is installed."""
    not_attempted: list[str] = Field(default_factory=list)
    """Regular expressions, case ignored. An answer that is not `correct` and in which one is found is `not_attempted`.

    For instance `^i (do not|don't) know` or `не знаю`.
    """


class MatcherStep(MatcherSettings):
    """A matcher that goes before the judge, in a chain."""

    type: MatcherName
    settles: list[Label] = Field(default=["correct"], min_length=1)
    """The labels with which this matcher has the last word. Every other answer goes on to the next step."""

    def as_judge(self) -> "JudgeSpec":
        """Return the same matcher as a judge of its own."""
        return JudgeSpec.model_validate(self.model_dump(exclude={"settles"}, exclude_unset=True))

    @model_validator(mode="after")
    def _complete(self) -> "MatcherStep":
        self.as_judge()
        return self


class JudgeExample(Record):
    """A verdict that shows the judge what is meant."""

    question: str
    golden: str | list[str]
    answer: str
    label: Label
    reason: str = ""


class TokenPrice(Record):
    """What a model costs, in any one currency."""

    prompt: float = Field(ge=0)
    """Of a million prompt tokens."""
    completion: float = Field(ge=0)
    """Of a million completion tokens."""


class JudgeSpec(MatcherSettings):
    """How answers are scored: a matcher, or an LLM judge.

    Keys that are not named here are allowed for `type: llm` only, and are sent to the endpoint with each request
    (for instance `top_p`).
    """

    model_config = ConfigDict(extra="allow")

    type: Literal[MatcherName, "llm"]
    """What scores an answer."""
    first: list[MatcherStep] = Field(default_factory=list)
    """A chain: matchers that are tried first, in order. `type` scores what none of them settles."""
    provider: str = "openai"
    """`llm`: the kind of endpoint. `openai` is any endpoint compatible with OpenAI's chat completions."""
    model: str | None = None
    """`llm`: the model's name as its endpoint knows it. Required for `llm`."""
    base_url: str | None = None
    """`llm`: the endpoint; None means what the provider's usual variable says, or the provider's own."""
    api_key_env: str | None = None
    """`llm`: the *name* of the variable that holds the key; None means the provider's usual one (`OPENAI_API_KEY`).

    The key itself never stands in a spec.
    """
    api_version: str | None = None
    """`llm` at `azure`: the version of its interface; None means the one that this release was written for."""
    oauth_url: str | None = None
    """`llm` at a provider that gives tokens for the key (`gigachat`): where; None means the provider's own."""
    scope: str | None = None
    """`llm` at `gigachat`: what the token is for; None means what GIGACHAT_SCOPE says, or `GIGACHAT_API_PERS`."""
    ca_bundle: str | None = None
    """`llm`: a file of certificates to trust; None means what the provider's variable says, or the usual ones."""
    temperature: float | None = Field(default=0.0, ge=0)
    """`llm`: None sends none, for models that refuse the parameter."""
    max_tokens: int | None = Field(default=None, gt=0)
    """`llm`: the most tokens of a verdict; None leaves it to the endpoint."""
    timeout: float = Field(default=120.0, gt=0)
    """`llm`: seconds for one request."""
    retries: int = Field(default=3, ge=0)
    """`llm`: further requests after one that failed or could not be understood. Being told to wait costs none."""
    retry_backoff_sec: float = Field(default=0.5, ge=0)
    """`llm`: pause after the first failed request; it doubles with each further one (at most 30 s), with jitter."""
    max_wait: float = Field(default=600.0, ge=0)
    """`llm`: most seconds that one answer may wait in all because the endpoint asked to (429, Retry-After)."""
    concurrency: int = Field(default=8, ge=1)
    """`llm`: requests in flight at once."""
    system_prompt: str | None = None
    """`llm`: replaces our own instruction; it must ask for JSON with `reason` and `label`."""
    rubric: str | None = None
    """`llm`: when each label applies; may hold examples."""
    examples: list[JudgeExample] = Field(default_factory=list)
    """`llm`: verdicts that show what is meant; they follow the rubric."""
    votes: int = Field(default=1, ge=1, le=99)
    """`llm`: how often an answer is judged. More than half of the votes make the verdict."""
    vote_rule: Literal["majority", "confirm_on_fail"] = "majority"
    """`llm`: `majority` asks for all votes at once. `confirm_on_fail` accepts a first `correct` and asks for the other
    votes only after anything else."""
    panel: list[dict[str, JsonValue]] = Field(default_factory=list)
    """`llm`: several judges instead of one. Each entry is laid over these settings and votes once."""
    max_judge_calls: Annotated[int, Field(ge=0)] | None = None
    """`llm`: most requests of one scoring; None means no limit. Past it answers end as `judge_error`, code `budget`."""
    max_judge_tokens: Annotated[int, Field(ge=0)] | None = None
    """`llm`: the same for tokens, prompt and completion together."""
    max_judge_cost: Annotated[float, Field(ge=0)] | None = None
    """`llm`: the same for money; needs a price for the model in `prices`."""
    prices: dict[str, TokenPrice] = Field(default_factory=dict)
    """`llm`: prices by model. They give the cost in the summary too."""

    @model_validator(mode="after")
    def _complete(self) -> "JudgeSpec":
        extra = sorted(self.model_extra or {})
        if self.type == "llm":
            self._check_llm(extra)
        elif extra:
            raise ValueError(f"unknown judge keys for `{self.type}`: {', '.join(extra)}")
        if (self.type == "python") != (self.function is not None):
            raise ValueError("a `python` matcher, and only that, needs `function: module:name`")
        return self

    def _check_llm(self, extra: list[str]) -> None:
        if not self.model and not self.panel:
            raise ValueError("an `llm` judge needs `model`")
        if self.not_attempted:
            raise ValueError("`not_attempted` is for matchers; tell an `llm` judge in its `rubric`")
        if self.panel and self.votes > 1:
            raise ValueError("`panel` and `votes` exclude each other: each judge of a panel votes once")
        if len(self.panel) == 1:
            raise ValueError("a `panel` needs at least two judges")
        for name in (*extra, *(key for member in self.panel for key in member)):
            if name not in JudgeSpec.model_fields and name.endswith(SECRET_ENDINGS):
                raise ValueError(f"`{name}` may hold a secret: give it in BENCH_LLM_JUDGE_KWARGS, not in a benchmark")
        for url in (self.base_url, self.oauth_url, *(member.get("base_url") for member in self.panel)):
            if "@" in str(url or ""):
                raise ValueError("`base_url` holds credentials: give it in BENCH_LLM_JUDGE_KWARGS, not in a benchmark")

    @property
    def is_matcher(self) -> bool:
        """True when scoring needs no model."""
        return self.type != "llm"
