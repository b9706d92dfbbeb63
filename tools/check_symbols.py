#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shared library exports exactly what vproc.h declares with VP_API, and programs can
open it at run time.

    tools/check_symbols.py build/libvproc.so

clang reads the header, so that macros which expand to declarations count like any other.
"""

import json
import subprocess
import sys
from pathlib import Path

# glibc keeps 1664 bytes of static thread-local memory for all libraries opened at run time
# together; a Python process has opened a dozen before it comes to us.
MOST_THREAD_LOCAL = 512

ROOT = Path(__file__).resolve().parent.parent


def output_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def declared():
    """The functions and variables that the header declares with default visibility, and
    those with external linkage that lack it."""
    tree = json.loads(output_of("clang", "-std=c11", "-fsyntax-only", "-Xclang",
                                "-ast-dump=json", str(ROOT / "include" / "vproc.h")))
    public, unmarked = set(), set()
    for node in tree["inner"]:
        if node["kind"] not in ("FunctionDecl", "VarDecl"):
            continue
        if node.get("storageClass") == "static" or not node["name"].startswith("vp_"):
            continue
        if any(part["kind"] == "VisibilityAttr" for part in node.get("inner", [])):
            public.add(node["name"])
        elif not node.get("inline"):
            unmarked.add(node["name"])
    return public, unmarked - public


def thread_local_bytes(library):
    """The size of the thread-local segment, 0 without one."""
    sizes = [int(line.split()[5], 16)
             for line in output_of("readelf", "-lW", library).splitlines()
             if line.split()[:1] == ["TLS"]]
    return sum(sizes)


def main():
    library = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "libvproc.so")
    exported = {line.split()[-1].split("@")[0]
                for line in output_of("nm", "-D", "--defined-only", library).splitlines()}
    public, unmarked = declared()
    mistakes = [f"{name}: declared in vproc.h without VP_API" for name in sorted(unmarked)]
    mistakes += [f"{name}: declared in vproc.h, not exported by {library}"
                 for name in sorted(public - exported)]
    mistakes += [f"{name}: exported by {library}, not declared in vproc.h"
                 for name in sorted(exported - public)]
    size = thread_local_bytes(library)
    if size > MOST_THREAD_LOCAL:
        mistakes.append(f"{library}: {size} bytes are thread-local, more than "
                        f"{MOST_THREAD_LOCAL}: dlopen may fail")
    print("\n".join(mistakes or [f"exported symbols: {len(public)}, as vproc.h declares"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
