"""
Your own intervention
=====================

What if one circle starts with a head start of a fifth? Interventions of the pipeline are spelt in a
design, but for a first look arrays are enough: take an embedding, change it, train a few networks
from it.
"""

import matplotlib.pyplot as plt
import numpy as np

import fittest

# %%
# The arrays of eight trials
# --------------------------
# They share embedding 0 and differ in network and split, as in the experiment `initial-signal`. The
# arrays are those that the pipeline would train: seeds are named by what is drawn.

cell = fittest.Cell(p=23, d=64, embedding="0")
protocol = fittest.Protocol(steps=1500)
start = fittest.initial_state(cell, protocol, seed=0, trials=range(8))
signals = fittest.signals(start.parameters.embedding[0])
weakest = int(np.argmin(signals)) + 1  # circles count from 1
print(f"weakest circle at the start: k = {weakest}, signal {signals.min():.1f}")

# %%
# Raise the weakest circle
# ------------------------
# Circle k is rows k and p - k of the DFT over tokens. Raise them until it leads by a fifth.

spectrum = np.fft.fft(start.parameters.embedding, axis=1)
raised = spectrum.copy()
raised[:, [weakest, cell.p - weakest]] *= 1.2 * signals.max() / signals.min()
embedding = np.fft.ifft(raised, axis=1).real

# %%
# Train both
# ----------
# `train_ensemble` takes any arrays, and trains each network as if it were alone.

mlp = start.parameters.arrays()[1:]
records = {
    name: fittest.train_ensemble(
        fittest.Parameters(array, *mlp), start.train_pairs, protocol, weight_decay=0.5
    )
    for name, array in (("as drawn", start.parameters.embedding), ("raised", embedding))
}

figure, axes = plt.subplots(1, 2, figsize=(7, 3), sharey=True, layout="constrained")
for ax, (name, record) in zip(axes, records.items(), strict=True):
    ax.plot(record.step, record.signal[:, :, weakest - 1].T, color="#0072B2", lw=1)
    ax.plot(record.step, 2 * record.mean_signal.T, color="#B0B0B0", lw=0.8, ls=":")
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xlabel("optimiser step")
    ax.set_title(f"circle {weakest} {name}, {len(record.signal)} trials", fontsize=9)
axes[0].set_ylabel("signal (dotted: threshold)")
figure.savefig("intervention.png", dpi=150)

# %%
# What the picture says
# ---------------------
# As drawn, the weakest circle seldom ends above the threshold; raised, it does far more often. The
# head start was the only difference: the other weights and the split were the same.
for name, record in records.items():
    ends = record.signal[:, -1, weakest - 1] > 2 * record.mean_signal[:, -1]
    print(f"{name}: circle {weakest} survives in {int(ends.sum())} of {ends.size} trials")
