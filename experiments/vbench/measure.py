# SPDX-License-Identifier: Apache-2.0
"""Measures the series of one experiment side by side.

Each series is a process that waits for orders (../driver.c). They take turns, a slice of time
each, so that whatever else happens on the machine happens to all of them. Every sample is
kept, from the very first evaluation on.
"""

import array
import math
import os
import signal
import statistics
import subprocess
import tempfile
from pathlib import Path

from vresults.table import count

from .build import Missing

SLICE_MS = 150  # a turn
LONG_MS = 300  # a sample of a slow series takes fewer evaluations, to stay near this
WARMING_MS = 700  # of the process that a warm one comes after


class Failed(Exception):
    pass


def how_it_ended(process):
    if process.returncode == -signal.SIGKILL:
        return "it was killed, perhaps because the memory did not suffice"
    if process.returncode < 0:
        return f"it died: {signal.strsignal(-process.returncode)}"
    return f"it ended with status {process.returncode}"


class Running:
    """One series' process, and what it has shown so far."""

    def __init__(self, series, command, environment, size, times):
        self.series, self.size, self.times = series, size, times
        self.samples = []  # (elapsed ms at its end, ms per evaluation, issue ms, evaluations)
        self.first_counters = (0, 0, 0)  # after the first of them
        self.elapsed = 0.0
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.order(f"prepare {size}")

    def order(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().split()
        except OSError:
            answer = []
        if not answer:
            self.process.wait()
            self.errors.seek(0)
            last = self.errors.read().strip().splitlines()[-1:] or [how_it_ended(self.process)]
            raise Failed(last[0])
        return answer[1:]

    def sample(self):
        times = 1
        if self.samples:
            per_evaluation = max(self.samples[-1][1], 1e-9)
            times = int(min(self.times, max(1, LONG_MS / per_evaluation)))
        total, issue = map(float, self.order(f"sample {times}"))
        self.elapsed += total
        self.samples.append((self.elapsed, total / times, issue / times, times))
        if len(self.samples) == 1:
            self.first_counters = self.counters()

    def turn(self, budget_ms):
        end = min(self.elapsed + SLICE_MS, budget_ms)
        while self.elapsed < end or len(self.samples) < 3:
            self.sample()

    def result(self, folder):
        path = Path(folder) / f"{self.series.name}.result"
        self.order(f"result {path}")
        numbers = array.array("d")
        numbers.frombytes(path.read_bytes())
        path.unlink()
        return numbers

    def counters(self):
        """Kernels, elements and stored elements so far; a program may know less of them."""
        known = [int(n) for n in self.order("counters")]
        return tuple(known + [0] * (3 - len(known)))

    def stop(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def plateau(samples):
    """The median of the later half: where a series ends up."""
    later = samples[len(samples) // 2:]
    return statistics.median(s[1] for s in later)


def time_to_plateau(samples):
    """Own running time until three samples in a row are within 15 % of the plateau."""
    level = plateau(samples) * 1.15
    good = 0
    for index, sample in enumerate(samples):
        good = good + 1 if sample[1] <= level else 0
        if good == 3 or (good and index == len(samples) - 1):
            return samples[index - good + 1][0]
    return samples[-1][0]


def distance(a, b):
    """Relative; no distance is small between a number and what is none."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))


def differs(numbers, reference, tolerance):
    """What is wrong with a result, or None."""
    if len(numbers) != len(reference):
        return f"{len(numbers)} numbers instead of {len(reference)}"
    worst = max(map(distance, numbers, reference), default=0.0)
    if worst <= tolerance:
        return None
    return f"differs by {worst:.1e}"


def facts(running, checked, note, counters):
    """A series as the JSON file has it."""
    samples = running.samples
    rest = samples[1:] or samples
    median = statistics.median(s[1] for s in rest)
    issue = statistics.median(s[2] for s in rest)
    return {
        "name": running.series.name,
        "flags": " ".join(running.series.flags + running.series.libraries),
        "best_ms": min(s[1] for s in rest),
        "median_ms": median,
        "plateau_ms": plateau(samples),
        "first_ms": samples[0][1],
        "time_to_plateau_ms": time_to_plateau(samples),
        "issue_ms": issue,
        "wait_ms": max(median - issue, 0.0),
        "evaluations": sum(s[3] for s in samples),
        "checked": checked,
        "check": note,
        "kernels": counters[0],
        "elements": counters[1],
        "stored": counters[2],
        "samples": [[round(s[0], 4), round(s[1], 7)] for s in samples],
    }


def environment_for(series, caches):
    """What the series' process finds in its environment. Each has a folder of its own for
    compiled kernels."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("VP_") or k == "VP_THREADS"}
    # MKL's threads are the ones that the rest of the program uses.
    found.setdefault("MKL_THREADING_LAYER", "GNU")
    if "VP_THREADS" in found:
        found["OMP_NUM_THREADS"] = found["NUMBA_NUM_THREADS"] = found["VP_THREADS"]
    found["VP_CACHE"] = str(Path(caches) / series.name)
    for flag in series.flags:
        if flag.startswith("VP_"):
            name, _, value = flag.partition("=")
            found[name] = value
    return found


def is_warm(series):
    return "CACHE=warm" in series.flags


def expected_ms(series, seconds):
    """How long measuring takes, with the processes that warm ones come after."""
    return len(series) * seconds * 1000 + sum(map(is_warm, series)) * WARMING_MS


class Group:
    """The processes of one experiment. One that cannot be had or fails is left out, with the
    reason; the others go on."""

    def __init__(self, experiment, size, budget_ms, caches, builder, progress):
        self.experiment, self.size, self.budget = experiment, size, budget_ms
        self.caches, self.builder, self.progress = caches, builder, progress
        self.running, self.left_out = [], {}

    def times(self):
        """Evaluations in a sample; of sizes that are not the paper's as many as of any, since a
        slow series takes fewer anyway."""
        known = self.experiment.times
        return known.get(self.size, max(known.values()))

    def start(self, series):
        try:
            command = self.builder.command(series)
            (self.caches / series.name).mkdir(mode=0o700, exist_ok=True)
            self.progress.step(series.name, 0)
            self.running.append(Running(series, command, environment_for(series, self.caches),
                                        self.size, self.times()))
        except (Failed, Missing) as why:
            self.left_out[series.name] = str(why)
            self.progress.step(series.name, self.budget)

    def leave_kernels(self, series):
        """A process of its own runs until its kernels are in the cache, for one after it."""
        try:
            (self.caches / series.name).mkdir(mode=0o700, exist_ok=True)
            first = Running(series, self.builder.command(series),
                            environment_for(series, self.caches), self.size, self.times())
            try:
                while first.elapsed < WARMING_MS:
                    before = first.elapsed
                    first.turn(WARMING_MS)
                    self.progress.step(f"before {series.name}", first.elapsed - before)
            finally:
                first.stop()
        except (Failed, Missing) as why:
            self.left_out[series.name] = str(why)

    def leave_out(self, one, why):
        self.left_out[one.series.name] = str(why)
        self.running.remove(one)
        one.stop()

    def begin(self, series):
        """Starts it, and lets it begin with nobody else at work."""
        started = len(self.running)
        self.start(series)
        for fresh in self.running[started:]:
            self.turn(fresh)

    def turn(self, one):
        before = min(one.elapsed, self.budget)
        try:
            one.turn(self.budget)
        except Failed as why:
            self.leave_out(one, why)
            self.progress.step(one.series.name, self.budget - before)
            return
        self.progress.step(one.series.name, min(one.elapsed, self.budget) - before)

    def take_turns(self):
        """Until everybody has had its time."""
        while todo := [one for one in self.running if one.elapsed < self.budget]:
            for one in todo:
                self.turn(one)

    def stop(self):
        for one in self.running:
            one.stop()


def measure(experiment, size, series, builder, seconds, progress):
    """Returns ([facts of a series], {name: why it was left out})."""
    with tempfile.TemporaryDirectory() as folder:
        caches = Path(folder) / "cache"
        caches.mkdir(mode=0o700)
        group = Group(experiment, size, seconds * 1000, caches, builder, progress)
        try:
            for one in series:
                if is_warm(one):
                    group.leave_kernels(one)
                group.begin(one)
            group.take_turns()
            return finish(group, experiment, folder), group.left_out
        finally:
            group.stop()


def results_of(group, folder):
    """The results of all that have one to compare, and what everybody has executed: asked for
    first, because showing a result is work too. Who fails is left out."""
    results, counters = {}, {}
    for one in list(group.running):
        try:
            counters[one.series.name] = one.counters()
            if one.series.valid:
                results[one.series.name] = one.result(folder)
        except Failed as why:
            group.leave_out(one, why)
    return results, counters


def skipped(experiment, size, series, counters, evaluations):
    """What a series of ours has not executed and should have, or None: every evaluation goes
    over all its elements, and stores all that the program stores."""
    if series.kind != "vproc" or not experiment.least:
        return None
    least = experiment.least(series.program, size)
    short = [f"{count(done / evaluations) if done else 0} {what} an evaluation, "
             f"at least {count(wanted)} wanted"
             for what, done, wanted in zip(("elements", "stored"), counters[1:], least)
             if done < wanted * evaluations]
    return "skipped work: " + "; ".join(short) if short else None


def finish(group, experiment, folder):
    """Results are compared with those of vproc one instruction at a time, or, without it, of
    whoever comes first; bit for bit or within the experiment's tolerance."""
    results, counters = results_of(group, folder)
    reference = results.get("vproc-sync") or next(iter(results.values()), None)
    found = []
    for one in group.running:
        done = counters[one.series.name]
        # Until the first sample is done the input is made, too, which would hide something.
        since = [now - then for now, then in zip(done, one.first_counters)]
        wrong = skipped(experiment, group.size, one.series, since,
                        sum(s[3] for s in one.samples[1:]))
        note = "not compared: its stores are in no order"
        if one.series.valid:
            wrong = differs(results[one.series.name], reference, experiment.tolerance) or wrong
            note = wrong or "equal"
        checked = one.series.valid and not wrong
        found.append({**facts(one, checked, note, done), "is_wrong": bool(wrong)})
    return found
