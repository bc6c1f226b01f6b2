"""Reading YAML safely: no objects, no repeated keys, and 1e-4 is a number."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from fittest.errors import DesignError


class _Loader(yaml.SafeLoader):
    """The safe loader, which moreover refuses a key written twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise DesignError(
                    f"line {key_node.start_mark.line + 1}: key {key!r} is not text: "
                    "put it in quotes"
                )
            if key in seen:
                raise DesignError(
                    f"line {key_node.start_mark.line + 1}: {key!r} stands twice: names are unique, "
                    "rename or remove one"
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


# YAML 1.1 reads 1e-4 as text because it has no point; everyone means the number.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?\d+(?:\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file; raise DesignError with file and line if unreadable."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DesignError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DesignError(f"{path} is not UTF-8 text: {error}") from error
    try:
        return yaml.load(text, Loader=_Loader)
    except DesignError as error:
        raise DesignError(f"{path}: {error}") from error
    except Exception as error:  # a bad `!!int ''` or `!!bool x` is an IndexError or a KeyError
        raise DesignError(f"{path} is not valid YAML: {error}") from error
