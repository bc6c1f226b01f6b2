"""
One trial's life
================

A trajectory file holds all that was recorded of a block of trials: the signal of every circle,
losses and accuracies, at every step up to 1,000 and every hundredth after. Its path says what was
trained.

Run `make quick` first, or change the path to another file's.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import fittest

results = Path("results/quick")

# %%
# Open one
# --------
# `fittest.open_trajectories` refuses a file that is incomplete or not ours and says how to make it
# again. `xarray.open_dataset(path, engine="h5netcdf")` reads it too.

(path, *_) = sorted(
    results.glob("trajectories/standard/*/*/*/*/embedding~0/intervention~none/*.h5")
)
block = fittest.open_trajectories(path)
life = block.isel(trial=0)
print(life["signal"].isel(step=[0, -1]).to_pandas().round(1))

# %%
# Circles compete while the loss falls
# ------------------------------------
# A circle survives, by the paper's rule, when its signal ends above twice the mean over all DFT
# bins. That threshold moves: it falls as circles die.

threshold = 2 * life["mean_signal"]
alive = life["signal"].isel(step=-1) > threshold.isel(step=-1)

figure, (top, bottom) = plt.subplots(2, 1, figsize=(6, 5), sharex=True, layout="constrained")
for k in life["frequency"].values:
    lives = bool(alive.sel(frequency=k))
    top.plot(
        life["step"],
        life["signal"].sel(frequency=k),
        color=None if lives else "#B0B0B0",
        zorder=2 if lives else 1,
        label=f"k = {k}" if lives else None,
    )
top.plot(life["step"], threshold, color="black", ls=":", label="threshold")
top.set_ylabel("signal $S_k$")
top.legend(fontsize=7)
bottom.plot(life["step"], life["train_loss"], label="training")
bottom.plot(life["step"], life["test_loss"], ls="--", label="test")
bottom.set_xscale("symlog", linthresh=1)
bottom.set_yscale("log")
bottom.set_xlabel("optimiser step")
bottom.set_ylabel("loss (nats)")
bottom.legend(fontsize=7)
figure.savefig("one_trial.png", dpi=150)

# %%
# What the picture says
# ---------------------
# For some ten steps little happens; then all but a few circles decay. The test loss falls when the
# few have parted from the rest: the network has found the rule, in the circles that are left.
print(f"{int(alive.sum())} of {alive.size} circles survive")
