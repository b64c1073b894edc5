"""Agents made with real frameworks from the registry, whose dependencies fit neither ours nor each other's."""

import pytest

from tests.endtoend.project import quiz, records, strict, write_package

LANGGRAPH = """\
from typing import TypedDict

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import END, START, StateGraph

class State(TypedDict):
    question: str
    answer: str

def answer(state):
    model = FakeListChatModel(responses=[state["question"].upper()])
    return {"answer": model.invoke(state["question"]).content}

class Agent:
    def init(self):
        graph = StateGraph(State)
        graph.add_node("answer", answer)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        self.graph = graph.compile()

    def run(self, question):
        return self.graph.invoke({"question": question})["answer"]

make_agent = Agent
"""

PYDANTIC_AI = """\
from pydantic_ai import Agent as Framework
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

def scripted(messages, info):
    return ModelResponse(parts=[TextPart(messages[-1].parts[-1].content.upper())])

class Agent:
    async def init(self):
        self.agent = Framework(FunctionModel(scripted))

    async def run(self, question):
        return (await self.agent.run(question)).output

make_agent = Agent
"""

SMOLAGENTS = """\
import re

from smolagents import CodeAgent
from smolagents.models import ChatMessage, MessageRole, Model

class Scripted(Model):
    def generate(self, messages, **kwargs):
        text = str(messages[-1].content)
        words = re.search(r"word \\d+", text)[0]
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\\nfinal_answer({words.upper()!r})\\n</code>")

class Agent:
    def init(self):
        self.agent = CodeAgent(tools=[], model=Scripted())

    def run(self, question):
        return str(self.agent.run(question))

make_agent = Agent
"""

FRAMEWORKS = {
    "langgraph": (LANGGRAPH, ("langgraph", "pydantic==2.11.10")),
    "pydantic-ai": (PYDANTIC_AI, ("pydantic-ai-slim", "rich<14")),
    "smolagents": (SMOLAGENTS, ("smolagents", "click<8.2")),
}
"""Each with a pin that contradicts what bench-assets itself runs on."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_an_agent_of_a_framework_runs_in_its_own_environment(project, name):
    source, dependencies = FRAMEWORKS[name]
    write_package(project.folder / "agent", source, name=f"my-{name}", dependencies=dependencies)
    benchmark = project.benchmark(quiz(4), extra="worker_ready_timeout_sec: 120\n")
    done = project.cli("run", "--benchmark", benchmark, "--agent", "./agent", "--agent-entry-point", "agent")
    assert done.returncode == 0, done.stderr
    (run,) = project.runs()
    assert [answer["error"] for answer in records(run / "answers.jsonl")] == [None] * 4
    assert strict((run / "summary.json").read_text())["correct"] == 3
    assert len((run / "environment.lock").read_text().splitlines()) > 10
