"""What pydantic found wrong, in the words of the file that a user wrote."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from fittest.errors import choices, suggestion


def _key(loc: tuple[int | str, ...], data: Any) -> str:
    """Return where an error is as a key of the file: pydantic also names its unions' tags."""
    parts = []
    for part in loc:
        known = (
            data if isinstance(data, dict) else range(len(data) if isinstance(data, list) else 0)
        )
        if part in known:
            data = data[part]
            parts.append(str(part))
    return ".".join(parts)


def explain(error: ValidationError, source: str, data: Any) -> str:
    """Return pydantic's errors as lines of `source: key: what is wrong, and the value`."""
    lines: list[str] = []
    for item in error.errors(include_url=False):
        loc = _key(item["loc"], data)
        message = item["msg"].removeprefix("Value error, ")
        message = re.sub(r" after validation, not .*", "", message)
        value = item["input"]
        if item["type"] == "value_error":
            messages = message.splitlines()
        elif item["type"] == "missing":
            messages = ["this key is required: add it"]
            loc = f"{loc}.{item['loc'][-1]}".lstrip(".")
        elif item["type"] in ("dict_type", "model_type"):
            messages = [f"should be a mapping of keys, not {value!r}"]
        elif item["type"] == "literal_error":
            allowed = re.findall(r"'([^']+)'", item["ctx"]["expected"])
            near = suggestion(value, allowed)
            messages = [f"unknown value {value!r}. Allowed: {choices(allowed)}.{near}"]
        else:
            messages = [f"{message[0].lower()}{message[1:]}, not {value!r}"]
        lines += [f"{source}: {loc}: {m}" if loc else f"{source}: {m}" for m in messages]
    return "\n".join(dict.fromkeys(lines))
