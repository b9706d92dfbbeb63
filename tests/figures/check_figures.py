#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of `vproc bench`: drawn from a small file and from malformed ones. Every picture
must be well-formed, with all words inside it and no label on another; nothing a file says may
stop the rest from being drawn. With --programs the trace of a real run is read too."""

import argparse
import copy
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPERIMENTS = HERE.parent.parent / "experiments"
sys.path.insert(0, str(EXPERIMENTS))

from vbench import capture, tracefile  # noqa: E402
from vdraw import curves, draw_all, figures, labels, naming, scale, svg  # noqa: E402
from vresults import names  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = 150_000
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def small():
    return json.loads((HERE / "small.json").read_text())


def drawn(machine, experiments):
    """{name: text} of everything that is written."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(p) for p in draw_all(Path(folder), machine, experiments)]
        assert {p.name for p in paths} == {p.name for p in Path(folder).iterdir()}
        found = {p.name: p.read_text(encoding="utf-8") for p in paths}
    for name, text in found.items():
        if name.endswith(".svg"):
            check_picture(name, text)
        else:
            check_page(text)
    return found


def redrawn(change):
    """The small file's first experiment after a change, drawn."""
    one = small()["experiments"][0]
    changed = change(one)
    return drawn({}, [one if changed is None else changed])


# --- what must hold of every picture -------------------------------------------------------

def check_picture(name, text):
    assert len(text.encode()) < MOST_BYTES, f"{name} has {len(text)} bytes"
    root = ElementTree.fromstring(text)
    width, height = map(float, root.get("viewBox").split()[2:])
    assert width > 0 and height > 0
    assert not re.search(r'"[^"]*\b(nan|inf)\b[^"]*"', re.sub(r">[^<]*<", "><", text)), name
    boxes = []
    for element in root.iter(SVG + "text"):
        box = extent(element)
        assert -0.5 <= box[0] and box[2] <= width + 0.5, f"{name}: {words(element)} {box}"
        assert -0.5 <= box[1] and box[3] <= height + 0.5, f"{name}: {words(element)} {box}"
        if element.get("class") == "end-label":
            boxes.append((box, words(element)))
    for i, (a, first) in enumerate(boxes):
        for b, second in boxes[:i]:
            apart = (a[2] <= b[0] + 0.5 or b[2] <= a[0] + 0.5 or a[3] <= b[1] + 0.5
                     or b[3] <= a[1] + 0.5)
            assert apart, f"{name}: {first} lies on {second}"


def words(element):
    """What a text shows: not the tip."""
    text = element.text or ""
    for part in element:
        if part.tag == SVG + "tspan":
            text += " " + (part.text or "")
    return text


def extent(element):
    """left, top, right, bottom of a text, by the same estimate the pictures use; letters reach
    from 0.72 of their size above the base line to 0.21 below."""
    x, y, size = (float(element.get(k)) for k in ("x", "y", "font-size"))
    width = svg.text_width(words(element), size)
    if element.get("font-weight") == "bold":
        width *= svg.BOLD
    shift = {"middle": width / 2, "end": width}.get(element.get("text-anchor"), 0)
    if element.get("transform"):  # turned by a right angle, about its own middle
        return x - size, y - width / 2, x, y + width / 2
    return x - shift, y - 0.72 * size, x - shift + width, y + 0.21 * size


def check_page(text):
    root = ElementTree.fromstring(text.replace("<!DOCTYPE html>", "", 1))
    assert not list(root.iter("script")) and not list(root.iter(SVG + "script"))
    assert not re.search(r'(src|href)\s*=|url\((?!#)|@import', text), "it loads something"
    names = re.findall(r'\bid="([^"]+)"', text)
    assert len(names) == len(set(names)), "two things have the same id"
    for used in re.findall(r"url\(#([^)]+)\)", text):
        assert used in names, f"there is no {used}"


# --- files as they should be ----------------------------------------------------------------

@check
def the_small_file_has_all_figures():
    whole = small()
    found = drawn(whole["machine"], whole["experiments"])
    assert set(found) == {
        "summary.svg", "a2-1500-curves.svg", "a2-1500-medians.svg", "a2-1500-without.svg",
        "a3-1500-curves.svg", "a3-1500-medians.svg", "fft-1024-curves.svg",
        "fft-1024-medians.svg", "fft-1024-dependencies.svg", "fft-1024-threads.svg",
        "report.html"}, set(found)
    page = found["report.html"]
    for words_of_page in ("AMD EPYC", "OpenBLAS 0.3.21, fftw-3.3.10", "-O3 -march=native",
                          "jax is not installed", "VP_SYNC=1", "in no order",
                          "vp_set(c, vp_add(a, b))"):
        assert words_of_page in page, words_of_page


