#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C file with a hash of the given files: fingerprint.py OUT IN…

Compiled kernels on disk are named with it, so that code which other sources would make
differently is not found."""

import hashlib
import sys


def main():
    out, *inputs = sys.argv[1:]
    sources = hashlib.sha256()
    for name in inputs:
        with open(name, "rb") as file:
            sources.update(file.read())
    with open(out, "w", encoding="ascii") as file:
        file.write("extern const char vp__emitter[];\n"
                   f'const char vp__emitter[] = "{sources.hexdigest()[:16]}";\n')


if __name__ == "__main__":
    main()
