"""Worked examples that a reader can compute with a pencil: the normal engine with small models of known weights."""
