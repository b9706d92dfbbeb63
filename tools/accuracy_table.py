#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/accuracy.md, from the bounds in src/ops/math.h.

    tools/accuracy_table.py            rewrites it
    tools/accuracy_table.py --check    fails where it is out of date
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/accuracy.md"
START, END = "<!-- from src/ops/math.h -->", "<!-- end -->"


def rows():
    """{operation: {element type: (fast, accurate)}} in the order of math.h."""
    math = (ROOT / "src/ops/math.h").read_text()
    called = dict((prim, row) for row, prim in re.findall(
        r"VP_CALL\((\w+), F, (\w+),", (ROOT / "src/ops/ops.def").read_text()))
    table = {}
    number = r"\s*([\d.]+)"
    for name, *bound in re.findall(
            r"F\((\w+),\s*[A-Z]+,\s*[A-Z]+,\s*[A-Z]+," + ",".join([number] * 4), math):
        table[called[name]] = {"float64": (bound[0], bound[2]),
                               "float32": (bound[1], bound[3])}
    for name, *bound in re.findall(r"F\((\w+)," + ",".join([number] * 4) + r"\)", math):
        table.setdefault(name, {}).update({"complex128": (bound[0], bound[2]),
                                           "complex64": (bound[1], bound[3])})
    return table


def lines():
    types = ("float64", "float32", "complex128", "complex64")
    yield "| operation | " + " | ".join(types) + " |"
    yield "|---" * 5 + "|"
    for name, bounds in rows().items():
        cells = ["{} / {}".format(*bounds[t]) if t in bounds else "" for t in types]
        yield f"| `{name}` | " + " | ".join(cells) + " |"


def main():
    text = PAGE.read_text()
    before, rest = text.split(START)
    new = before + START + "\n" + "\n".join(lines()) + "\n" + END + rest.split(END)[1]
    if "--check" not in sys.argv:
        PAGE.write_text(new)
    elif new != text:
        print("docs/accuracy.md is out of date: run tools/accuracy_table.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
