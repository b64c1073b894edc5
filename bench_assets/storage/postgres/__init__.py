"""The rows of finished runs in Postgres: schema, migrations, upserts, and a Postgres of our own where there is none."""
