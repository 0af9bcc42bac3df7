"""Load and faults from outside, as commands that print figures: `python -m tools.load --help`."""
