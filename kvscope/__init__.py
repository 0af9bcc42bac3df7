"""KVScope: watch a real transformer answer a prompt, and read its recorded runs.

`app` and `model` beside this file are links to the folders of a checkout; a wheel has the folders themselves. So there
is one package in site-packages, every import says `kvscope.…`, and type checkers, spawned processes and Alembic find it
like any other.
"""
