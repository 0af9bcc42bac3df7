"""Alembic's migrations of the database, run by app.store.database on the connection that it gives."""
