import base64
import json

import pytest

from bench_assets.redaction import (
    HARMLESS_VARIABLES,
    Redactor,
    is_secret_name,
    redact_settings,
    redact_url,
    redact_variables,
)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            "git+https://user:s3cr3t@git.example.org/team/agent.git@main",
            "git+https://git.example.org/team/agent.git@main",
        ),
        ("https://ghp_token@host/x", "https://host/x"),
        ("git+ssh://git@host/t/r.git@v1", "git+ssh://git@host/t/r.git@v1"),
        ("git+ssh://git:pw@host/t/r.git", "git+ssh://git@host/t/r.git"),
        ("https://u:p@ss@host/r.git@v1", "https://host/r.git@v1"),
        ("https://u:pa/ss@host/r.git", "https://host/r.git"),
        ("https://host:8443/r.git@v1", "https://host:8443/r.git@v1"),
        ("http://u:pw@proxy", "http://proxy"),
        ("git+http://[::1]:80/r@v1 http://u:pw@[::1]/r", "git+http://[::1]:80/r@v1 http://[::1]/r"),
        ("redis://:pw@host/0", "redis://host/0"),
        ("postgresql+psycopg2://bench:pw@db:5432/x", "postgresql+psycopg2://db:5432/x"),
        ("two: https://a:b1@h/1 and 'https://c:d2@h/2'", "two: https://h/1 and 'https://h/2'"),
        ("https://h/x.whl?access_token=abc&v=1#sha256=00", "https://h/x.whl?access_token=***&v=1#sha256=00"),
        ("git+file:///srv/agent.git@v1", "git+file:///srv/agent.git@v1"),
        ("user@example.org wrote a==1", "user@example.org wrote a==1"),
    ],
)
def test_urls_lose_their_credentials_and_nothing_else(given, shown):
    assert redact_url(given) == shown


def test_a_redactor_removes_a_known_secret_in_every_spelling():
    secret = 'p@ss w"ord/é1'
    redact = Redactor([secret])
    spellings = [
        secret,
        "p%40ss%20w%22ord%2F%C3%A91",
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        base64.b64encode(secret.encode()).decode(),
    ]
    for spelling in spellings:
        assert redact(f"before {spelling} after").replace('"', "") == "before *** after"


def test_a_short_secret_is_removed_only_where_it_stands_alone():
    redact = Redactor(["abc123", "x"])
    assert redact("session=abc123; xabc1234 x") == "session=***; xabc1234 x"


def test_an_error_body_that_repeats_the_request_loses_the_key():
    redact = Redactor(["sk-test-1"])
    body = '{"detail": "bad request", "headers": {"Authorization": "Bearer sk-test-1"}, "curl": "-H sk-test-1"}'
    assert "sk-test-1" not in redact(body)
    assert "bad request" in redact(body)
    assert "tok123" not in Redactor()("authorization: Bearer tok123")
    assert "dXNlcjpwdw==" not in Redactor()("sent Basic dXNlcjpwdw==")


def test_words_that_only_look_like_credentials_stay():
    text = "The bearer of the basic idea, Basic Books, wrote it."
    assert Redactor()(text) == text


def test_a_redactor_learns_the_secret_variables_of_an_environment():
    redact = Redactor()
    redact.add_variables(
        {"PGPASSWORD": "pg-secret-9", "HTTP_PROXY": "http://u:proxypw@proxy", "LOG_LEVEL": "information"}
    )
    assert redact("pg-secret-9 proxypw information") == "*** *** information"


def test_a_redactor_cleans_nested_values():
    redact = Redactor(["sk-test-1"])
    assert redact.clean({"a": ["sk-test-1", 1, None], "b": {"c": "x sk-test-1"}}) == {
        "a": ["***", 1, None],
        "b": {"c": "x ***"},
    }


def test_only_allow_listed_variables_show_their_values():
    shown = redact_variables(
        {
            "COOKIE": "session=abc123",
            "AUTHORIZATION": "Bearer zzz",
            "PGPASSWORD": "p",
            "HTTP_PROXY": "http://u:pw@proxy",
            "MODEL": "unknown names are hidden too",
            "LOG_LEVEL": "info",
        }
    )
    assert shown == {
        "AUTHORIZATION": "***",
        "COOKIE": "***",
        "HTTP_PROXY": "***",
        "LOG_LEVEL": "info",
        "MODEL": "***",
        "PGPASSWORD": "***",
    }


def test_no_allow_listed_variable_has_a_secret_name():
    assert [name for name in sorted(HARMLESS_VARIABLES) if is_secret_name(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "OPENAI_API_KEY",
        "PGPASSWORD",
        "COOKIE",
        "AUTHORIZATION",
        "proxy-authorization",
        "GITHUBTOKEN",
        "accessToken",
        "client_secret",
        "AWS_SESSION_TOKEN",
        "X-Api-Key",
        "private_key",
        "DB_DSN",
        "GIGACHAT_CREDENTIALS",
    ],
)
def test_names_of_secrets_are_recognised(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokenizer", "monkey", "author", "model", "temperature", "question_key", "keyboard"]
)
def test_other_names_are_not_taken_for_secrets(name):
    assert not is_secret_name(name)


def test_settings_of_a_judge_keep_everything_but_secrets():
    assert redact_settings(
        {"provider": "openai", "model": "m", "api_key": "sk-test-1", "headers": {"X-Team": "t-77"}}
    ) == {"provider": "openai", "model": "m", "api_key": "***", "headers": {"X-Team": "***"}}


def test_settings_are_redacted_at_any_depth():
    assert redact_settings(
        {
            "max_tokens": 512,
            "base_url": "https://u:pw@judge/v1",
            "api_key": None,
            "extra_body": {"auth": {"user": "a", "password": "b"}, "top_k": 3, "stop": ["x"]},
            "default_headers": {"A": ["b", 7], "C": None},
            "clients": [{"token": "t"}, "plain"],
        }
    ) == {
        "max_tokens": 512,
        "base_url": "https://judge/v1",
        "api_key": None,
        "extra_body": {"auth": {"user": "***", "password": "***"}, "top_k": 3, "stop": ["x"]},
        "default_headers": {"A": ["***", "***"], "C": None},
        "clients": [{"token": "***"}, "plain"],
    }
