# SPDX-License-Identifier: Apache-2.0
"""Where the time of an experiment goes, from a trace of it: a table in Markdown, for
docs/results.md.

    PYTHONPATH=experiments python3 -m vbench.where a4 --programs build/experiments

Of the second half of the run, when native code is there: for each thread the share of the time
that it ran each kind of instruction, waited with nothing to run, or, on the calling thread, was
in the program and the issue of its instructions. Tracing is in it.
"""

import argparse
import bisect
import collections

from . import capture, catalogue
from .build import Builder
from .catalogue import Series


def arguments():
    p = argparse.ArgumentParser(prog="vbench.where")
    p.add_argument("experiment", choices=list(catalogue.EXPERIMENTS))
    p.add_argument("--programs", required=True)
    p.add_argument("--work", default="build/peers")
    p.add_argument("--size", type=int)
    return p.parse_args()


def second_half(trace):
    begin = min(start for _, start, _, _ in trace.runs)
    end = max(stop for _, _, stop, _ in trace.runs)
    return (begin + end) / 2, end


def runs_by_thread(trace, begin):
    found = collections.defaultdict(list)
    for tid, start, stop, node in trace.runs:
        if start >= begin:
            found[tid].append((start, stop, node))
    for runs in found.values():
        runs.sort()
    return found


def ran_within(runs, start, stop):
    """Microseconds of the runs that began between the two."""
    first, last = bisect.bisect_left(runs, (start,)), bisect.bisect_left(runs, (stop,))
    return sum(min(b, stop) - a for a, b, _ in runs[first:last])


def shares(trace):
    """{tid: {what: share of the time}}"""
    begin, end = second_half(trace)
    table = {}
    for tid, runs in runs_by_thread(trace, begin).items():
        row = collections.Counter()
        for start, stop, node in runs:
            instruction = trace.instructions.get(node)
            row[instruction.text if instruction else "?"] += stop - start
        waits = [(a, b) for t, a, b in trace.waits if t == tid and a >= begin]
        row["waiting"] = sum(b - a - ran_within(runs, a, b) for a, b in waits)
        rest = "issuing, and the program" if waits else "nothing to run"
        row[rest] = end - begin - sum(row.values())
        table[tid] = {what: us / (end - begin) for what, us in row.items()}
    return table


def main():
    options = arguments()
    experiment = catalogue.EXPERIMENTS[options.experiment]
    size = options.size or max(experiment.times)
    times = experiment.times.get(size, 1)
    builder = Builder(options.programs, options.work, print)
    trace = capture.run(builder, Series("vproc", "vproc", options.experiment), size, times)
    table = shares(trace)
    threads = [tid for tid in sorted(table) if trace.threads.get(tid) != "compiler"]
    kinds = collections.Counter()
    for tid in threads:
        kinds.update(table[tid])
    print("| share of the time | " + " | ".join(trace.threads[t] for t in threads) + " |")
    print("|---|" + "---|" * len(threads))
    for kind, total in kinds.most_common():
        if total >= 0.01:
            cells = (f"{100 * table[t].get(kind, 0):.1f} %" for t in threads)
            print(f"| {kind} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
