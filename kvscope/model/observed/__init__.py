"""Makes logs of runs that another program computes: a module of `transformers`, or what TransformerLens cached."""
