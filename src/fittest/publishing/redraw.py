"""Drawing published figures again, from what is published: nothing is trained."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pandas as pd

from fittest.design import load_design
from fittest.errors import FileError
from fittest.figures.drawing import draw_figure, save
from fittest.figures.registry import FIGURES, drawable
from fittest.publishing.publish import IMAGES, design_of

log = logging.getLogger("fittest")


def redraw(published: Path) -> int:
    """Draw every figure of the folders of published results; return how many.

    Parameters
    ----------
    published
        Folder of such folders. One with a design holds tables and statistics: its figures' data are
        made from them again. Of others, the data lie beside the image, which is drawn from them.

    Raises
    ------
    FileError
        Where a figure's data come out otherwise than they were published, or no figure is there.
    """
    count = 0
    for folder in sorted(path for path in published.iterdir() if path.is_dir()):
        drawn = list(_from_tables(folder) if design_of(folder).is_file() else _from_data(folder))
        if drawn:
            log.info("%s: %s", folder, ", ".join(drawn))
        count += len(drawn)
    if not count:
        raise FileError(f"{published} holds no published figures")
    return count


def _from_tables(folder: Path) -> Iterator[str]:
    for name in drawable(load_design(design_of(folder)).experiments):
        stem = folder / "figures" / name
        data = stem.with_suffix(".csv")
        before = data.read_bytes() if data.is_file() else None
        draw_figure(name, [folder / path for path in FIGURES[name].inputs], stem, IMAGES)
        if before is not None and data.read_bytes() != before:
            raise FileError(
                f"{data} came out otherwise than it was published: its tables, statistics or the "
                f"code that reads them changed. Compare with `git diff {data}`"
            )
        yield name


def _from_data(folder: Path) -> Iterator[str]:
    for name, figure in FIGURES.items():
        data = folder / f"{name}.csv"
        if data.is_file():
            save(import_module(figure.module), pd.read_csv(data), folder / name, IMAGES)
            yield name
