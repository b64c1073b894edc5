"""What others do with the same questions: Inspect AI and promptfoo, each in an environment of its own (`make peers`).

Both are given a task as their documentation shows it, with everything off that talks to a network or to a person.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perf.processes import Took, run

PLACE = Path(__file__).parents[2] / ".bench" / "perf" / "peers"
"""Where `make peers` puts them."""

INSPECT_TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import exact
from inspect_ai.solver import solver

@solver
def echo():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("none", state.input_text)
        return state
    return solve

@task
def questions():
    fields = FieldSpec(id="id", input="question", target="golden")
    return Task(dataset=json_dataset("dataset.jsonl", fields), solver=echo(), scorer=exact())
"""

PROMPTFOO_PROVIDER = """\
def call_api(prompt, options, context):
    return {"output": prompt}
"""


@dataclass(frozen=True)
class Peer:
    """Another program that asks and scores."""

    name: str
    options: str
    """What it was told, for a note."""
    evaluate: Callable[[Path, Path, dict[str, str]], Took]
    """Asks the questions of a dataset of ours, in an empty folder. Raises RuntimeError unless all are right."""


def installed() -> tuple[list[Peer], list[str]]:
    """Return the peers that are there, and a sentence for each that is not."""
    peers, missing = [], []
    inspect, promptfoo = PLACE / "inspect" / "bin" / "inspect", PLACE / "promptfoo" / "node_modules" / ".bin"
    if inspect.exists():
        peers.append(Peer(f"Inspect AI {_pinned('inspect.txt', 'inspect-ai==')}", INSPECT_OPTIONS, _by_inspect))
    else:
        missing.append("Inspect AI is not installed: `make peers`.")
    if (promptfoo / "promptfoo").exists() and shutil.which("node"):
        peers.append(Peer(f"promptfoo {_pinned('promptfoo.txt', 'promptfoo@')}", PROMPTFOO_OPTIONS, _by_promptfoo))
    else:
        missing.append("promptfoo is not installed (it needs Node.js 20.20 or newer, and npm): `make peers`.")
    return peers, missing


INSPECT_OPTIONS = "--model none --display none --max-samples 64 --no-log-realtime --no-score-display"


def _by_inspect(dataset: Path, folder: Path, environ: dict[str, str]) -> Took:
    (folder / "task.py").write_text(INSPECT_TASK, encoding="utf-8")
    shutil.copy(dataset, folder / "dataset.jsonl")
    program = PLACE / "inspect" / "bin" / "inspect"
    took = run([program, "eval", "task.py", *INSPECT_OPTIONS.split()], cwd=folder, environ=environ)
    (log,) = (folder / "logs").glob("*.eval")
    header = json.loads(run([program, "log", "dump", "--header-only", log], cwd=folder, environ=environ).output)
    if header["results"]["scores"][0]["metrics"]["mean"]["value"] != 1:
        raise RuntimeError(f"Inspect AI did not find every answer right: {header['results']}")
    return took


PROMPTFOO_OPTIONS = "-j 4 --no-cache --no-table --no-progress-bar --no-share"


def _by_promptfoo(dataset: Path, folder: Path, environ: dict[str, str]) -> Took:
    (folder / "provider.py").write_text(PROMPTFOO_PROVIDER, encoding="utf-8")
    rows = [json.loads(line) for line in dataset.read_text(encoding="utf-8").splitlines()]
    tests = [
        {"vars": {"question": row["question"]}, "assert": [{"type": "equals", "value": row["golden"]}]} for row in rows
    ]
    config = {"prompts": ["{{question}}"], "providers": ["file://provider.py"], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
    program = PLACE / "promptfoo" / "node_modules" / ".bin" / "promptfoo"
    quiet = {f"PROMPTFOO_DISABLE_{what}": "1" for what in ("TELEMETRY", "UPDATE", "REMOTE_GENERATION", "SHARING")}
    home = folder.parent / "promptfoo-home"
    # Its code is 0 only when every test passed.
    return run(
        [program, "eval", "--config", "promptfooconfig.json", *PROMPTFOO_OPTIONS.split()],
        cwd=folder,
        environ={**environ, **quiet, "PROMPTFOO_CONFIG_DIR": str(home)},
    )


def _pinned(file: str, beginning: str) -> str:
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith(beginning)).removeprefix(beginning).split()[0]
