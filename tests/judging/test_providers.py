import shutil
import subprocess

import pytest

from bench_assets.contracts.judge import JudgeSpec
from bench_assets.errors import InvalidJudge, JudgeFailed
from bench_assets.judging.scorer import open_scorer
from bench_assets.judging.settings import effective_judge
from tests.fakes.openai_endpoint import OpenAIEndpoint, error, verdict
from tests.fakes.token_endpoint import TokenEndpoint
from tests.judging.making import item

SECRET = "Zm9vOmJhcg-secret"


def gigachat(endpoint, **settings):
    spec = {
        **{"type": "llm", "provider": "gigachat", "model": "GigaChat-2-Max", "timeout": 20, "retry_backoff_sec": 0.01},
        **{"base_url": f"{endpoint.url}/api/v1", "oauth_url": f"{endpoint.url}/oauth"},
    }
    return effective_judge(JudgeSpec(**(spec | settings)), environ={"GIGACHAT_CREDENTIALS": SECRET})


def judged(judge, *texts):
    with open_scorer(judge) as scorer:
        return [verdict for _, verdict in scorer.score(item(text) for text in texts)]


def test_one_token_serves_many_requests():
    with TokenEndpoint(key=SECRET) as endpoint:
        found = judged(gigachat(endpoint), *(f"a{n}" for n in range(30)))
    assert {one.label for one in found} == {"correct"}
    assert len(endpoint.given) == 1
    assert endpoint.given[0]["form"] == {"scope": ["GIGACHAT_API_PERS"]}
    assert len(endpoint.given[0]["headers"]["rquid"]) == 36
    assert endpoint.asked == ["token-1-of-the-test"] * 30


def test_a_token_that_is_about_to_end_is_renewed_before_the_next_request():
    with TokenEndpoint(key=SECRET, life=30.0) as endpoint:  # less than the minute ahead at which it is renewed
        judged(gigachat(endpoint, concurrency=1), "a", "b", "c")
    assert len(endpoint.given) == 3
    assert endpoint.refused == 0


def test_a_token_that_is_refused_is_renewed_once_and_costs_no_verdict():
    with TokenEndpoint(key=SECRET) as endpoint, open_scorer(gigachat(endpoint, retries=0)) as scorer:
        assert next(scorer.score([item("a")]))[1].label == "correct"
        endpoint.revoke()
        found = [verdict.label for _, verdict in scorer.score(item(f"b{n}") for n in range(20))]
    assert found == ["correct"] * 20
    assert len(endpoint.given) == 2


def test_a_key_that_gives_no_token_stops_the_judge_without_being_shown():
    with TokenEndpoint(key="another-key-entirely") as endpoint, pytest.raises(JudgeFailed) as caught:
        judged(gigachat(endpoint), *(f"a{n}" for n in range(20)))
    assert "mismatch" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert endpoint.asked == []


def test_a_scope_can_be_chosen_and_is_no_part_of_the_identity():
    with TokenEndpoint(key=SECRET) as endpoint:
        judge = gigachat(endpoint, scope="GIGACHAT_API_CORP")
        judged(judge, "a")
        assert judge.identity == gigachat(endpoint).identity
    assert endpoint.given[0]["form"] == {"scope": ["GIGACHAT_API_CORP"]}
    assert SECRET not in repr(judge) + str(judge.redacted())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("no `openssl` to make a certificate with")
    folder = tmp_path_factory.mktemp("certificate")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + cert.read_bytes())
    return both, cert


def test_certificates_of_ones_own_are_trusted_for_the_token_and_for_the_judging(certificate):
    both, trusted = certificate
    with TokenEndpoint(key=SECRET, certificate=both) as endpoint:
        (found,) = judged(gigachat(endpoint, ca_bundle=str(trusted)), "a")
        (refused,) = judged(gigachat(endpoint, retries=0), "a")
    assert found.label == "correct"
    assert (refused.label, refused.error.code) == (None, "auth_connection")
    assert "certificate" in refused.error.message.lower()


def test_certificates_that_are_not_there_or_are_none_are_refused(tmp_path):
    with TokenEndpoint(key=SECRET) as endpoint:
        with pytest.raises(InvalidJudge, match="no file"):
            gigachat(endpoint, ca_bundle=str(tmp_path / "nowhere.pem"))
        (tmp_path / "bad.pem").write_text("no certificate")
        with pytest.raises(InvalidJudge, match="cannot be used"):
            judged(gigachat(endpoint, ca_bundle=str(tmp_path / "bad.pem")), "a")


def test_azure_names_the_deployment_in_the_address_and_the_key_in_its_own_header():
    with OpenAIEndpoint(answer=lambda _: verdict("correct")) as endpoint:
        spec = JudgeSpec(type="llm", provider="azure", model="my gpt")
        judge = effective_judge(
            spec,
            environ={"AZURE_OPENAI_ENDPOINT": endpoint.base_url.removesuffix("/v1"), "AZURE_OPENAI_API_KEY": SECRET},
        )
        judged(judge, "a")
        other = effective_judge(
            spec.model_copy(update={"api_version": "2026-01-01", "base_url": endpoint.base_url}),
            environ={"AZURE_OPENAI_API_KEY": SECRET},
        )
        judged(other, "a")
    first, second = endpoint.requests
    assert first.path == "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"
    assert first.headers["api-key"] == SECRET
    assert "authorization" not in first.headers
    assert second.path.endswith("?api-version=2026-01-01")


@pytest.mark.parametrize(
    ("provider", "environ", "authorization"),
    [
        ("openrouter", {"OPENROUTER_API_KEY": SECRET}, f"Bearer {SECRET}"),
        ("ollama", {}, "Bearer none"),
        ("vllm", {"VLLM_API_KEY": SECRET}, f"Bearer {SECRET}"),
        ("something-new", {"OPENAI_API_KEY": SECRET}, f"Bearer {SECRET}"),
    ],
)
def test_compatible_providers_differ_in_address_and_key_only(provider, environ, authorization):
    with OpenAIEndpoint(verdict("correct")) as endpoint:
        spec = JudgeSpec(type="llm", provider=provider, model="m", base_url=endpoint.base_url)
        judged(effective_judge(spec, environ=environ), "a")
    (request,) = endpoint.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", authorization)
    assert not {"x-stainless-os", "x-stainless-arch", "x-stainless-runtime"} & set(request.headers)


def test_a_response_format_of_ones_own_that_is_refused_ends_and_is_not_asked_for_ever():
    with OpenAIEndpoint(answer=lambda _: error(400, "response_format is not supported")) as endpoint:
        spec = JudgeSpec(type="llm", model="m", base_url=endpoint.base_url, response_format={"type": "json_object"})
        (found,) = judged(effective_judge(spec, environ={"OPENAI_API_KEY": SECRET}), "a")
    assert found.error.code == "http_400"
    assert len(endpoint.requests) == 1
