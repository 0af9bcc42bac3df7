"""Load and faults from outside, as commands that print their figures: `python -m tools.load --help`."""
