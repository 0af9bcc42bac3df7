"""Writes the pages and the saved sessions of a data folder as a static site (docs/site.md)."""
