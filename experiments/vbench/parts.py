# SPDX-License-Identifier: Apache-2.0
"""Parts of the processor that are measured by programs of their own, in bench/ of the build:
what issuing costs, how soon native code is there, how fast it is for each layout. Their lines
are shown as they are, and their figures go into the JSON file."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from .build import Missing

# What it shows, its program and arguments, and about how many seconds it takes.
PARTS = {
    "issue": ("what issuing an instruction costs", "bench-net",
              ["tiny", "extend", "gate", "gate-chain", "chain"], 2),
    "jit": ("how soon native code is there", "bench-jit", [], 20),
    "layouts": ("base and native kernels on one thread, against C, by layout", "bench-layouts",
                [], 12),
}

NET_LINE = re.compile(r"^(?P<what>.+?)\s+best\s+(?P<best>[\d.]+)\s+median\s+(?P<median>[\d.]+) (?P<unit>\S+)")
JIT_LINE = re.compile(r"^\s*(?P<what>\S.*?)\s{2,}(?P<best>[\d.]+)\s+(?P<median>[\d.]+) (?P<unit>ms|µs)")
LAYOUT_LINE = re.compile(r"^(?P<what>.+?)\s{2,}(?P<numbers>[\d.]+(\s+([\d.]+|-)){7})\s")
MS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0}


def series(name, best, median, **more):
    return {"name": name, "best_ms": best, "median_ms": median, **more}


def issue_figures(lines):
    found = [m for m in map(NET_LINE.match, lines) if m]
    return {"series": [series(m["what"], float(m["best"]) * MS[m["unit"]],
                              float(m["median"]) * MS[m["unit"]]) for m in found]}


def jit_figures(lines):
    """bench-jit says first without, then with a cache: how long the first and a later kernel
    take."""
    found, first, later = [], [], []
    for line in lines:
        m = JIT_LINE.match(line)
        if not m or "CPU time" in line:
            continue
        found.append(series(m["what"], float(m["best"]) * MS[m["unit"]],
                            float(m["median"]) * MS[m["unit"]]))
        if m["what"].startswith("first kernel"):
            first.append(found[-1]["median_ms"])
        elif m["what"].startswith("a later kernel"):
            later.append(found[-1]["median_ms"])
    figures = {"series": found}
    if len(first) == 2 and later:
        figures.update(cold_first_native_ms=first[0], kernel_median_ms=later[0],
                       warm_first_native_ms=first[1])
    return figures


def layout_figures(lines):
    """bench-layouts says best and median of each, in microseconds; NumPy may not be there."""
    found = []
    for m in filter(None, map(LAYOUT_LINE.match, lines)):
        us = [None if n == "-" else float(n) for n in m["numbers"].split()]
        one = series(m["what"], us[2] * MS["µs"], us[3] * MS["µs"])
        for k, who in enumerate(("vproc-base", "vproc-native", "c", "numpy")):
            if us[2 * k] is not None:
                one[f"{who}_best_us"], one[f"{who}_median_us"] = us[2 * k:2 * k + 2]
        found.append(one)
    return {"series": found}


FIGURES = {"issue": issue_figures, "jit": jit_figures, "layouts": layout_figures}


def environment(options, builder):
    """Where these programs, which ask for `python3`, find NumPy."""
    try:
        folder = Path(builder.python("numpy")).parent if options.peers != "none" else ""
    except Missing:
        folder = ""
    return {**os.environ, "PATH": os.pathsep.join(filter(None, [str(folder), os.environ["PATH"]]))}


def program_of(name, builder):
    return builder.programs.parent / "bench" / PARTS[name][1]


def output_of(command, environment, progress):
    """The status and the lines of a program, with the bar moving while it runs."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.DEVNULL,
                                   env=environment)
        try:
            progress.follow(Path(command[0]).name, process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        said.seek(0)
        return process.returncode, said.read().splitlines()


def run(name, label, options, builder, progress):
    title, program, arguments, seconds = PARTS[name]
    progress.begin(label, seconds * 1000)
    one = {"experiment": name, "title": f"{name}: {title}", "size": None, "series": [],
           "left_out": {}, "lines": []}
    try:
        status, one["lines"] = output_of([str(program_of(name, builder)), *arguments],
                                         environment(options, builder), progress)
        one.update(FIGURES[name](one["lines"]))
        if status != 0:
            one["left_out"][program] = f"ended with status {status}"
    except OSError:
        one["left_out"][program] = "is not installed; it is part of a build folder"
    progress.end()
    return one


def lines(one):
    yield one["title"]
    yield from one["lines"]
    for name, why in one["left_out"].items():
        yield f"  left out: {name}: {why}"
