"""Alembic's migrations of the database, run by app.database on the connection that it gives."""
