"""What a machine takes for each part of serving a run, for `kvscope plan`; and whether its simulation is right."""
