# SPDX-License-Identifier: Apache-2.0
"""The results as text: a table per experiment, with machine and flags."""

import math


def quantity(ms):
    """A time in the unit that reads best."""
    if ms is None or not math.isfinite(ms):
        return "-"
    for factor, unit in ((1e-3, "s"), (1, "ms"), (1e3, "us"), (1e6, "ns")):
        if ms * factor >= 1 or unit == "ns":
            value = ms * factor
            digits = 2 if value < 10 else 1 if value < 100 else 0
            return f"{value:.{digits}f} {unit}"
    return "-"


def count(n):
    if not n:
        return "-"
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= factor:
            return f"{n / factor:.1f}{unit}"
    return f"{n:.3g}"


def each(s, what):
    """How many of these an evaluation took."""
    return count(s[what] / s["evaluations"]) if s["evaluations"] else "-"


def rows_of(experiment):
    ours = next((s["median_ms"] for s in experiment["series"] if s["name"] == "vproc"), None)
    for s in experiment["series"]:
        ratio = f"{s['median_ms'] / ours:.2f}" if ours and s["median_ms"] else "-"
        yield (s["name"], quantity(s["best_ms"]), quantity(s["median_ms"]), ratio,
               quantity(s["first_ms"]), quantity(s["time_to_plateau_ms"]),
               quantity(s["issue_ms"]), quantity(s["wait_ms"]), each(s, "kernels"),
               each(s, "elements"), each(s, "stored"), s["check"] if not s["checked"] else "yes")


HEAD = ("series", "best", "median", "x vproc", "first", "plateau after", "issue", "wait",
        "kernels/ev.", "elements/ev.", "stored/ev.", "checked")


def aligned(rows):
    rows = [tuple(map(str, row)) for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        yield "  ".join(cells).rstrip()


def machine_lines(machine):
    threads = machine["threads"]
    end = machine.get("handover_end_ns")
    together = [f"{machine[key]:.2f}" for key in ("together", "together_end") if key in machine]
    yield (f"{machine['cpu']}, {machine['cores']} cores, vproc on {threads} "
           f"thread{'s' * (threads != 1)}, {machine['isa']}, "
           f"hand-over between cores {machine['handover_ns']:.0f} ns"
           + (f", at the end {end:.0f} ns" if end is not None else "")
           + (f"; two together {' and '.join(together)} times one" if together else ""))
    if machine.get("placement"):
        yield machine["placement"]
    yield ", ".join(f"{name} {version}" for name, version in machine["versions"].items())


def experiment_lines(experiment):
    size = experiment["size"]
    yield f"{experiment['title']}" + (f"  (size {size})" if size else "")
    lines = list(aligned([HEAD, *rows_of(experiment)]))
    yield lines[0]
    yield "-" * max(map(len, lines))
    yield from lines[1:]
    flags = {}
    for s in experiment["series"]:
        if s["flags"]:
            flags.setdefault(s["flags"], []).append(s["name"])
    for text, names in flags.items():
        yield f"  {', '.join(names)}: {text}"
    for name, why in experiment["left_out"].items():
        yield f"  left out: {name}: {why}"
