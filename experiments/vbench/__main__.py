# SPDX-License-Identifier: Apache-2.0
"""vproc bench: the experiments, with their peers. Started by the command `vproc` (start.py),
which says where it is itself and where the experiments' programs are."""

import os
import sys
from pathlib import Path

from vresults import table
from vresults.file import read_json, write_json

from . import capture, catalogue, machine, measure, parts
from .build import Builder, Missing
from .options import arguments
from .progress import Progress

PYTHON_PEERS = {"numpy", "numba", "numba-parallel", "jax", "numpy-loop"}


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


def run_experiment(name, size, label, options, builder, progress):
    experiment = catalogue.EXPERIMENTS[name]
    series = wanted(experiment, options)
    least = experiment.least_seconds if size in experiment.times else 0
    seconds = max(options.seconds or experiment.seconds, least)
    progress.begin(label, measure.expected_ms(series, seconds))
    found, left_out = measure.measure(experiment, size, series, builder, seconds, progress)
    progress.end()
    left_out.update(without_program(experiment, options))
    # The paper's figure is of the paper's sizes.
    paper = experiment.paper.get(size, {})
    return {"experiment": name, "title": experiment.title, "size": size,
            "seconds": seconds, "paper": paper,
            "figure": experiment.figure if paper else "", "series": found,
            "left_out": left_out}


def add_pictures_of_f(one, size, sizes, builder, progress):
    """The thread view and the dependency graph of program F, from a run of their own."""
    if not capture.is_pictured(one["experiment"], size, sizes):
        return
    try:
        one.update(capture.capture(builder, size, progress))
    except (Missing, measure.Failed, OSError, ValueError) as why:
        one["left_out"]["thread view and dependency graph"] = str(why)


def draw(folder, facts, experiments):
    from vdraw import draw_all

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
    except (OSError, ValueError, KeyError, RecursionError, OverflowError) as why:
        sys.exit(f"vproc bench: {options.replot} cannot be drawn: {why}")


def sizes_of(name, options, tell):
    """The sizes that an experiment is measured at."""
    experiment = catalogue.EXPERIMENTS[name]
    if options.size and experiment.one_size:
        tell(f"{name} has one size; --size does not change it")
    elif options.size:
        return [options.size]
    return list(experiment.times)


def planned(options, builder, tell):
    """[(name, size, all sizes of it)] of what is to be run. An installed copy has no programs
    for the parts: who asks for everything there gets everything else."""
    found = []
    for name in options.experiments:
        if name not in parts.PARTS:
            sizes = sizes_of(name, options, tell)
            found += [(name, size, sizes) for size in sizes]
        elif options.is_everything and not parts.program_of(name, builder).exists():
            tell(f"left out: {name}: its program is part of a build folder, and not installed")
        else:
            found.append((name, None, []))
    return found


def run_all(plan, options, facts, builder, progress, experiments):
    """One after the other; what is known so far is in `experiments`, and written after each."""
    for k, (name, size, sizes) in enumerate(plan, 1):
        label = name if len(sizes) < 2 else f"{name} {size}"
        label += f" ({k} of {len(plan)})" if len(plan) > 1 else ""
        if size is None:
            tell_what_is_unused(name, options, progress)
            one, lines = parts.run(name, label, options, builder, progress), parts.lines
        else:
            one = run_experiment(name, size, label, options, builder, progress)
            if options.json or options.svg:
                add_pictures_of_f(one, size, sizes, builder, progress)
            lines = table.experiment_lines
        experiments.append(one)
        print("\n" + "\n".join(lines(one)), flush=True)
        if options.json:
            write_json(options.json, facts, experiments)


def stopped(options, plan, experiments):
    """What a person who stopped it is told about the file."""
    if not options.json:
        return "stopped"
    if not experiments:
        return f"stopped before anything was measured; nothing is written to {options.json}"
    return f"stopped; {options.json} has {len(experiments)} of {len(plan)} experiments"


def measure_all(options, progress):
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    builder = Builder(options.programs, options.work or Path(home) / "vproc-bench",
                      progress.tell)
    peers = options.peers.split(",")
    plan, experiments = planned(options, builder, progress.tell), []
    try:
        facts = machine.machine(options.command, builder,
                                options.peers == "all" or bool(PYTHON_PEERS & set(peers)),
                                progress.tell)
        machine.settle_threads(facts)
        print("\n".join(table.machine_lines(facts)))
        run_all(plan, options, facts, builder, progress, experiments)
    except KeyboardInterrupt:
        progress.end()
        sys.exit(f"\nvproc bench: {stopped(options, plan, experiments)}")
    machine.measure_again(options.command, facts)
    if options.json:
        write_json(options.json, facts, experiments)
    print("\n" + "\n".join(table.machine_lines(facts)))
    if options.svg:
        draw(options.svg, facts, experiments)
    if found := list(trouble(experiments)):
        sys.exit("vproc bench: not everything went well:\n  " + "\n  ".join(found))


def main():
    options = arguments()
    if options.replot:
        replot(options)
        return
    try:
        measure_all(options, Progress())
    finally:
        # An empty file says nothing, and would be taken for a result.
        written = Path(options.json or os.devnull)
        if options.json_is_new and written.is_file() and written.stat().st_size == 0:
            written.unlink()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nvproc bench: stopped")
