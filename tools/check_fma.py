#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No kernel joins a multiplication and an addition into one rounding.

    tools/check_fma.py [build]

An instruction set that has fused multiply-add must give the bits of one that has not, so
the compiler may not form it; GCC 12 does all the same for complex products (src/ops/apart.h
says how it is kept from that). This disassembles the kernel objects of every instruction
set and fails where such an instruction stands in a function that must not have one.

Four kinds of function may have one:

- math functions that math.h marks OWN or FUSED, written with it. They, and what libmvec
  has inside, are the rows whose bits do differ between instruction sets; math.h says so
  and lists them, and tests/test_isa.c holds all others to the same bits.
- the tiles of large matrix products (src/lib/product/loops_gemm.c), which no instruction set without
  it has.
- fmod, which takes a remainder that has no rounding at all, checked against libm's.
- uint32 to float32: two halves, the upper one's product exact, so that the one rounding is
  the addition's either way.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
FUSED = re.compile(r"\t(vfn?m(?:add|sub)\w*|fn?m(?:add|sub)|fml[as])\b")
SKIPPED = 77


def allowed():
    """Names of functions that may have one, as patterns of whole names."""
    math = (ROOT / "src/ops/math.h").read_text()
    rows = (ROOT / "src/ops/ops.def").read_text()
    called = re.findall(r"VP_CALL\((\w+), F, (\w+),", rows)
    patterns = [r"cast_(F32|C64)_U32", r"math_fmod_F\d+",
                r"vp__(fast|accurate)_fmod_F\d+_\w+", r"tile_f(32|64)"]
    patterns += [rf"run_{row}_F\d+" for row, prim in called if prim == "fmod"]
    for function, *source in re.findall(r"F\((\w+),\s*([A-Z]+),\s*([A-Z]+),", math):
        for kind, name in zip(source, ("F64", "F32")):
            if kind in ("OWN", "FUSED"):
                patterns.append(rf"(math|vp__own|vp__fast)_{function}(_{name}(_\w+)?|f?)")
                patterns += [rf"run_{row}_{name}" for row, prim in called if prim == function]
    # Helpers that a compiler chose not to inline.
    patterns += [r"vp__(exp|log|sin_reduced|less_pi|pi_less|arc|atanf|cbrtf)\w*"]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def functions_with_one(path):
    """{function: its first fused instruction} of one object file."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    found, function = {}, ""
    for line in text.splitlines():
        start = FUNCTION.match(line)
        if start:
            function = start[1].split(".")[0]  # without .part, .cold, .constprop
        elif fused := FUSED.search(line):
            found.setdefault(function, fused[1])
    return found


def main():
    build = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")
    if not shutil.which("objdump"):
        print("objdump was not found")
        return SKIPPED
    objects = sorted(build.glob("libkernels-*.a.p/*.o"))
    if not objects:
        print(f"no kernel objects in {build}: build first")
        return 1
    may, mistakes = allowed(), []
    for path in objects:
        mistakes += [f"{path.parent.name}/{path.name}: {function} has {instruction}"
                     for function, instruction in functions_with_one(path).items()
                     if not may.fullmatch(function)]
    print("\n".join(sorted(mistakes)
                    or [f"kernel objects without stray fused multiply-add: {len(objects)}"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
