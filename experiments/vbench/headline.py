# SPDX-License-Identifier: Apache-2.0
"""What a run says at a glance, in Markdown, for docs/results.md: the rows of "Against what we
want" that `vproc bench` measures, the table of each experiment, and, of a run with --ablate,
what each mechanism is worth.

    PYTHONPATH=experiments python3 -m vbench.headline results.json
"""

import sys
from dataclasses import dataclass

from vresults.file import read_json
from vresults.names import WITHOUT

from .catalogue import EXPERIMENTS, MECHANISMS

HEADINGS = {
    "a1": "A1, 1000 evaluations of a bit expression",
    "a2": "A2, sums of |sin| down the columns",
    "a3": "A3, a loop whose stores must keep their order",
    "a4": "A4, K-means",
    "fft": "F, two matrices of Fourier transforms",
    "tiny": "Tiny, ten numbers added",
}


@dataclass(frozen=True)
class Row:
    what: str
    wanted: str
    pairs: tuple  # ((experiment, size, series), what to divide its time by: such, or a number)
    limit: float
    at_most: bool = False
    unit: str = ""
    names: tuple = ()  # of the pairs, where they need one


def ours_over(peer, name, size, ours="vproc"):
    return ((name, size, peer), (name, size, ours))


SYNC = (("A1", "a1", 507, ""), ("A2", "a2", 1500, ""), ("A2 loop", "a2", 1500, "-loop"),
        ("A3", "a3", 1500, ""), ("A4", "a4", 1203, ""), ("F 256", "fft", 256, ""),
        ("F 1024", "fft", 1024, ""), ("F 4096", "fft", 4096, ""))
LOOP = "vproc-loop"
ROWS = (
    Row("A1 over gfortran -O3", "≥ 8, 10", (ours_over("gfortran-O3", "a1", 507),), 8),
    Row("A2 vectorised over C, OpenMP, -ffast-math", "≥ 1.3, 1.9",
        (ours_over("c-openmp-fast", "a2", 1500),), 1.3),
    Row("A2 loop over C, OpenMP, -ffast-math, 1500²", "≥ 0.9, 1.1",
        (ours_over("c-openmp-fast", "a2", 1500, LOOP),), 0.9),
    Row("A2 loop at 200², an iteration", "≤ 0.35 µs", ((("a2", 200, LOOP), 200 * 1e-3),), 0.35,
        at_most=True, unit=" µs"),
    Row("A2 loop at 200² over the NumPy loop", "≥ 5",
        (ours_over("numpy-loop", "a2", 200, LOOP),), 5),
    Row("A3 over C, OpenMP ordered, -ffast-math", "≥ 1.4",
        (ours_over("c-openmp-ordered-fast", "a3", 1500),), 1.4),
    Row("A3 over our own A2 loop", "≤ 1.3", ((("a3", 1500, "vproc"), ("a2", 1500, LOOP)),), 1.3,
        at_most=True),
    Row("A4 over gfortran -O3", "≥ 14, 18", (ours_over("gfortran-O3", "a4", 1203),), 14),
    Row("A4 over C, OpenMP, -ffast-math", "≥ 1.1, 1.5",
        (ours_over("c-openmp-fast", "a4", 1203),), 1.1),
    Row("F over FFTW with its threads, 256, 1024, 4096", "ahead",
        tuple(ours_over("fftw-threads", "fft", n) for n in (256, 1024, 4096)), 1),
    Row("over `vproc-sync`", "≥ 1.7",
        tuple(ours_over(f"vproc{form}-sync", name, size, f"vproc{form}")
              for _, name, size, form in SYNC), 1.7, names=tuple(s[0] for s in SYNC)),
)


def time_of(times, at, which):
    """A number stands for itself; None when the series is missing or its result is wrong."""
    return at if isinstance(at, float) else times.get(at, {}).get(which)


def cell(row, times, which, bold):
    shown = []
    for name, (a, b) in zip(row.names or [""] * len(row.pairs), row.pairs):
        above, below = time_of(times, a, which), time_of(times, b, which)
        if not above or not below:
            shown.append(f"{name} -".strip())
            continue
        ratio = above / below
        met = ratio <= row.limit if row.at_most else ratio >= row.limit
        text = f"{name} {ratio:.{2 if ratio < 9.995 else 1}f}{row.unit}".strip()
        shown.append(f"**{text}**" if bold and met else text)
    return ", ".join(shown)


def wanted_lines(experiments):
    times = {(e["experiment"], e["size"], s["name"]): s for e in experiments for s in e["series"]
             if s.get("checked", True)}
    yield "| | wanted, hoped for | medians | best over best |"
    yield "|---|---|---|---|"
    for row in ROWS:
        yield (f"| {row.what} | {row.wanted} | {cell(row, times, 'median_ms', True)} | "
               f"{cell(row, times, 'best_ms', False)} |")


def time_text(ms):
    """Three digits, in the largest unit that leaves something before the point."""
    for factor, unit in ((1.0, "ms"), (1e-3, "µs"), (1e-6, "ns")):
        value = float(f"{ms / factor:.3g}")
        if value >= 1 or unit == "ns":
            return f"{value:g} {unit}" if value < 1000 else f"{ms / factor:.0f} {unit}"


def table_lines(one):
    known = EXPERIMENTS.get(one["experiment"])
    size = f" ({one['size']})" if known and len(known.times) > 1 else ""
    yield f"### {HEADINGS.get(one['experiment'], one['title'])}{size}\n"
    yield "| series | best | median | over vproc | first | plateau after |"
    yield "|---|---|---|---|---|---|"
    series = [s for s in one["series"] if WITHOUT not in s["name"]]
    ours = next((s["median_ms"] for s in series if s["name"] == "vproc"), None)
    for s in sorted(series, key=lambda s: s["median_ms"]):
        name = f"**{s['name']}**" if s["name"].startswith("vproc") else s["name"]
        name += f" ({s['check']})" if s.get("is_wrong") else ""
        ratio = f"{s['median_ms'] / ours:.2f}" if ours else "-"
        cells = [time_text(s[k]) for k in ("best_ms", "median_ms", "first_ms",
                                           "time_to_plateau_ms")]
        yield f"| {name} | {cells[0]} | {cells[1]} | {ratio} | {cells[2]} | {cells[3]} |"


def ablation_lines(experiments):
    """Best times with one mechanism switched off, over the best with all."""
    yield "| | with all | " + " | ".join(f"no {m}" for m in MECHANISMS) + " |"
    yield "|---|---" + "|---" * len(MECHANISMS) + "|"
    for one in experiments:
        best = {s["name"]: s["best_ms"] for s in one["series"]}
        for main, form in (("vproc", ""), (LOOP, " loop")):
            without = [best.get(f"{main}{WITHOUT}{m}") for m in MECHANISMS]
            if main not in best or not any(without):
                continue
            title = HEADINGS[one["experiment"]].split(",")[0]
            ratios = [f"{ms / best[main]:.2f}" if ms else "-" for ms in without]
            yield (f"| {title}{form}, {one['size']} | {time_text(best[main])} | "
                   + " | ".join(ratios) + " |")


def main():
    experiments = [e for e in read_json(sys.argv[1])[1] if "lines" not in e]
    print("\n".join(wanted_lines(experiments)))
    for one in experiments:
        print("\n" + "\n".join(table_lines(one)))
    if any(WITHOUT in s["name"] for one in experiments for s in one["series"]):
        print("\n" + "\n".join(ablation_lines(experiments)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 -m vbench.headline RESULTS.json")
    main()
