"""
Reading the tables
==================

Everything that the pipeline measured of a design lies in a few NetCDF files. They need nothing of
this package to be read: here with xarray, but any program that reads NetCDF will do.

Run `make quick` first, or change the folder to another design's.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import xarray as xr

results = Path("results/quick")

# %%
# One table an experiment
# -----------------------
# `survival.nc` has a flag for every trial and circle: 1 survived, 0 died, missing where the circle
# does not exist or the trial diverged. Axes that the experiment varies are dimensions; `horizon` is
# the step at which survival is judged, `rule` how.

table = xr.open_dataset(results / "tables/initial-signal/survival.nc", engine="h5netcdf")
fate = table["survived"].sel(rule="relative").isel(horizon=-1)
print(dict(fate.sizes))

# %%
# Does the strongest circle at the start survive?
# -----------------------------------------------
# Rank the circles of each embedding by initial signal, 1 the strongest, and count survivors by
# rank. The count is over trials, which share the embedding and differ in network and split.

signal = table["initial_signal"].isel(trial=0).to_pandas()  # the trials of an embedding share it
rank = signal.rank(axis="columns", ascending=False).astype(int)
rate = fate.mean("trial").to_pandas()
by_rank = rate.stack().groupby(rank.stack()).mean()

figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.bar(by_rank.index, by_rank)
ax.axhline(float(fate.mean()), color="black", ls=":", label="all circles")
ax.set_xlabel("rank of the initial signal, 1 the strongest")
ax.set_ylabel(f"survival rate at step {int(fate['horizon']):,}")
ax.set_title(f"{fate.sizes['trial'] * fate.sizes['embedding']} trials", loc="left")
ax.legend()
figure.savefig("tables.png", dpi=150)

# %%
# What the picture says
# ---------------------
# The bars fall from left to right: circles that start strong survive more often. Far from always,
# though: the initial signal decides a part, and the network's other weights the rest.
print(f"strongest circle {by_rank.iloc[0]:.2f}, weakest {by_rank.iloc[-1]:.2f}")
