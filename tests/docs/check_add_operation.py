#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/add-an-operation.md to the letter, in a copy of the source: puts its blocks into
the files that it names, runs its commands, compiles the library for one instruction set without
optimising, and runs its program."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/add-an-operation.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# "In [the file](…), after `this line`:" before a block; lines break anywhere.
PLACE = re.compile(r"In\s+\[([\w/.]+)\]\([^)]*\),\s+(after|before)\s+`([^`]+)`:\s*\Z")


class Mistake(Exception):
    """What the page says cannot be done."""


def copy_source(to):
    """All that the build's description names; without build folders and history."""
    def unwanted(folder, names):
        top = Path(folder) == ROOT
        return {n for n in names if n == "__pycache__"
                or top and (n.startswith("build") or n in (".git", "shared"))}
    shutil.copytree(ROOT, to, ignore=unwanted, symlinks=True)


def put_block(root, place, block):
    name, side, line = place
    path = root / name
    text = path.read_text()
    found = text.count(line + "\n")
    if found != 1:
        raise Mistake(f"{name} has the line {line!r} {found} times")
    both = (line + "\n", block) if side == "after" else (block, line + "\n")
    path.write_text(text.replace(line + "\n", "".join(both)))


def follow(root):
    """Does what the page says; returns the program at its end."""
    page, program, commands = (root / PAGE).read_text(), None, 0
    for match in BLOCK.finditer(page):
        language, block = match.groups()
        place = PLACE.search(page[:match.start()])
        if language == "sh":
            subprocess.run(block, shell=True, cwd=root, check=True)
            commands += 1
        elif place:
            put_block(root, place.groups(), block)
        elif "int main(" in block:
            program = block
        else:
            raise Mistake(f"nothing says where this block goes:\n{block}")
    if not program or not commands:
        raise Mistake("the page has no program, or no command")
    return program


def quick(entry):
    """A command of the build, for baseline instructions alone, quick to compile."""
    words = [w for w in shlex.split(entry["command"])
             if not re.match(r"-O\d|-g$|-DVP_HAVE_AVX", w)]
    return [*words, "-O0"]


def is_wanted(entry):
    part = entry["output"].split("/")[0]
    return part.startswith(("libkernels-baseline", "libvproc.so"))


def compile_library(root):
    """The library's objects."""
    build = root / "build"
    subprocess.run(["meson", "setup", build, "-Dllvm=none", "-Dwhole=false"], cwd=root,
                   check=True, stdout=subprocess.DEVNULL)
    entries = [e for e in json.loads((build / "compile_commands.json").read_text())
               if is_wanted(e)]
    subprocess.run(["ninja", "-C", build, "--quiet", "src/emitter.c"], check=True,
                   stdout=subprocess.DEVNULL)
    for entry in entries:
        (build / entry["output"]).parent.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(lambda e: subprocess.run(quick(e), cwd=build), entries):
            done.check_returncode()
    return [str(build / e["output"]) for e in entries]


def run_program(root, program, objects):
    source, binary = root / "program.c", root / "program"
    source.write_text(program)
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{root}/include",
                    source, "-o", binary, *objects, "-lm", "-lmvec", "-ldl", "-pthread"],
                   check=True)
    subprocess.run([binary], check=True, timeout=30)


def main():
    with tempfile.TemporaryDirectory(prefix="vproc-page-") as folder:
        root = Path(folder) / "vproc"
        copy_source(root)
        try:
            program = follow(root)
            run_program(root, program, compile_library(root))
        except (Mistake, subprocess.SubprocessError) as problem:
            print(f"{PAGE}: {problem}")
            return 1
    print(f"{PAGE} is true")
    return 0


if __name__ == "__main__":
    sys.exit(main())
