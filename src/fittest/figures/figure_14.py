"""Fig. 14: number of surviving circles against every modulus, primes marked."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from fittest.axes import Primes
from fittest.figures import style
from fittest.figures.counting import RULE, panel, sizes, tidy, trend


def data(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: counts, and whether the modulus is `prime`."""
    frame = tidy(counts, "modulus-all")
    moduli = frame["value"].dropna().astype(int)
    primes = Primes(primes=[2, max(3, int(moduli.max()))]).values()
    return frame.assign(prime=frame["value"].isin(primes).astype(int))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    return (
        "Mean number of surviving circles against every modulus, primes marked, with 95% intervals "
        f"over trials: {sizes(frame)}; {trend(frame)}. Even and composite moduli have circles "
        "k = 1 … ⌊(p - 1)/2⌋ too; for even p, k = p/2 is not one."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, ax = plt.subplots(figsize=(style.WIDTH, 3.0))
    panel(ax, frame, look={"color": style.COLOURS[0]}, label="every modulus")
    primes = frame[(frame["statistic"] == "circles") & (frame["prime"] == 1)]
    primes = primes[primes["rule"] == RULE]
    (mark,) = ax.plot(
        primes["value"], primes["estimate"], "D", ms=4, color=style.COLOURS[1], zorder=3
    )
    mark.set_label("prime modulus")
    ax.set_ylim(bottom=0)
    ax.set_title(
        f"{sizes(frame)}; {trend(frame)}\n"
        "circles are k = 1 … ⌊(p - 1)/2⌋: for even p, k = p/2 is not one",
        loc="left",
        fontsize=8,
    )
    ax.legend()
    return figure
