# SPDX-License-Identifier: Apache-2.0
"""Reads a trace that VP_TRACE wrote: what each thread did when, which instructions there were,
and who depends on whom.

Dependencies are not in the file; the storages that each instruction reads and writes are, in
the order of issue. Whoever reads a storage depends on whoever wrote it last. Whoever writes one
that already has contents must come after those who read or wrote it. A part of a storage counts
as the whole of it here. An address is used again when its storage is gone, so that each
"storage" in the file begins a new one.
"""

import json
from dataclasses import dataclass, field

from vresults.names import JOIN


@dataclass
class Instruction:
    node: int
    name: str
    issued: float  # microseconds, as all times here
    operations: list = field(default_factory=list)  # empty: a library function
    reads: list = field(default_factory=list)  # storages, as numbers
    writes: list = field(default_factory=list)
    size: int = 0  # bytes of the result

    @property
    def is_kernel(self):
        return bool(self.operations)

    @property
    def text(self):
        """All that was fused into it, as one name."""
        return JOIN.join(self.operations) if self.operations else self.name


@dataclass
class Trace:
    threads: dict  # tid -> name
    runs: list  # (tid, start, end, node)
    waits: list  # (tid, start, end)
    instructions: dict  # node -> Instruction, in the order of issue


def read(path):
    with open(path) as f:
        events = json.load(f)["traceEvents"]
    return interpret(events)


def interpret(events):
    trace = Trace({}, [], [], {})
    timed = sorted((e for e in events if "ts" in e), key=lambda e: e["ts"])
    for e in timed:
        kind, args = e["ph"], e.get("args", {})
        if kind == "M" and e["name"] == "thread_name":
            trace.threads[e["tid"]] = args["name"]
        elif kind == "X":
            end = e["ts"] + e["dur"]
            if e["cat"] == "issue":
                trace.instructions.setdefault(
                    args["node"], Instruction(args["node"], e["name"], e["ts"]))
            elif e["cat"] == "wait":
                trace.waits.append((e["tid"], e["ts"], end))
            else:
                trace.runs.append((e["tid"], e["ts"], end, args["node"]))
    follow_storages(trace, timed)
    return trace


def follow_storages(trace, events):
    """Fills in what the marks say about instructions that were issued."""
    current, count = {}, 0  # address -> storage
    for e in events:
        if e["ph"] not in ("i", "n"):
            continue
        args = e.get("args", {})
        what, node = e["name"], trace.instructions.get(args.get("node"))
        if what == "storage":
            count += 1
            current[args["arg"]] = count
        elif node is None:
            continue
        elif what == "operation":
            node.operations.append(args["operation"])
        elif what == "sized":
            node.size = args["arg"]
        elif what in ("read", "write"):
            storage = current.setdefault(args["arg"], -args["arg"])
            (node.reads if what == "read" else node.writes).append(storage)


def dependencies(instructions):
    """[(from node, to node, storage, whether data flows)] among these, in the order of issue;
    and {storage: node} of who wrote each last."""
    writer, readers, edges = {}, {}, []
    for i in instructions:
        for s in dict.fromkeys(i.reads):
            if s in writer:
                edges.append((writer[s], i.node, s, True))
        for s in dict.fromkeys(i.writes):
            before = [r for r in readers.get(s, []) if r != i.node]
            if s in writer and s not in i.reads and not before:
                before = [writer[s]]
            edges += [(b, i.node, s, False) for b in before]
        for s in i.reads:
            readers.setdefault(s, []).append(i.node)
        for s in i.writes:
            writer[s] = i.node
            readers[s] = []
    return edges, writer
