"""`bench-assets run`: one evaluation from start to end."""

import gc
from pathlib import Path
from typing import Any

import click

OPTIONS = [
    click.option("--benchmark", required=True, help="`name@version` of a benchmark of this project."),
    click.option(
        "--agent", required=True, help="`name@ref[~variant]` of agents.yaml, a path, git+…@ref, or a requirement."
    ),
    click.option("--agent-entry-point", help="Name in the entry-point group `bencher_agents` that makes the adapter."),
    click.option(
        "--agent-import-path", help="`module:attribute` that makes the adapter. One of the two, for a source."
    ),
    click.option("--agent-extra-dep", multiple=True, help="Further requirement for the same environment; repeatable."),
    click.option("--agent-python", help="Python of the environment, for instance 3.12; default: this one."),
    click.option("--agent-env", multiple=True, help="Name of a variable that the agent may see; repeatable."),
    click.option(
        "--env-override", multiple=True, metavar="NAME=VALUE", help="Variable of the agent; ${X} takes X of yours."
    ),
    click.option("--timeout", type=float, help="Seconds for one attempt at one question."),
    click.option("--worker-ready-timeout", type=float, help="Seconds for a started worker to say that it is ready."),
    click.option("--limit", type=int, help="At most so many questions, taken after --sample."),
    click.option("--sample", type=int, help="A random subset of so many questions."),
    click.option("--seed", type=int, help="Seed of --sample; the same seed gives the same questions for ever."),
    click.option("--repeats", "--repetitions", "repetitions", type=int, help="How often each question is asked."),
    click.option("--parallelism", type=int, help="Workers at once."),
    click.option("--concurrency", type=int, help="Questions in flight in one worker of an async adapter."),
    click.option("--min-start-interval", type=float, help="Least seconds between two questions handed out."),
    click.option("--retries", type=int, help="Further attempts after one that failed."),
    click.option(
        "--retries-for", multiple=True, metavar="CAUSE=N", help="Another budget after one cause, e.g. timeout=0."
    ),
    click.option(
        "--questions-per-worker", type=int, help="Replace a worker after so many questions: agents that leak."
    ),
    click.option("--retry-backoff-sec", type=float, help="Pause before the second attempt; it doubles with each."),
    click.option("--checkpoint-dir", help="Where settled answers go as they settle: a folder or s3://bucket/prefix."),
    click.option("--checkpoint-flush-every", type=int, help="On S3: settled answers a checkpoint object."),
    click.option("--resume", is_flag=True, help="Go on with this candidate's current run instead of a new one."),
    click.option("--reuse-answers", is_flag=True, help="A new run that takes over the answers to equal executions."),
    click.option(
        "--only",
        metavar="WHAT",
        help="Resume, doing again only: errored[:kind], missing, changed, unscored or judge_error.",
    ),
    click.option("--skip-judge", is_flag=True, help="Keep the answers, judge later."),
    click.option("--no-verdict-cache", is_flag=True, help="Judge every answer anew, also unchanged ones."),
    click.option("--output-dir", type=click.Path(path_type=Path), help="Also put <run_id>/ with the final files here."),
    click.option("--upload-dir", help="Also copy <run_id>/ to this s3://bucket/prefix at the end."),
    click.option("--invalidate-agent-cache", is_flag=True, help="Build the agent's environment anew."),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
        default="warning",
        show_default=True,
        help="What is logged to standard error.",
    ),
    click.option("--log-ipc", is_flag=True, help="Log every message between bench-assets and its workers."),
    click.option("--worker-source", help="Install the worker package from here instead of our own."),
    click.option("--description", default="", help="Free text, kept in run.json."),
    click.option("--run-id", help="Use this id instead of a fresh one."),
]


def _with_options(command: Any) -> Any:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@_with_options
def run(**options: Any) -> int:
    """Benchmark one agent: install it, ask every question, judge, sum up, store.

    The same command again costs only what is new: the environment is cached. With --resume, answers are too.
    """
    # What is imported lives as long as the process; looking through all of it again and again helps nobody.
    gc.disable()
    from bench_assets.cli.evaluation import evaluate
    from bench_assets.cli.request import Request

    gc.freeze()
    gc.enable()
    return evaluate(Request(**options))
