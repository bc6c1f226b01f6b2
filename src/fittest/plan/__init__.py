"""What a design would take, before anything runs: core-hours, GPU-hours, bytes of trajectories.

Core time and compression come from measurements, which `coefficients.json` keeps; GPU time is
calculated. Nothing here trains, and nothing imports torch.
"""
