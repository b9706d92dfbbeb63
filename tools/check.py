#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make check` runs: format, lint, include and import order, file heads, pages, symbols.

`--fix-format` rewrites the C files instead of checking them.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def c_files():
    return [str(path.relative_to(ROOT))
            for folder in ("include", "src", "tests", "bench", "examples")
            for path in sorted((ROOT / folder).rglob("*"))
            if path.suffix in (".c", ".h", ".cpp")]


def passed(what, command, **more):
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {what} "
          f"({time.monotonic() - start:.1f} s)", flush=True)
    if done.returncode != 0:
        print(done.stdout.rstrip())
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fix-format", action="store_true")
    options = parser.parse_args()
    if options.fix_format:
        return subprocess.run(["clang-format", "-i", *c_files()], cwd=ROOT).returncode

    jobs = str(options.jobs)
    results = [
        passed("format", ["clang-format", "--dry-run", "-Werror", *c_files()]),
        passed("include order", ["python3", "tools/check_includes.py"]),
        passed("import order", ["python3", "tools/check_imports.py"]),
        passed("file heads", ["python3", "tools/check_files.py"]),
        passed("vproc.h's functions", ["python3", "tools/generate_header.py", "--check"]),
        passed("docs/accuracy.md", ["python3", "tools/accuracy_table.py", "--check"]),
        passed("pages", ["python3", "tools/check_docs.py"]),
    ]
    for folder, compiler in (("build", "gcc"), ("build-clang", "clang")):
        results.append(passed(f"configure {folder}", ["tools/configure.sh", folder],
                              env={**os.environ, "CC": compiler}))
    results += [
        passed("build", ["ninja", "-C", "build", "-j", jobs]),
        passed("exported symbols", ["python3", "tools/check_symbols.py",
                                    "build/libvproc.so"]),
        passed("no stray fused multiply-add", ["python3", "tools/check_fma.py", "build"]),
        # Nothing is built there but what is generated; ninja looks whether a build file has
        # changed, and with it the commands, first.
        passed("clang's commands", ["ninja", "-C", "build-clang", "src/emitter.c"]),
        passed("clang-tidy", ["python3", "tools/check_tidy.py", "build-clang", jobs]),
    ]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
