# SPDX-License-Identifier: Apache-2.0
"""vproc bench: the experiments, with their peers. Started by the command `vproc`, which says
where it is itself and where the experiments' programs are."""

import argparse
import json
import os
import sys
import tempfile
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
    p.add_argument("--seconds", type=float,
                   help="running time of a series (10, of a4 15 and at least 1.5)")
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
    if found.seconds is not None and not 0 < found.seconds < 1e6:
        p.error("--seconds must be more than 0, and less than a million")
    peers = {s.name for e in catalogue.EXPERIMENTS.values() for s in e.series
             if not s.name.startswith("vproc")}
    for name in found.peers.split(",") if found.peers not in ("all", "none") else ():
        if name not in peers:
            p.error(f"there is no peer {name}; there are {', '.join(sorted(peers))}")
    if found.replot and not found.svg:
        p.error("--replot draws, so it needs --svg DIR")
    if found.replot and (found.experiments or found.json):
        p.error("--replot draws what is in its file: it takes no experiments and no --json")
    found.experiments = found.experiments or names
    check_sizes(p, found)
    check_outputs(p, found)
    return found


def check_sizes(p, options):
    """Nobody waits for arrays that cannot be."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for name in options.experiments if options.size else ():
        experiment = catalogue.EXPERIMENTS.get(name)
        if experiment and options.size < experiment.least_size:
            p.error(f"--size of {name} must be at least {experiment.least_size}")
        if experiment and options.size**2 * 8 * experiment.planes > memory:
            p.error(f"--size {options.size} of {name} takes more memory than there is")
    if options.size and options.size > 10**9:
        p.error("--size must be at most 1000000000")


def check_outputs(p, options):
    """What cannot be written is said before anything is measured."""
    try:
        for folder in filter(None, (options.svg, options.work)):
            Path(folder).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        if options.json:
            Path(options.json).parent.mkdir(parents=True, exist_ok=True)
            open(options.json, "a").close()
    except OSError as why:
        p.error(f"{why.filename or ''} cannot be written: {why.strerror}")


def wanted(experiment, options):
    series = [s for s in experiment.series
              if s.name.startswith("vproc") or options.peers == "all"
              or s.name in options.peers.split(",")]
    if options.ablate:
        series += catalogue.ablations(experiment)
    return series


def without_program(experiment, options):
    """The peers that were asked for and have no program here, each with the reason."""
    asked = experiment.left_out if options.peers == "all" else options.peers.split(",")
    have = {s.name for s in experiment.series} | {"none"}
    return {name: experiment.left_out.get(name, f"has no program of {experiment.name}")
            for name in asked if name not in have}


def run_experiment(name, size, options, builder, progress):
    experiment = catalogue.EXPERIMENTS[name]
    series = wanted(experiment, options)
    least = experiment.least_seconds if size in experiment.times else 0
    seconds = max(options.seconds or experiment.seconds, least)
    progress.begin(name if len(experiment.times) == 1 else f"{name} {size}",
                   len(series) * seconds * 1000)
    found, left_out = measure.measure(experiment, size, series, builder, seconds, progress)
    progress.end()
    left_out.update(without_program(experiment, options))
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


def tell_what_is_unused(name, options, progress):
    """Settings that make no difference to what a program of its own measures."""
    given = [text for text, value in (("--size", options.size), ("--seconds", options.seconds),
                                      ("--ablate", options.ablate)) if value]
    if given:
        progress.tell(f"{name} is measured as it is: {', '.join(given)} does not change it")


def trouble(experiments):
    """Series of ours that did not run, and results that are not what they should be."""
    for one in experiments:
        where = f"{one['experiment']}" + (f" {one['size']}" if one["size"] else "")
        for name, why in one["left_out"].items():
            if name.startswith(("vproc", "bench-")):
                yield f"{where}: {name}: {why}"
        for s in one["series"]:
            if s.get("is_wrong"):
                yield f"{where}: {s['name']}: {s['check']}"


def replot(options):
    try:
        facts, experiments = read_json(options.replot)
        draw(options.svg, facts, experiments)
    except (OSError, ValueError, KeyError, RecursionError) as why:
        sys.exit(f"vproc bench: {options.replot} cannot be drawn: {why}")


def run_all(options, facts, builder, progress):
    """The experiments one after the other; what is known so far is written after each."""
    experiments = []

    def add(one, lines):
        experiments.append(one)
        print("\n" + "\n".join(lines(one)), flush=True)
        if options.json:
            write_json(options.json, facts, experiments)

    for name in options.experiments:
        if name in parts.PARTS:
            tell_what_is_unused(name, options, progress)
            add(parts.run(name, options, builder, progress), parts.lines)
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
            add(one, table.experiment_lines)
    return experiments


def main():
    options = arguments()
    if options.replot:
        replot(options)
        return
    progress = Progress()
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    builder = Builder(options.programs, options.work or Path(home) / "vproc-bench",
                      progress.tell)
    peers = options.peers.split(",")
    facts = machine(options.command, builder,
                    options.peers == "all" or bool(PYTHON_PEERS & set(peers)))
    print("\n".join(table.machine_lines(facts)))
    experiments = run_all(options, facts, builder, progress)
    print("\n" + "\n".join(table.machine_lines(facts)))
    if options.svg:
        draw(options.svg, facts, experiments)
    if found := list(trouble(experiments)):
        sys.exit("vproc bench: not everything went well:\n  " + "\n  ".join(found))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nvproc bench: stopped")
