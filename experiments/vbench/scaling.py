# SPDX-License-Identifier: Apache-2.0
"""The same experiments with more and more threads: a table in Markdown, for docs/results.md.

    PYTHONPATH=experiments python3 -m vbench.scaling --programs build/experiments \\
        --threads 1,2,4,8,16
"""

import argparse
import os
import sys
from pathlib import Path

from . import catalogue, measure
from .build import Builder
from .progress import Progress

ROWS = (("a1", 507), ("a2", 1500), ("a3", 1500), ("a4", 1203), ("fft", 1024))
SERIES = ("vproc", "vproc-loop", "c-openmp", "c-openmp-fast", "c-openmp-ordered-fast",
          "fftw-threads", "jax")


def arguments():
    p = argparse.ArgumentParser(prog="vbench.scaling")
    p.add_argument("--programs", required=True)
    p.add_argument("--work", default="build/peers")
    p.add_argument("--threads", default="1,2,4,8,16")
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--experiments", default=",".join(name for name, _ in ROWS))
    return p.parse_args()


def medians(name, size, threads, options, builder, progress):
    os.environ["VP_THREADS"] = str(threads)
    experiment = catalogue.EXPERIMENTS[name]
    series = [s for s in experiment.series if s.name in SERIES]
    seconds = max(options.seconds, experiment.least_seconds)
    found, left_out = measure.measure(experiment, size, series, builder, seconds, progress)
    for one in found:
        if not one["checked"]:
            sys.exit(f"{name} {one['name']} with {threads} threads: {one['check']}")
    return {one["name"]: (one["best_ms"], one["median_ms"]) for one in found}, left_out


def left_out_lines(name, missing, counts):
    """Each peer once with each reason; with the numbers of threads where it is not all."""
    for (series, why), threads in missing.items():
        where = "" if threads == counts else f", with {', '.join(map(str, threads))} threads"
        yield f"{name}: left out: {series}{where}: {why}"


def main():
    options = arguments()
    counts = [int(n) for n in options.threads.split(",")]
    progress = Progress()
    builder = Builder(options.programs, options.work, progress.tell)
    print("| experiment | series | " + " | ".join(f"{n} threads" for n in counts) + " |")
    print("|---|---|" + "---|" * len(counts))
    for name, size in ROWS:
        if name not in options.experiments.split(","):
            continue
        table, missing = {}, {}
        for threads in counts:
            found, left_out = medians(name, size, threads, options, builder, progress)
            for series, (best, median) in found.items():
                table.setdefault(series, {})[threads] = f"{median:.4g} ({best:.4g})"
            for series, why in left_out.items():
                missing.setdefault((series, why), []).append(threads)
        for series, cells in table.items():
            print(f"| {name} {size} | {series} | "
                  + " | ".join(cells.get(n, "-") for n in counts) + " |", flush=True)
        for line in left_out_lines(name, missing, counts):
            progress.tell(line)
    print("\nms per evaluation, median (best)")


if __name__ == "__main__":
    main()