@check
def every_series_and_the_paper_have_a_label():
    whole = small()
    one = whole["experiments"][0]
    root = ElementTree.fromstring(drawn({}, [one])["a2-1500-curves.svg"])
    shown = " / ".join(words(t) for t in root.iter(SVG + "text") if t.get("class") == "end-label")
    for s in one["series"]:
        if "-without-" in s["name"]:
            assert s["name"] not in shown
        else:
            assert s["name"] in shown, s["name"]
    for label in one["paper"]:
        assert label in shown, label


@check
def the_papers_ranges_are_bands():
    given = {"experiment": "e", "paper": {"one": 3.0, "both": [2.0, 0.46], "odd": [1, 2, 3]},
             "series": [{"name": "vproc", "samples": [[1.0, 1.0]]}]}
    assert figures.experiment_from(given).paper == {"one": (3.0, 3.0), "both": (0.46, 2.0)}
    text = drawn({}, [given])["e-curves.svg"]
    assert text.count('fill-opacity="0.1"') == 1 and text.count("6 4") == 4, text
    shown = " / ".join(words(t) for t in ElementTree.fromstring(text).iter(SVG + "text"))
    assert "both 460 µs – 2.00 ms" in shown and "one 3.00 ms" in shown, shown


@check
def threads_say_when_the_second_evaluation_is_given_in():
    shown = drawn({}, [small()["experiments"][2]])["fft-1024-threads.svg"]
    assert "given in when the first is done" in shown
    assert "given in before the first is done" in shown
    one = small()["experiments"][2]
    one["timeline"]["net"] = {**one["timeline"]["sync"]}
    assert "before the first" not in drawn({}, [one])["fft-1024-threads.svg"]


