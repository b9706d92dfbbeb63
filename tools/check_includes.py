#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The folders stand in the order data flows; a file includes only from its own folder and
from those before it. Examples see the public header alone, as a user's program does.

Within a folder modules do not include each other in a circle either. A module is what stands
under one path, `node.c` with `node.h`; those of IN_PARTS have further sources, named after
them and without headers: what `life_end.c` includes, `life.h` is made of."""

import re
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = ["include", "src/base", "src/trace", "src/array", "src/ops", "src/jit",
         "src/device", "src/lib", "src/net", "src/issue", "src/api", "src/cli"]
OUTSIDE = ["tests", "bench", "examples", "experiments"]  # they may include from any folder of ORDER
IN_PARTS = ["src/jit/plan", "src/net/life"]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SUFFIXES = {".c", ".h", ".def", ".inc", ".cpp"}


def folder_of(path):
    """The folder of the order that holds a path given from the root, or None."""
    text = path.as_posix()
    for folder in ORDER + OUTSIDE:
        if text.startswith(folder + "/"):
            return folder
    return None


def resolve(name, source):
    """The project file an include names, by the build's include path, or None."""
    for base in (ROOT / "include", ROOT / "src", ROOT, source.parent):
        path = (base / name).resolve()
        if path.is_file() and path.is_relative_to(ROOT):
            return path.relative_to(ROOT)
    return None


def includes(source):
    """(line, the include as it is written, its file from the root or None) of every include."""
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match[1], match[2], resolve(match[2], source)


def check(source):
    mistakes = []
    own = folder_of(source.relative_to(ROOT))
    for number, mark, name, target in includes(source):
        where = f"{source.relative_to(ROOT)}:{number}"
        if target is None:
            if mark == '"':
                mistakes.append(f'{where}: "{name}" is not a file of the project; '
                                "system headers stand in angle brackets")
            continue
        theirs = folder_of(target)
        if own == "examples" and theirs not in ("include", "examples"):
            mistakes.append(f"{where}: an example includes {target}; it may use vproc.h alone")
        elif own in ORDER and theirs in OUTSIDE:
            mistakes.append(f"{where}: {own} includes {target}, which is not the library's")
        elif own in ORDER and ORDER.index(theirs) > ORDER.index(own):
            mistakes.append(f"{where}: {own} comes before {theirs} and cannot include {target}")
    return mistakes


def module_of(path):
    """The module of a file given from the root."""
    module = path.with_suffix("")
    for owner in IN_PARTS:
        if path.suffix == ".c" and module.as_posix().startswith(owner + "_") and \
                not (ROOT / module).with_suffix(".h").exists():
            return owner
    return module.as_posix()


def graph_of(sources):
    """The modules that each module includes."""
    graph = {}
    for source in sources:
        own = module_of(source.relative_to(ROOT))
        theirs = graph.setdefault(own, set())
        theirs.update(module_of(target) for *_, target in includes(source) if target)
        theirs.discard(own)
    return graph


def cycle_through(graph, module):
    """A shortest way from a module back to itself, or None."""
    before, queue = {}, deque([module])
    while queue:
        at = queue.popleft()
        for following in sorted(graph.get(at, ())):
            if following == module:
                way = [module, at]
                while way[-1] != module:
                    way.append(before[way[-1]])
                return way[::-1] if at != module else None
            if following not in before:
                before[following] = at
                queue.append(following)
    return None


def cycles(graph):
    """The shortest ones first; of those that share a module only the first."""
    found, seen = filter(None, (cycle_through(graph, module) for module in sorted(graph))), set()
    for way in sorted(found, key=len):
        if seen.isdisjoint(way):
            seen.update(way)
            yield "include cycle: " + " -> ".join(way)


def main():
    sources = [path for folder in ("include", "src", *OUTSIDE)
               for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES]
    strays = [f"{path.relative_to(ROOT)}: {path.parent.relative_to(ROOT)} has no place in "
              "the order of tools/check_includes.py"
              for path in sources if folder_of(path.relative_to(ROOT)) is None]
    library = [path for path in sources if folder_of(path.relative_to(ROOT)) in ORDER]
    mistakes = strays or [m for path in sources for m in check(path)] + \
        list(cycles(graph_of(library)))
    print("\n".join(mistakes or [f"include order: {len(sources)} files follow it"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
