"""Errors a user can act on: each message names what is wrong, its value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class FittestError(Exception):
    """Base of every error that is the user's to mend; printed without a trace."""


class DesignError(FittestError, ValueError):
    """A design, protocol or run setting that cannot be used."""


class FileError(FittestError):
    """A data file that is missing, incomplete, foreign or of another schema."""


def suggestion(word: object, allowed: Iterable[object], cutoff: float = 0.6) -> str:
    """Return ` Did you mean 'x'?` for the nearest allowed word, or an empty string.

    `cutoff`, 0 … 1, is how alike the two must be.
    """
    near = get_close_matches(str(word), [str(a) for a in allowed], n=1, cutoff=cutoff)
    return f" Did you mean {near[0]!r}?" if near else ""


def choices(allowed: Iterable[object]) -> str:
    """Return the allowed values as `'a', 'b'`, for the end of a message."""
    return ", ".join(repr(str(a)) for a in allowed)
