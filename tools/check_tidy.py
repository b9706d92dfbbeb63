#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on every source of the clang build, once: a file that is compiled for several
instruction sets is looked at in its first form only, because the others differ in flags
alone. Takes the build folder and the number of jobs."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    build = Path(sys.argv[1])
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    commands = json.loads((build / "compile_commands.json").read_text())
    first = {}
    for entry in commands:
        source = (Path(entry["directory"]) / entry["file"]).resolve()
        first.setdefault(source, {**entry, "file": str(source)})

    reduced = build / "tidy"
    reduced.mkdir(exist_ok=True)
    (reduced / "compile_commands.json").write_text(json.dumps(list(first.values())))

    def look(source):
        done = subprocess.run(["clang-tidy", "-quiet", "-p", str(reduced), str(source)],
                              cwd=ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        # Counts of suppressed warnings come on the other stream; errors do too.
        return done.returncode, done.stdout + (done.stderr if done.returncode else "")

    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for status, output in pool.map(look, sorted(first)):
            if status or output.strip():
                failed += 1
                print(output.strip())
    print(f"clang-tidy: {len(first)} sources, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
