"""Which files of the package a module comes from, read from its imports.

Snakemake does not see an edit in an imported package. Cheap stages therefore list as inputs the
files found here, so that an edit redraws what it can change and nothing else.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

PACKAGE = "fittest"
_ROOT = Path(__file__).parent


def source_files(*modules: str) -> list[Path]:
    """Return the files of the modules given and of all they import from the package, sorted.

    Imports under `if TYPE_CHECKING:` do not run and do not count; those inside functions do. A
    file beside a module that it names, as a style sheet, counts too.
    """
    found: set[str] = set()
    files: set[Path] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting.extend(_imports(module))
            files.update(_files(module))
    return sorted(files)


def _path(module: str) -> Path | None:
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return None
    base = _ROOT.joinpath(*parts[1:])
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _nodes(module: str) -> tuple[ast.AST, ...]:
    path = _path(module)
    return () if path is None else tuple(_running(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def _files(module: str) -> tuple[Path, ...]:
    """Return a module's own file and the files beside it that its text names."""
    path = _path(module)
    if path is None:
        return ()
    texts = [str(n.value) for n in _nodes(module) if isinstance(n, ast.Constant)]
    beside = [path.with_name(text) for text in texts if re.fullmatch(r"\w+\.\w+", text)]
    return (path, *(file for file in beside if file.is_file()))


@cache
def _imports(module: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from package import name`: name may be a module; `_path` drops it if it is not.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(name for name in names if name.split(".")[0] == PACKAGE)


def _running(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes that run: all but the bodies of `if TYPE_CHECKING:`."""
    nodes = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        nodes += [node, *_running(node)]
    return nodes
