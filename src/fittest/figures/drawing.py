"""Drawing a figure from its files, and saving it beside the tidy data it was drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from fittest.errors import DesignError, FileError, choices, suggestion
from fittest.figures.registry import FIGURES
from fittest.files import csv_text, open_dataset, replacing, write_text

SUFFIXES = ("pdf", "svg", "png")


def draw_figure(
    name: str, inputs: Iterable[Path], stem: Path, suffixes: Iterable[str] = SUFFIXES
) -> None:
    """Draw a figure from its tables and save it with its data.

    Parameters
    ----------
    name
        A key of `FIGURES`.
    inputs
        The files that the registry lists for it, in order.
    stem
        Path without suffix; `.csv`, `.txt` (the caption) and the image are written.
    suffixes
        Formats of the image.
    """
    if name not in FIGURES:
        raise DesignError(
            f"unknown figure {name!r}. Allowed: {choices(FIGURES)}." + suggestion(name, FIGURES)
        )
    expected, given = FIGURES[name].inputs, [Path(path) for path in inputs]
    if len(given) != len(expected):
        raise DesignError(
            f"figure {name} is drawn from {len(expected)} files, in this order: "
            f"{', '.join(expected)}; {len(given)} given"
        )
    module = import_module(FIGURES[name].module)
    frame = module.data(
        *(_read(path, Path(file)) for path, file in zip(given, expected, strict=True))
    )
    text = csv_text(frame)
    write_text(Path(f"{stem}.csv"), text)
    # From the text, not the frame: whoever has the CSV alone can draw the very same figure.
    frame = pd.read_csv(StringIO(text))
    write_text(Path(f"{stem}.txt"), module.caption(frame) + "\n")
    save(module, frame, stem, suffixes)


def save(module: Any, frame: pd.DataFrame, stem: Path, suffixes: Iterable[str] = SUFFIXES) -> None:
    """Draw a figure module's frame and write it as an image, the same bytes each time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from fittest.figures.style import STYLE_SHEET

    with plt.style.context(STYLE_SHEET):
        figure = module.draw(frame)
        for suffix in suffixes:
            # No creation date in the file, or no two would be the same.
            dated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[suffix]
            with replacing(Path(f"{stem}.{suffix}")) as beside:
                figure.savefig(beside, format=suffix, metadata=dated)
        plt.close(figure)


def _read(path: Path, expected: Path) -> Any:
    """Read a table, or statistics, as the figure expects there."""
    if expected.suffix == ".nc":
        return open_dataset(path, f"{expected.stem} table")
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read ({error}). Remove it and make it again.") from error
    if "method" not in frame:
        raise FileError(f"{path} holds no statistics: there is no column 'method'")
    return frame
