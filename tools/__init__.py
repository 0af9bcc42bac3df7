"""What is run by hand: benches, load, faults, recordings, snippets. None of it is shipped."""
