"""Of the tools that are run by hand."""
