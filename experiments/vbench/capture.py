# SPDX-License-Identifier: Apache-2.0
"""Runs program F under VP_TRACE, one instruction at a time and on the net, and keeps what its
pictures need: who ran what when (`timeline`), and who depends on whom (`graph`). They go into
the JSON file, so that drawing needs neither the program nor the trace."""

import collections
import tempfile
import time
from pathlib import Path

from . import tracefile
from .catalogue import Series
from .measure import Running, environment_for

EVALUATIONS = 2  # the second shows what fills the gaps of the first
SIZE = 1024
ROUNDS, SECONDS = 16, 3.0
MODES = (("sync", ("VP_SYNC=1",)), ("net", ()))
INPUTS, RESULT = ("data1", "data2"), "R1"
MOST_INSTRUCTIONS = 400


def is_pictured(experiment, size, sizes):
    """The pictures are made once, at the size that shows most, or the only one there is."""
    return experiment == "fft" and (size == SIZE or SIZE not in sizes)


def capture(builder, size, progress):
    """{"timeline": …, "graph": …}; raises Missing or Failed as measuring does."""
    progress.begin("pictures of F", len(MODES) * SECONDS * 1000)
    timeline = {"evaluations": EVALUATIONS, "size": size}
    graph = {"size": size}
    for mode, flags in MODES:
        series = Series(f"vproc-traced-{mode}", "vproc", "fft", flags)
        trace = run(builder, series, size, progress=progress)
        caller, window = best_window(trace)
        if not window:
            continue
        timeline[mode] = timeline_of(trace, caller, window)
        graph[mode] = graph_of(trace, caller, window[3][:len(window[3]) // EVALUATIONS])
    progress.end()
    return {"timeline": timeline, "graph": graph}


def run(builder, series, size, times=EVALUATIONS, progress=None):
    """The trace of some samples of so many evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / series.name).mkdir(mode=0o700)
        file = Path(folder) / "trace.json"
        environment = environment_for(series, folder)
        environment["VP_TRACE"] = str(file)
        running = Running(series, builder.command(series), environment, size, times)
        try:
            began, at = time.monotonic(), progress.done if progress else 0.0
            for k in range(ROUNDS):
                running.order(f"sample {times}")
                if progress:  # it ends with the rounds or the time, whichever is over first
                    gone = max((k + 1) / ROUNDS, (time.monotonic() - began) / SECONDS)
                    progress.reach(series.name, at + min(gone, 1.0) * SECONDS * 1000)
                if k >= 3 and time.monotonic() - began > SECONDS:
                    break
        finally:
            running.stop()
        return tracefile.read(file)


def best_window(trace):
    """The caller, and (begin, end of issuing, end, instructions) of the sample that was
    disturbed least: the shortest among those that issued what most of them did. A sample ends
    with a wait for everything."""
    waits = sorted(trace.waits, key=lambda w: w[1])
    if not waits:
        return None, None
    caller = collections.Counter(w[0] for w in waits).most_common(1)[0][0]
    issued = list(trace.instructions.values())
    windows, since = [], 0.0
    for _, start, end in (w for w in waits if w[0] == caller):
        inside = [i for i in issued if since <= i.issued < end]
        if inside:
            windows.append((inside[0].issued, start, end, inside))
        since = end
    windows = windows[1:] or windows  # the first includes making the input
    if not windows:
        return caller, None
    usual = collections.Counter(len(w[3]) for w in windows).most_common(1)[0][0]
    alike = [w for w in windows if len(w[3]) == usual and usual <= MOST_INSTRUCTIONS]
    return caller, min(alike, key=lambda w: w[2] - w[0], default=None)


def thread_names(trace, caller):
    """{tid: name}, the caller first; compiling is not part of the story."""
    found = {caller: "caller"}
    for tid in sorted(trace.threads):
        name = trace.threads[tid]
        if tid != caller and name != "compiler":
            found[tid] = name.replace("vproc ", "")
    return found


def timeline_of(trace, caller, window):
    begin, issued, end, instructions = window
    names = thread_names(trace, caller)
    rows = {tid: k for k, tid in enumerate(names)}
    index = {i.node: k for k, i in enumerate(instructions)}
    each = max(len(instructions) // EVALUATIONS, 1)

    def at(time):
        return round(time - begin, 3)

    boxes = [[rows[tid], at(start), at(stop), index[node]]
             for tid, start, stop, node in trace.runs if node in index and tid in rows]
    waits = [[rows[tid], at(max(start, begin)), at(min(stop, end))]
             for tid, start, stop in trace.waits
             if tid in rows and stop > begin and start < end]
    return {
        "threads": list(names.values()),
        "instructions": [{"name": i.text, "kernel": i.is_kernel, "bytes": i.size,
                          "issued_us": at(i.issued),
                          "evaluation": min(k // each, EVALUATIONS - 1)}
                         for k, i in enumerate(instructions)],
        "boxes": boxes, "waits": waits, "issued_us": at(issued), "end_us": at(end)}


def graph_of(trace, caller, instructions):
    """Instructions, the data they start from and what comes out in the end."""
    names = thread_names(trace, caller)
    edges, writer = tracefile.dependencies(instructions)
    ran = collections.defaultdict(list)
    for tid, _, _, node in trace.runs:
        if names.get(tid) and names[tid] not in ran[node]:
            ran[node].append(names[tid])
    nodes, number = [], {}
    for i in instructions:
        number[i.node] = len(nodes)
        nodes.append({"name": i.text, "kind": "kernel" if i.is_kernel else "library",
                      "bytes": i.size, "threads": ran[i.node]})
    found = [[number[a], number[b], "data" if flows else "order"] for a, b, _, flows in edges]
    inputs = {}
    for i in instructions:
        for s in dict.fromkeys(i.reads):
            if s in inputs or not any(s in earlier.writes for earlier in before(instructions, i)):
                if s not in inputs:
                    inputs[s] = len(nodes)
                    k = len(inputs) - 1
                    nodes.append({"name": INPUTS[k] if k < len(INPUTS) else f"input {k + 1}",
                                  "kind": "input", "bytes": 0, "threads": []})
                found.append([inputs[s], number[i.node], "data"])
    if instructions:
        last = instructions[-1]
        nodes.append({"name": RESULT, "kind": "result", "bytes": last.size, "threads": []})
        found.append([number[last.node], len(nodes) - 1, "data"])
    return {"nodes": nodes, "edges": found}


def before(instructions, one):
    for i in instructions:
        if i is one:
            return
        yield i
