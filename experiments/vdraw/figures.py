# SPDX-License-Identifier: Apache-2.0
"""What the figures draw: an experiment as the JSON file has it, with everything that cannot be
drawn taken out and named.

Files are kept, exchanged and edited, so nothing about them is taken for granted here; the
drawing code behind this may rely on positive, finite numbers and on every field being there.
"""

import statistics
import sys
from dataclasses import dataclass, field

from vresults.names import WITHOUT

SHORTEST, LONGEST = 1e-12, 1e12


@dataclass
class Series:
    name: str
    flags: str
    samples: list  # [(elapsed ms, ms)], in the order of time
    median: float  # None: cannot be drawn
    best: float
    plateau: float
    first: float
    checked: bool = True
    check: str = ""

    @property
    def is_vproc(self):
        return self.name == "vproc" or self.name.startswith("vproc-")

    @property
    def is_ablation(self):
        return self.is_vproc and WITHOUT in self.name


@dataclass
class Experiment:
    name: str
    title: str
    size: object
    figure: str
    paper: dict  # label -> (least ms, most ms)
    series: list
    left_out: dict
    trouble: list = field(default_factory=list)  # what of the file cannot be drawn, and why

    @property
    def label(self):
        return f"{self.name} {self.size}" if self.size else self.name

    @property
    def shown(self):
        """The series of the main figures; runs without a mechanism have one of their own."""
        return [s for s in self.series if not s.is_ablation]

    @property
    def ablations(self):
        return [s for s in self.series if s.is_ablation]

    def find(self, name):
        return next((s for s in self.series if s.name == name), None)


def is_time(value):
    """A number that can be a time in milliseconds: from a femtosecond to thirty years. What is
    beyond is an error of whoever wrote it, and would leave no room for the others."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) \
        and SHORTEST <= value <= LONGEST


def text_of(value):
    return value if isinstance(value, str) else "" if value is None else str(value)


def dict_of(value):
    return value if isinstance(value, dict) else {}


def list_of(value):
    return value if isinstance(value, list) else []


def range_of(value):
    """The paper's figure as (least, most), which are the same where it gives one; or None."""
    both = value if isinstance(value, list) and len(value) == 2 else [value, value]
    return (float(min(both)), float(max(both))) if all(map(is_time, both)) else None


def good_samples(given):
    found = []
    for s in list_of(given):
        if isinstance(s, (list, tuple)) and len(s) >= 2 and is_time(s[0]) and is_time(s[1]):
            found.append((float(s[0]), float(s[1])))
    return sorted(found, key=lambda s: s[0])


def series_from(given, trouble):
    """A series, or None with its trouble told."""
    given = dict_of(given)
    name = text_of(given.get("name")) or "(unnamed)"
    samples = good_samples(given.get("samples"))
    lost = len(list_of(given.get("samples"))) - len(samples)
    if lost:
        trouble.append(f"{name}: {lost} of its samples are no times and are left out")
    times = [ms for _, ms in samples[1:] or samples]

    def figure(key, otherwise):
        value = given.get(key)
        return float(value) if is_time(value) else otherwise() if times else None

    median = figure("median_ms", lambda: statistics.median(times))
    if median is None:
        trouble.append(f"{name}: not drawn, it has no usable time")
        return None
    return Series(
        name=name, flags=text_of(given.get("flags")), samples=samples, median=median,
        best=min(figure("best_ms", lambda: min(times)) or median, median),
        plateau=figure("plateau_ms", lambda: statistics.median(times[len(times) // 2:])) or median,
        first=figure("first_ms", lambda: samples[0][1]) or median,
        checked=bool(given.get("checked", True)), check=text_of(given.get("check")))


def experiment_from(given):
    given = dict_of(given)
    trouble = []
    series = [series_from(s, trouble) for s in list_of(given.get("series"))]
    paper = {text_of(k): range_of(v) for k, v in dict_of(given.get("paper")).items()
             if range_of(v)}
    size = given.get("size")
    return Experiment(
        name=text_of(given.get("experiment")) or "experiment",
        title=text_of(given.get("title")) or text_of(given.get("experiment")) or "experiment",
        size=size if isinstance(size, (int, float)) and size else None,
        figure=text_of(given.get("figure")), paper=paper,
        series=[s for s in series if s],
        left_out={text_of(k): text_of(v) for k, v in dict_of(given.get("left_out")).items()},
        trouble=trouble)


TABLE_TIMES = ("best_ms", "median_ms", "first_ms", "time_to_plateau_ms", "issue_ms", "wait_ms")
TABLE_COUNTS = ("kernels", "elements", "stored", "evaluations")


def completed(given):
    """The same experiment as vresults' table wants it: what is missing or no number is None."""
    series = []
    for s in map(dict_of, list_of(dict_of(given).get("series"))):
        times = {k: s[k] if is_number(s.get(k)) else None for k in TABLE_TIMES}
        counts = {k: s[k] if is_number(s.get(k)) else 0 for k in TABLE_COUNTS}
        series.append({**times, **counts, "name": text_of(s.get("name")) or "(unnamed)",
                       "checked": bool(s.get("checked", True)),
                       "check": text_of(s.get("check")) or "no"})
    return {"series": series}


def is_number(value):
    """Finite, and not a whole number beyond those that can be calculated with."""
    return isinstance(value, (int, float)) and abs(value) <= sys.float_info.max
