"""Progress of long work: what is done, how fast, and how long it will still take."""

from __future__ import annotations

import logging
import time

log = logging.getLogger("fittest")


class Progress:
    """Logs at most one line every few seconds, and one at the end.

    Parameters
    ----------
    name
        What is being done.
    total
        Trial-steps in all.
    interval
        Seconds between lines.
    """

    def __init__(self, name: str, total: int, interval: float = 10.0) -> None:
        self.name, self.total, self.interval = name, total, interval
        self.done = 0
        self.start = self.last = time.monotonic()

    def __call__(self, amount: int) -> None:
        """Count trial-steps just done."""
        self.done += amount
        now = time.monotonic()
        if now - self.last >= self.interval or self.done == self.total:
            self.last = now
            rate = self.done / max(now - self.start, 1e-9)
            left = (self.total - self.done) / rate
            log.info(
                "%s: %d of %d trial-steps (%.0f%%), %.0f a second, %s left",
                self.name,
                self.done,
                self.total,
                100 * self.done / self.total,
                rate,
                duration(left),
            )


def duration(seconds: float) -> str:
    """Return a length of time for people: `45 s`, `12 min`, `3.1 h`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
