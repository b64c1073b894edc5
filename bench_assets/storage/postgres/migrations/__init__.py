"""Alembic's folder. `upgrade.py` beside it runs the migrations; nobody needs an alembic.ini."""
