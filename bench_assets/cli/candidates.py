"""`bench-assets candidates add|list|remove`."""

import click


@click.group()
def candidates() -> None:
    """Register agents' versions for the UI and for `dagster asset materialize`."""


@candidates.command()
@click.argument("agent")
@click.option("--agent-entry-point", help="Name in the entry-point group `bencher_agents`; for a source only.")
@click.option("--agent-import-path", help="`module:attribute` of the adapter; for a source only.")
@click.option("--agent-extra-dep", multiple=True, help="Further requirement for the same environment; repeatable.")
@click.option("--agent-python", help="Python of the environment, for instance 3.12.")
@click.option("--agent-env", multiple=True, help="Name of a variable that the agent may see; repeatable.")
def add(
    agent: str,
    agent_entry_point: str | None,
    agent_import_path: str | None,
    agent_extra_dep: tuple[str, ...],
    agent_python: str | None,
    agent_env: tuple[str, ...],
) -> None:
    """Register AGENT: `name@ref` or `name@ref~variant` of agents.yaml, or any source."""
    from bench_assets.cli.agents import name_agent
    from bench_assets.cli.instance import open_instance
    from bench_assets.cli.project import open_project

    workspace = open_project()
    named = name_agent(
        workspace.project,
        agent,
        entry_point=agent_entry_point,
        import_path=agent_import_path,
        extra_deps=agent_extra_dep,
        python=agent_python,
        env=agent_env,
    )
    if named.public is not None:
        workspace.candidates.register(named.candidate, named.public)
    workspace.candidates.resolve(named.candidate)
    with open_instance(workspace.project) as instance:
        instance.add_dynamic_partitions("candidates", [named.candidate])
    click.echo(named.candidate)


@candidates.command("list")
def list_() -> None:
    """List the registered candidates, one a line."""
    from bench_assets.cli.instance import open_instance
    from bench_assets.cli.project import open_project

    with open_instance(open_project().project) as instance:
        for candidate in sorted(instance.get_dynamic_partitions("candidates")):
            click.echo(candidate)


@candidates.command()
@click.argument("candidate")
def remove(candidate: str) -> None:
    """Take CANDIDATE off the list. Its results stay where they are."""
    from bench_assets.cli.instance import open_instance
    from bench_assets.cli.project import open_project
    from bench_assets.errors import InvalidAgent

    workspace = open_project()
    with open_instance(workspace.project) as instance:
        if not instance.has_dynamic_partition("candidates", candidate):
            known = ", ".join(f"`{key}`" for key in sorted(instance.get_dynamic_partitions("candidates"))) or "none"
            raise InvalidAgent(f"`{candidate}` is not registered; those that are: {known}.")
        instance.delete_dynamic_partition("candidates", candidate)
    workspace.candidates.forget(candidate)
