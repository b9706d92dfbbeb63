# SPDX-License-Identifier: Apache-2.0
"""What the person said on the command line, and what is wrong with it: all of it is told before
anything is measured."""

import argparse
import os
import tempfile
from pathlib import Path

from . import catalogue, parts


def arguments():
    names = [*catalogue.EXPERIMENTS, *parts.PARTS]
    p = argparse.ArgumentParser(
        prog="vproc bench", description="Measures the experiments, peers beside them.")
    p.add_argument("experiments", nargs="*", metavar="EXPERIMENT",
                   help=f"which of {', '.join(names)}; without any, all")
    p.add_argument("--size", type=int, help="side of the arrays, instead of the paper's")
    p.add_argument("--seconds", type=float,
                   help="running time of a series (10, of a4 15 and at least 1.5)")
    p.add_argument("--peers", help="all, none, or a list such as c,numpy,jax")
    p.add_argument("--ablate", action="store_true",
                   help="vproc once more without each of its mechanisms")
    p.add_argument("--json", metavar="FILE", help="write the figures there")
    p.add_argument("--svg", metavar="DIR", help="draw them there, with a page that shows all")
    p.add_argument("--replot", metavar="FILE", help="draw from such a file, measure nothing")
    p.add_argument("--work", metavar="DIR", help="where peers are compiled and installed")
    p.add_argument("--command", help=argparse.SUPPRESS)
    p.add_argument("--programs", help=argparse.SUPPRESS)
    found = p.parse_args()
    if found.replot:
        check_replot(p, found)
        check_outputs(p, found)
        return found
    for name in found.experiments:
        if name not in names:
            p.error(f"there is no experiment {name}; there are {', '.join(names)}")
    found.is_everything = not found.experiments
    found.experiments = found.experiments or names
    found.peers = "all" if found.peers is None else found.peers
    check_measuring(p, found)
    check_sizes(p, found)
    check_outputs(p, found)
    return found


def check_replot(p, options):
    """It takes nothing that only measuring has a use for."""
    if not options.svg:
        p.error("--replot draws, so it needs --svg DIR")
    given = [name for name in ("size", "seconds", "peers", "ablate", "json", "work")
             if getattr(options, name) not in (None, False)]
    if options.experiments or given:
        unused = ["experiments"] * bool(options.experiments) + [f"--{name}" for name in given]
        p.error("--replot draws what is in its file and measures nothing: it takes no "
                + ", no ".join(unused))


def check_measuring(p, options):
    if options.size is not None and options.size < 1:
        p.error("--size must be at least 1")
    if options.seconds is not None and not 0 < options.seconds < 1e6:
        p.error("--seconds must be more than 0, and less than a million")
    peers = {s.name for e in catalogue.EXPERIMENTS.values() for s in e.series
             if not s.name.startswith("vproc")}
    for name in options.peers.split(",") if options.peers not in ("all", "none") else ():
        if name not in peers:
            p.error(f"there is no peer {name}; there are {', '.join(sorted(peers))}")


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
    options.json_is_new = False
    try:
        for folder in filter(None, (options.svg, options.work)):
            Path(folder).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        if options.json:
            Path(options.json).parent.mkdir(parents=True, exist_ok=True)
            options.json_is_new = not Path(options.json).exists()
            open(options.json, "a").close()
    except OSError as why:
        p.error(f"{why.filename or ''} cannot be written: {why.strerror}")
