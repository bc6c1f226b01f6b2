"""How a design's experiments compare in size with the paper's."""

from __future__ import annotations

from collections.abc import Iterable

from fittest.design import Design
from fittest.ledger.claims import PAPER


def sizes_text(design: Design, experiments: Iterable[str]) -> str:
    """Return what a design trains for experiments: p, d, steps and trials a cell of each."""
    texts = []
    for name in experiments:
        if name in design.experiments:
            sizes = _sizes(design, name)
            trials = design.experiments[name].trials
            values = [f"{key} = {_span(*sizes[key])}" for key in ("p", "d")]
            texts.append(
                f"{name}: {', '.join(values)}, {_span(*sizes['steps'])} steps, "
                f"{trials:,} {'trial' if trials == 1 else 'trials'} a cell"
            )
    return "; ".join(texts)


def differences(design: Design, experiments: Iterable[str]) -> list[str]:
    """Return where a design's p, d, or steps are not those of the paper, one text for each."""
    texts = []
    for name in experiments:
        if name not in design.experiments or name not in PAPER:
            continue
        paper = PAPER[name]
        theirs = {"p": paper.p, "d": paper.d, "steps": (paper.steps, paper.steps)}
        ours = _sizes(design, name)
        texts += [
            f"{name}: {key} is {_span(*ours[key])}, in the paper {_span(*theirs[key])}"
            for key in theirs
            if ours[key] != theirs[key]
        ]
    return texts


def _sizes(design: Design, name: str) -> dict[str, tuple[int, int]]:
    """Return the least and the greatest p, d and number of steps of an experiment."""
    experiment = design.experiments[name]
    axes = experiment.axes.expanded()
    steps = [design.protocols[protocol].steps for protocol in experiment.protocol]
    return {
        key: (min(values), max(values))
        for key, values in (("p", axes["p"]), ("d", axes["d"]), ("steps", steps))
    }


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
