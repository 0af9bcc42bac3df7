"""Reads recorded runs, for scripts and notebooks. Its public names are in `kvscope`; docs/frames.md says how to use
them."""
