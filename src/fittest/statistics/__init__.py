"""Statistics of experiments: each kind one module, from tables to one row a number."""
