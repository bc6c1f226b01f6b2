"""Tables of experiments: each kind one module, from trajectories to what everything reads."""
