#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages of `vproc bench` stand in an order, too: a module imports only from its own
package and from those before it. So drawing goes on without measuring, from files alone. A
package that says `__all__` is entered through these names, its modules being its own affair;
tests may look inside."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "experiments"
ORDER = ["vresults", "vdraw", "vbench"]


def interface_of(package):
    """The names in its `__all__`, or None where all its modules are open."""
    for node in ast.parse((FOLDER / package / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def imports(source):
    """(line, module, the names taken from it) of every import, also of those in functions; a
    module within the package begins with a dot, and one that is imported whole has no names."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, set()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            yield node.lineno, "." * node.level + (node.module or ""), names


def mistake(own, module, names):
    """What is wrong with an import in the package `own`, or None."""
    theirs = module.split(".")[0]
    if module.startswith(".."):
        return f"{module} is outside {own}; other packages are named in full"
    if theirs not in ORDER or theirs == own:
        return None
    if ORDER.index(theirs) > ORDER.index(own):
        return f"{own} comes before {theirs} and cannot import from {module}"
    interface = interface_of(theirs)
    if interface is not None and not (module == theirs and names and names <= interface):
        return f"{theirs} is entered by `from {theirs} import {', '.join(sorted(interface))}` alone"
    return None


def main():
    mistakes = [f"experiments/{path.parent.name}: has no place in the order of "
                "tools/check_imports.py"
                for path in sorted(FOLDER.glob("*/__init__.py")) if path.parent.name not in ORDER]
    sources = [(own, path) for own in ORDER for path in sorted((FOLDER / own).rglob("*.py"))]
    for own, path in sources:
        for line, module, names in imports(path):
            if found := mistake(own, module, names):
                mistakes.append(f"{path.relative_to(ROOT)}:{line}: {found}")
    print("\n".join(mistakes or [f"import order: {len(sources)} files follow it"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
