#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The folders stand in the order data flows; a file includes only from its own folder and
from those before it. Examples see the public header alone, as a user's program does."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORDER = ["include", "src/base", "src/trace", "src/array", "src/ops", "src/device",
         "src/jit", "src/lib", "src/net", "src/api", "src/cli"]
OUTSIDE = ["tests", "bench", "examples", "experiments"]  # they may include from any folder of ORDER
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


def check(source):
    mistakes = []
    own = folder_of(source.relative_to(ROOT))
    for number, line in enumerate(source.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        where = f"{source.relative_to(ROOT)}:{number}"
        target = resolve(match[2], source)
        if target is None:
            if match[1] == '"':
                mistakes.append(f'{where}: "{match[2]}" is not a file of the project; '
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


def main():
    sources = [path for folder in ("include", "src", *OUTSIDE)
               for path in sorted((ROOT / folder).rglob("*")) if path.suffix in SUFFIXES]
    strays = [f"{path.relative_to(ROOT)}: {path.parent.relative_to(ROOT)} has no place in "
              "the order of tools/check_includes.py"
              for path in sources if folder_of(path.relative_to(ROOT)) is None]
    mistakes = strays or [m for path in sources for m in check(path)]
    print("\n".join(mistakes or [f"include order: {len(sources)} files follow it"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
