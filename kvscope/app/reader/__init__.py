"""Reads recorded runs, for scripts and notebooks. What is public of it is in `kvscope` itself; docs/frames.md says how
it is used."""
