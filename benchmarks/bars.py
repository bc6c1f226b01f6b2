"""How fast the engines must be: the bars that `--check` holds, and the lines that say so."""

from __future__ import annotations

from dataclasses import dataclass

from fittest.plan.products import Size

Results = dict[str, dict[str, float]]
"""By contestant, what was measured (`benchmarks.report.summarise`)."""

DEFAULTS = Size(59, 128)


@dataclass(frozen=True)
class Bar:
    """A limit on one ratio, which the worst of some contestants must keep.

    label
        What is compared with what.
    keys
        The contestants.
    ratio
        Its name in the results, where it is a median over rounds.
    limit
        The ratio allowed: the least, or with `at_most` the greatest.
    """

    label: str
    keys: tuple[str, ...]
    ratio: str
    limit: float
    at_most: bool = False

    def value(self, results: Results) -> float | None:
        """Return the worst contestant's ratio; None where one of them was not measured."""
        found = [results.get(key, {}).get(self.ratio) for key in self.keys]
        ratios = [ratio for ratio in found if ratio is not None]
        if len(ratios) < len(self.keys):
            return None
        return max(ratios) if self.at_most else min(ratios)

    def verdict(self, results: Results, *, required: bool = True) -> tuple[bool, str]:
        """Return whether the bar is kept, and the line that says so.

        One that was not measured is missed where it is `required`.
        """
        side = "at most" if self.at_most else "at least"
        value = self.value(results)
        if value is None:
            return not required, f"bar, {self.label}: {side} {self.limit:g}: not measured"
        met = value <= self.limit if self.at_most else value >= self.limit
        word = "ok" if met else "MISSED"
        return met, f"bar, {self.label}: {value:.2f} times, {side} {self.limit:g}: {word}"


BARS = (
    Bar(
        "torch engine's speed over the float64 loop's",
        ("torch", "torch_ensemble_4", "torch_ensemble_8"),
        "ratio_to_float64_loop",
        3.0,
    ),
    Bar(
        "native engine's speed over the float64 loop's",
        ("native", "native_sparse_record"),
        "ratio_to_float64_loop",
        9.0,
    ),
    # torch.compile records nothing, so the native engine need not record every step either.
    Bar(
        "native engine's speed over torch.compile's",
        ("native_sparse_record",),
        "ratio_to_torch_compile",
        1.8,
    ),
    Bar(
        "native engine's time over the floor's",
        ("native_sparse_record",),
        "ratio_to_floor",
        1.1,
        at_most=True,
    ),
)


def verdicts(size: Size, results: Results, *, compile_: bool) -> list[tuple[bool, str]]:
    """Return the verdict of every bar; they hold at the defaults, and there are none elsewhere.

    What was not measured is missed, but for the comparison with torch.compile where the native
    engine is there and torch.compile was not asked for (`compile_`).
    """
    if size != DEFAULTS:
        return []
    native = "native" in results
    return [
        bar.verdict(
            results, required=compile_ or not native or bar.ratio != "ratio_to_torch_compile"
        )
        for bar in BARS
    ]
