"""Run by Alembic for each command, on the connection and in the transaction that `upgrade.py` hands over."""

from alembic import context

from bench_assets.storage.postgres.schema import metadata
from bench_assets.storage.postgres.upgrade import REVISION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=REVISION_TABLE,
    transactional_ddl=True,
)
context.run_migrations()
