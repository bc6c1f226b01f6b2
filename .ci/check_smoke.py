"""Check the smoke design's tables against numbers that do not come from the pipeline.

Usage: check_smoke.py RESULTS_FOLDER_OF_THE_DESIGN
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

folder = Path(sys.argv[1])
table = xr.open_dataset(folder / "tables/initial-signal/survival.nc", engine="h5netcdf")
rates = xr.open_dataset(folder / "tables/initial-signal/rates.nc", engine="h5netcdf")

# The initial signals, from numpy alone: the seed tree's key of embedding e at (p, d) = (13, 16).
for e in table["embedding"].values:
    key = np.random.SeedSequence(0, spawn_key=(0, int(e), 0, 13, 16))
    embedding = np.random.default_rng(key).standard_normal((13, 16))
    signal = np.linalg.norm(np.fft.fft(embedding, axis=0), axis=1)[1:7]
    np.testing.assert_allclose(
        table["initial_signal"].sel(embedding=e), np.tile(signal, (4, 1)), rtol=1e-5
    )
np.testing.assert_allclose(table["initial_signal"].sel(embedding=0, frequency=1), 12.97634, 1e-5)

# Embedding 0 is learned in every trial within 600 steps: accuracy on pairs never trained on.
accuracy = table["test_accuracy"].sel(embedding=0, horizon=600)
assert (accuracy >= 0.9).all(), accuracy.values
# Its two strongest circles end strongest in trial 0.
final = table["signal"].sel(embedding=0, trial=0, horizon=600)
assert set(final["frequency"].values[np.argsort(final.values)[-2:]]) == {5, 6}, final.values

flags = table["survived"].sel(rule="relative", horizon=600)
np.testing.assert_array_equal(
    rates["survived_count"].sel(rule="relative", horizon=600), (flags == 1).sum("trial")
)
statistics = pd.read_csv(folder / "statistics/initial-signal/correlation.csv")
assert set(statistics["n_trials"].dropna()) == {12}

# The same trials in several ways agree early, by every pair of engines and of arithmetics.
for experiment, trials in (("arithmetic", 4), ("engines", 64)):
    compared = pd.read_csv(folder / f"statistics/{experiment}/comparison.csv")
    early = compared[compared["statistic"] == "early_agreement"]
    assert len(early) >= 2, early
    assert (early["estimate"] == 1).all(), early
    assert set(compared.loc[compared["statistic"] == "circles", "n_trials"]) == {trials}
    # And in who survives: float32 has not had the time to part.
    same = compared[compared["statistic"] == "same_survivors"]
    assert (same["estimate"] == 1).all(), same
# Counts along an axis are means of the survival table's.
for experiment, values in (("modulus", [7, 11, 13]), ("weight-decay", [0, 0.01, 0.5])):
    counts = pd.read_csv(folder / f"statistics/{experiment}/counts.csv")
    counts = counts[(counts["statistic"] == "circles") & (counts["rule"] == "retained")]
    counts = counts[counts["horizon"] == 600]
    assert counts["value"].tolist() == values, counts
    source = xr.open_dataset(folder / f"tables/{experiment}/survival.nc", engine="h5netcdf")
    mean = source["circles"].sel(rule="retained", horizon=600).mean("trial")
    np.testing.assert_allclose(counts["estimate"], mean)
# Without weight decay every circle stays.
assert counts["estimate"].iloc[0] == 6, counts
# With every circle kept a stored network is the one whose losses training recorded.
kept = xr.open_dataset(folder / "tables/collaboration/kept.nc", engine="h5netcdf")
source = xr.open_dataset(folder / "tables/collaboration/survival.nc", engine="h5netcdf")
recorded = source.sel(horizon=600)
every = (135 * recorded["train_loss"] + 34 * recorded["test_loss"]) / 169
np.testing.assert_allclose(kept["whole_loss"].sel(step=600), every, rtol=1e-4)
fails = pd.read_csv(folder / "statistics/collaboration/kept.csv").set_index("statistic")
assert fails.loc["one_fails", "n_trials"] == 4, fails

names = ("figure_2", "figure_3", "figure_5", "figure_6", "figure_7", "figure_8", "figure_10")
names += ("figure_11", "figure_14", "signal_survival")
names += ("decision_time", "arithmetic", "engines")
for name in names:
    for suffix in ("png", "pdf", "svg", "csv"):
        path = folder / f"figures/{name}.{suffix}"
        assert path.stat().st_size > (100 if path.suffix == ".csv" else 1000), path
print("smoke design: signals, accuracy, survivors, counts, engines, kept sets, figures are right")
