"""Worked examples small enough for a pencil: ordinary models of the ordinary engine, with given weights."""