@check
def replot_draws_from_the_command_line():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "vbench", "--replot", str(HERE / "small.json"), "--svg",
                   folder]
        done = subprocess.run(command, cwd=EXPERIMENTS, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (Path(folder) / "report.html").exists()
        bad = Path(folder) / "bad.json"
        for text in ("", "[]", "{}", "7", '{"machine": {}}', "{"):
            bad.write_text(text)
            command[4] = str(bad)
            done = subprocess.run(command, cwd=EXPERIMENTS, capture_output=True, text=True)
            assert done.returncode == 1 and "cannot be drawn" in done.stderr, (text, done.stderr)
            assert "Traceback" not in done.stderr
        huge = 10**400
        for change in (lambda w: w["machine"].update(handover_ns=huge),
                       lambda w: w["experiments"][0]["series"][0].update(best_ms=huge),
                       lambda w: w["experiments"][2]["timeline"]["net"].update(issued_us=huge),
                       lambda w: w["experiments"][2]["timeline"]["net"]["boxes"][0].__setitem__(
                           2, huge)):
            whole = small()
            change(whole)
            bad.write_text(json.dumps(whole))
            done = subprocess.run(command, cwd=EXPERIMENTS, capture_output=True, text=True)
            assert done.returncode == 1 and "a number of 401 digits" in done.stderr, done.stderr
            assert "Traceback" not in done.stderr


@check
def drawing_goes_without_measuring():
    """From a folder that has its packages alone; tools/check_imports.py reads what is not run."""
    with tempfile.TemporaryDirectory() as folder:
        for package in ("vresults", "vdraw"):
            shutil.copytree(EXPERIMENTS / package, Path(folder) / package)
        program = ("import sys; sys.path.insert(0, '.'); from vdraw import draw_all; "
                   "from vresults.file import read_json; "
                   "print(len(draw_all('drawn', *read_json(sys.argv[1]))))")
        done = subprocess.run([sys.executable, "-I", "-c", program, str(HERE / "small.json")],
                              cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout == "11\n", done.stdout + done.stderr


# --- files as they should not be --------------------------------------------------------------

@check
def missing_keys():
    whole = small()
    for experiment in whole["experiments"][1:]:
        for key in list(experiment):
            one = copy.deepcopy(experiment)
            del one[key]
            drawn(whole["machine"], [one])
    one = whole["experiments"][2]
    for s in one["series"]:
        for key in list(s):
            if key in s:
                changed = copy.deepcopy(one)
                del changed["series"][0][key]
                figures.experiment_from(changed)
    drawn({}, [{**one, "series": [{"name": "vproc"}, {"samples": [[1, 2]]}, {}, None, 7]}])
    drawn({}, [{}, None, 7, "x"])
    drawn({}, [])
    drawn(None, None)


@check
def values_of_the_wrong_kind():
    for wrong in (None, 7, "x", [], {}, [[]], [None], float("nan")):
        for key in ("series", "paper", "left_out", "size", "figure", "title", "experiment",
                    "timeline", "graph", "lines"):
            drawn({}, [{"experiment": "e", "title": "t",
                        "series": [{"name": "vproc", "samples": [[1, 2], [3, 1]]}], key: wrong}])
        drawn({k: wrong for k in ("cpu", "caches", "versions", "memory", "handover_ns")}, [])


@check
def numbers_beyond_all_bounds():
    """Also where they do not come from a file."""
    huge, whole = 10**400, small()
    one = whole["experiments"][2]
    for s in one["series"]:
        s.update({k: huge for k in s if k.endswith("_ms") or k in figures.TABLE_COUNTS})
    for mode in ("sync", "net"):
        panel = one["timeline"][mode]
        panel.update(issued_us=huge, end_us=-huge)
        panel["boxes"][0][1] = panel["boxes"][1][0] = panel["boxes"][2][3] = huge
        panel["waits"] = [[0, huge, huge]]
        for i in panel["instructions"][::2]:
            i["issued_us"] = huge
        for n in one["graph"][mode]["nodes"]:
            n["bytes"] = huge
    one["paper"] = {"p": huge, "q": [1.0, huge], "r": [2.0, 1.0]}
    drawn({k: huge for k in ("cores", "threads", "memory", "handover_ns", "handover_end_ns")},
          [one])


@check
def one_sample_only():
    def change(one):
        for s in one["series"]:
            s["samples"] = s["samples"][:1]
    assert "a2-1500-curves.svg" in redrawn(change)
    assert "e-curves.svg" in drawn({}, [{"experiment": "e", "series": [
        {"name": "vproc", "samples": [[5.0, 5.0]]}]}])


@check
def samples_at_one_time():
    drawn({}, [{"experiment": "e", "series": [
        {"name": "vproc", "samples": [[5.0, 1.0]] * 50}, {"name": "c", "samples": [[5.0, 1.0]]}]}])


@check
def zero_negative_and_endless_times():
    def change(one):
        bad = (0, -1, float("nan"), float("inf"), None, "x", True)
        for s, value in zip(one["series"], bad):
            s["samples"] = [[1, value], [value, 1], [2, 3.0], value]
            s["median_ms"] = s["best_ms"] = s["first_ms"] = s["plateau_ms"] = value
    found = redrawn(change)
    assert "are no times and are left out" in found["report.html"]

    def all_bad(one):
        for s in one["series"]:
            s["samples"] = [[0, 0]]
            s["median_ms"] = float("nan")
    found = redrawn(all_bad)
    assert set(found) == {"report.html"}, set(found)
    assert "not drawn, it has no usable time" in found["report.html"]


@check
def extreme_times():
    drawn({}, [{"experiment": "e", "paper": {"p": 1e-30, "q": 1e30}, "series": [
        {"name": "vproc", "samples": [[1e-300, 1e-300], [1e300, 1e300]]},
        {"name": "c", "samples": [[5e-324, 1.0], [1.7e308, 2.0]]}]}])


@check
def no_series():
    found = redrawn(lambda one: {**one, "series": []})
    assert set(found) == {"report.html"}


@check
def long_and_odd_names():
    odd = ("<b>&amp;\"'</b>", "]]>", "a" * 500, "m W @ %" * 60, "Größe ≤ 3 µs", "\x00\x1b\n\t",
           "漢字" * 40, "", "\ud800", "<!--", "vproc-" + "x" * 300, "c-" + "&" * 80)

    def change(one):
        one["title"] = odd[2] + odd[0]
        one["paper"] = {name: 1.0 + k for k, name in enumerate(odd)}
        one["left_out"] = {name: name for name in odd}
        for s, name in zip(one["series"], odd):
            s["name"] = s["flags"] = s["check"] = name
        for s in one["series"]:
            if "-without-" in s["name"]:
                s["name"] += odd[0] + odd[2]
    found = redrawn(change)
    assert "&lt;b&gt;" in found["a2-1500-curves.svg"]
    whole = small()["experiments"][2]
    for mode in ("sync", "net"):
        for k, i in enumerate(whole["timeline"][mode]["instructions"]):
            i["name"] = odd[k % len(odd)]
        whole["timeline"][mode]["threads"] = [odd[0], odd[2]]
        for k, n in enumerate(whole["graph"][mode]["nodes"]):
            n.update(name=odd[k % len(odd)], threads=list(odd[:3]), kind=odd[0])
    whole["experiment"] = "../../../etc/<x>"
    found = drawn({"cpu": odd[0], "versions": dict(zip(odd, odd))}, [whole, whole])
    assert all("/" not in name and "<" not in name for name in found)


@check
def names_that_occur_twice():
    whole = small()
    one = whole["experiments"][1]
    one["series"] += copy.deepcopy(one["series"])
    found = drawn({}, [one, one])
    assert "a3-1500-curves-2.svg" in found


@check
def many_series_at_one_value():
    series = [{"name": f"{kind}-{k}", "samples": [[1 + k, 9.0], [100, 1.0], [1000, 1.0]]}
              for kind in ("vproc", "c", "gfortran", "numpy") for k in range(8)]
    drawn({}, [{"experiment": "e", "paper": {f"paper: {k}": 1.0 for k in range(6)},
                "series": series}])


@check
def many_samples_make_small_files():
    samples = [[0.5, 400.0]] + [[1 + 0.4 * k, 1 + (k % 97) / 50] for k in range(5000)]
    series = [{"name": f"c-{k}", "samples": samples} for k in range(21)]
    found = drawn({}, [{"experiment": "e", "series": series}])
    assert len(found["e-curves.svg"]) < MOST_BYTES
    thin = curves.thinned([tuple(s) for s in samples])
    assert thin[0] == (0.5, 400.0, 400.0) and len(thin) < 120
    assert all(low <= median for _, median, low in thin)


@check
def broken_timelines_and_graphs():
    one = small()["experiments"][2]
    rows = {"threads": ["caller"], "instructions": [{}, {"name": "x", "evaluation": 0}]}
    for boxes in ([[0, 1, 2, 0]], [[0, 0, 0, 1]], [[0, 2, 1, 0]], [[5, 1, 2, 0]], [[0, 1, 2, 9]],
                  [[0, float("nan"), 2, 0]], [[0, 1, 1e300, 1]], [[0.5, 1, 2, 0]], ["x"], [[]],
                  [[0, 1, 2, "x"]]):
        one["timeline"] = {"net": {**rows, "boxes": boxes, "waits": boxes}}
        drawn({}, [one])
    nodes = [{"name": str(k), "kind": "kernel"} for k in range(4)]
    for edges in ([[0, 1, "data"], [1, 0, "data"]], [[0, 0, "data"]], [[0, 9, "data"]], ["x"],
                  [[0, 1, None]], [[0, 1, "data"], [1, 2, "order"], [0, 2, "data"]], [],
                  [[-1, 0, 1]]):
        one["graph"] = {"net": {"nodes": nodes, "edges": edges}, "sync": None}
        drawn({}, [one])
    one["graph"] = {"net": {"nodes": nodes * 30, "edges": []}}
    drawn({}, [one])


# --- the parts ----------------------------------------------------------------------------------

@check
def labels_keep_apart_and_near():
    assert labels.spread([], [], 0, 10) == []
    assert labels.spread([3.0], [2], 0, 10) == [3.0]
    assert labels.spread([5.0, 1.0], [2, 2], 0, 10) == [5.0, 1.0]
    assert labels.spread([5.0, 5.0], [2, 2], 0, 10) == [4.0, 6.0]
    assert labels.spread([0.0, 0.0], [2, 2], 0, 10) == [1.0, 3.0]
    assert labels.spread([99.0, 99.0], [2, 4], 0, 10) == [5.0, 8.0]
    crowded = labels.spread([5.0] * 10, [2] * 10, 0, 10)
    assert all(math.isclose(b - a, 1.0) for a, b in zip(crowded, crowded[1:])), crowded


@check
def ticks_and_times_read_well():
    assert scale.time_label(0.01) == "10 µs" and scale.time_label(2000.0) == "2 s"
    assert scale.time_label(1e-6) == "1 ns" and scale.time_label(0.5) == "500 µs"
    assert scale.time_text(0.0151) == "15.1 µs" and scale.time_text(39.94) == "39.9 ms"
    assert scale.time_text(0.99999) == "1.00 ms"
    axis = scale.around([0.01, 5.0], 0, 100)
    assert sum(labelled for _, labelled in axis.ticks()) >= 3
    assert scale.around([3.0], 0, 100).decades >= 0.999


@check
def operations_are_numbered_wherever_they_are():
    assert naming.numbered(["fft", "abs", "fft", "abs + add + sum"]) == [
        "fft 1", "abs 1", "fft 2", "abs 2 + add + sum"]


def event(kind, at, name, node=0, **args):
    return {"ph": kind, "tid": 1, "ts": at, "cat": "node", "name": name,
            "args": {"node": node, **args}}


@check
def dependencies_come_from_storages():
    def issue(at, node, name):
        return {**event("X", at, name, node), "cat": "issue", "dur": 0.1}
    events = [
        event("i", 0, "storage", arg=64), issue(1, 1, "sort"), event("n", 1.1, "write", 1, arg=64),
        issue(2, 2, "abs"), event("n", 2.1, "read", 2, arg=64), event("i", 2.0, "storage", arg=96),
        event("n", 2.2, "write", 2, arg=96), event("n", 2.3, "operation", 2, operation="abs"),
        issue(3, 3, "put"), event("n", 3.1, "write", 3, arg=64),  # after 2 has read it
        event("i", 4, "storage", arg=96),  # another one at the same address
        issue(5, 4, "add"), event("n", 5.1, "write", 4, arg=96),
        issue(6, 5, "sum"), event("n", 6.1, "read", 5, arg=96), event("n", 6.1, "read", 5, arg=64),
        event("n", 6.2, "write", 5, arg=128)]
    trace = tracefile.interpret(events)
    edges, _ = tracefile.dependencies(list(trace.instructions.values()))
    assert sorted((a, b, flows) for a, b, _, flows in edges) == [
        (1, 2, True), (2, 3, False), (3, 5, True), (4, 5, True)], edges
    assert trace.instructions[2].is_kernel and not trace.instructions[1].is_kernel


def a_real_trace_has_what_the_pictures_need(programs):
    """A program of the build, one instruction at a time and on the net."""
    class Builder:
        def command(self, series):
            return [str(programs / f"vproc-{series.program}")]
    capture.ROUNDS = 4
    for mode, flags in capture.MODES:
        trace = capture.run(Builder(), capture.Series("traced", "vproc", "a2", flags), 300)
        caller, window = capture.best_window(trace)
        assert window, mode
        line = capture.timeline_of(trace, caller, window)
        assert line["threads"][0] == "caller" and line["boxes"] and line["end_us"] > 0
        shown = capture.graph_of(trace, caller, window[3][:len(window[3]) // 2])
        kinds = [n["kind"] for n in shown["nodes"]]
        assert "input" in kinds and "result" in kinds and "kernel" in kinds, shown
        operations = {op for n in shown["nodes"] for op in n["name"].split(names.JOIN)}
        assert {"sin", "abs", "sum"} <= operations, operations
        assert all(n["threads"] for n in shown["nodes"] if n["kind"] == "kernel"), shown
        drawn({}, [{"experiment": "e", "timeline": {mode: line}, "graph": {mode: shown}}])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, help="where vproc-a2 is")
    options = parser.parse_args()
    checks = list(CHECKS)
    skipped = 0
    if options.programs and (options.programs / "vproc-a2").exists():
        checks.append(lambda: a_real_trace_has_what_the_pictures_need(options.programs))
        checks[-1].__name__ = a_real_trace_has_what_the_pictures_need.__name__
    else:
        skipped = 1
    failed = 0
    for one in checks:
        try:
            one()
        except Exception:
            failed += 1
            print(f"FAIL {one.__name__}")
            traceback.print_exc(file=sys.stdout)
    total = f"{len(checks) - failed} passed, {failed} failed"
    print(total + f", {skipped} skipped" * bool(skipped))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
