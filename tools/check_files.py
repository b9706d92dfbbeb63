#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source carries its licence line and is listed once in the build; text is clean;
very long files are pointed out."""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["include", "src", "tests", "bench", "examples", "tools", ".ci"]
LINE = "SPDX-License-Identifier: Apache-2.0"
LONG = 1000  # lines; a longer file says at its head why it is
C_SUFFIXES = {".c", ".h", ".def", ".inc", ".cpp"}
# by tests/run_all.py, in strict modes
COMPILED_ELSEWHERE = {"tests/test_header.c", "tests/header_misuse.c",
                      "tests/header_nested.c", "tests/tsan_user.c"}
SUFFIXES = C_SUFFIXES | {".py", ".sh", ".build"}


def sources():
    yield from (ROOT / name for name in ("meson.build", "Makefile"))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and (path.suffix in SUFFIXES or path.parent.name == ".ci"):
                yield path


def check(path):
    name = path.relative_to(ROOT)
    lines = path.read_text().split("\n")
    if path.suffix in C_SUFFIXES:
        comment = "// " if path.suffix == ".cpp" else "/* "
        good = lines[0] in (comment + LINE, comment + LINE + " */")
    else:
        good = "# " + LINE in lines[:2]
    if not good:
        yield f"{name}:1: the first line should read `{LINE}` in a comment"
    if lines[-1] != "":
        yield f"{name}:{len(lines)}: the last line has no end"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{name}:{number}: white space at the end of the line"
        if "\t" in line and path.name != "Makefile":
            yield f"{name}:{number}: a tab"


def unlisted():
    """C sources that the meson.build files do not name exactly once."""
    listed = Counter()
    for build in ROOT.glob("[a-z]*/**/meson.build"):
        for name in re.findall(r"'([\w/.-]+)'", build.read_text()):
            name = name if name.endswith(".c") else name + ".c"
            listed[(build.parent / name).resolve()] += 1
    for folder in ("src", "tests", "examples", "bench"):
        for path in sorted((ROOT / folder).rglob("*.c")):
            name = path.relative_to(ROOT).as_posix()
            if listed[path] != 1 and name not in COMPILED_ELSEWHERE:
                yield f"{name}: listed {listed[path]} times in the build"


def main():
    paths = list(sources())
    mistakes = [mistake for path in paths for mistake in check(path)] + list(unlisted())
    for path in paths:
        length = path.read_text().count("\n")
        if length > LONG:
            print(f"{path.relative_to(ROOT)}: {length} lines; does it still hold one idea?")
    print("\n".join(mistakes or [f"file heads: {len(paths)} files are clean"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
