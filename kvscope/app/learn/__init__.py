"""Lessons: Markdown files whose steps show the live page, with numbers computed from a run (docs/lessons.md)."""
