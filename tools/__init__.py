"""Commands run by hand: benches, load tests, faults, recordings, snippets. None of them is shipped."""
