# SPDX-License-Identifier: Apache-2.0
"""vproc bench: the experiments, with their peers. Started by the command `vproc`, which says
where it is itself and where the experiments' programs are."""

import argparse
import json
import os
import sys
from pathlib import Path

from . import capture, catalogue, measure, parts, table
from .build import Builder, Missing
from .machine import machine
from .progress import Progress

PYTHON_PEERS = {"numpy", "numba", "numba-parallel", "jax", "numpy-loop"}


def arguments():
    names = [*catalogue.EXPERIMENTS, *parts.PARTS]
    p = argparse.ArgumentParser(
        prog="vproc bench", description="Measures the experiments, peers beside them.")
    p.add_argument("experiments", nargs="*", metavar="EXPERIMENT",
                   help=f"which of {', '.join(names)}; without any, all")
    p.add_argument("--size", type=int, help="side of the arrays, instead of the paper's")
    p.add_argument("--seconds", type=float, default=10,
                   help="running time of a series (10; of a4 at least 1.5)")
    p.add_argument("--peers", default="all", help="all, none, or a list such as c,numpy,jax")
    p.add_argument("--ablate", action="store_true",
                   help="vproc once more without each of its mechanisms")
    p.add_argument("--json", metavar="FILE", help="write the figures there")
    p.add_argument("--svg", metavar="DIR", help="draw them there, with a page that shows all")
    p.add_argument("--replot", metavar="FILE", help="draw from such a file, measure nothing")
    p.add_argument("--work", metavar="DIR", help="where peers are compiled and installed")
    p.add_argument("--command", help=argparse.SUPPRESS)
    p.add_argument("--programs", help=argparse.SUPPRESS)
    found = p.parse_args()
    for name in found.experiments:
        if name not in names:
            p.error(f"there is no experiment {name}; there are {', '.join(names)}")
    if found.size is not None and found.size < 1:
        p.error("--size must be at least 1")
    if not found.seconds > 0:
        p.error("--seconds must be more than 0")
    peers = {s.name for e in catalogue.EXPERIMENTS.values() for s in e.series
             if not s.name.startswith("vproc")}
    for name in found.peers.split(",") if found.peers not in ("all", "none") else ():
        if name not in peers:
            p.error(f"there is no peer {name}; there are {', '.join(sorted(peers))}")
    if found.replot and not found.svg:
        p.error("--replot draws, so it needs --svg DIR")
    found.experiments = found.experiments or names
    return found


def wanted(experiment, options):
    series = [s for s in experiment.series
              if s.name.startswith("vproc") or options.peers == "all"
              or s.name in options.peers.split(",")]
    if options.ablate:
        series += catalogue.ablations(experiment)
    return series


def run_experiment(name, size, options, builder, progress):
    experiment = catalogue.EXPERIMENTS[name]
    series = wanted(experiment, options)
    seconds = max(options.seconds, experiment.least_seconds)
    progress.begin(name if len(experiment.times) == 1 else f"{name} {size}",
                   len(series) * seconds * 1000)
    found, left_out = measure.measure(experiment, size, series, builder, seconds, progress)
    progress.end()
    left_out.update(experiment.left_out if options.peers == "all" else {})
    return {"experiment": name, "title": experiment.title, "size": size,
            "seconds": seconds, "paper": experiment.paper.get(size, {}),
            "figure": experiment.figure, "series": found, "left_out": left_out}


def add_pictures_of_f(one, size, sizes, builder):
    """The thread view and the dependency graph of program F, from a run of their own."""
    if not capture.is_pictured(one["experiment"], size, sizes):
        return
    try:
        one.update(capture.capture(builder, size))
    except (Missing, measure.Failed, OSError, ValueError) as why:
        one["left_out"]["thread view and dependency graph"] = str(why)


def write_json(path, facts, experiments):
    """One experiment is an object of its own; several share the machine."""
    if len(experiments) == 1:
        whole = {"machine": facts, **experiments[0]}
    else:
        whole = {"machine": facts, "experiments": experiments}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(whole, indent=1) + "\n")


def read_json(path):
    whole = json.loads(Path(path).read_text())
    if not isinstance(whole, dict):
        raise ValueError("it is not a file that --json wrote")
    if "experiments" not in whole and "series" not in whole:
        raise ValueError("it has no experiments")
    return whole.get("machine", {}), whole.get("experiments", [whole])


def draw(folder, facts, experiments):
    from .report import draw_all

    for path in draw_all(Path(folder), facts, experiments):
        print(f"wrote {path}")


def main():
    options = arguments()
    if options.replot:
        try:
            facts, experiments = read_json(options.replot)
        except (OSError, ValueError, KeyError) as why:
            sys.exit(f"vproc bench: {options.replot} cannot be drawn: {why}")
        draw(options.svg, facts, experiments)
        return
    progress = Progress()
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    builder = Builder(options.programs, options.work or Path(home) / "vproc-bench",
                      progress.tell)
    peers = options.peers.split(",")
    facts = machine(options.command, builder,
                    options.peers == "all" or bool(PYTHON_PEERS & set(peers)))
    print("\n".join(table.machine_lines(facts)))
    experiments = []
    for name in options.experiments:
        if name in parts.PARTS:
            one = parts.run(name, options, builder, progress)
            experiments.append(one)
            print("\n" + "\n".join(parts.lines(one)), flush=True)
            continue
        sizes = list(catalogue.EXPERIMENTS[name].times)
        if options.size and catalogue.EXPERIMENTS[name].one_size:
            progress.tell(f"{name} has one size; --size does not change it")
        elif options.size:
            sizes = [options.size]
        for size in sizes:
            one = run_experiment(name, size, options, builder, progress)
            if options.json or options.svg:
                add_pictures_of_f(one, size, sizes, builder)
            experiments.append(one)
            print("\n" + "\n".join(table.experiment_lines(one)), flush=True)
    print("\n" + "\n".join(table.machine_lines(facts)))
    if options.json:
        write_json(options.json, facts, experiments)
    if options.svg:
        draw(options.svg, facts, experiments)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nvproc bench: stopped")
