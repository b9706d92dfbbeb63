#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `vproc` as a person uses it: what it shows, what it measures, and what it says
to mistakes. The experiments run for moments only; what is looked at is their form, that every
result is checked, and that every instruction was executed.

    check_command.py BUILD_FOLDER
"""

import ctypes
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))
from vbench import __main__ as bench
from vbench import build, catalogue, headline, machine, measure, parts, progress, scaling
from vbench import tracefile, where
from vbench.measure import differs

BUILD = Path(sys.argv[1]).resolve()
RESULTS = Path(__file__).resolve().parents[1] / "figures" / "small.json"
passed = failed = 0


def check(what, good, shown=""):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"FAILED: {what}\n{shown}")


def vproc(*arguments, cwd=None, **environment):
    done = subprocess.run([str(BUILD / "vproc"), *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def check_mistakes():
    mistakes = [
        ((), "usage:"),
        (("frobnicate",), "there is no command frobnicate"),
        (("info", "--xml"), "usage: vproc info"),
        (("kernels", "--number", "many"), "usage: vproc kernels"),
        (("bench", "a9"), "there is no experiment a9"),
        (("bench", "a1", "--peers", "rust"), "there is no peer rust"),
        (("bench", "a1", "--size", "0"), "--size must be at least 1"),
        (("bench", "a1", "--seconds", "0"), "--seconds must be more than 0"),
        (("bench", "a4", "--size", "10"), "--size of a4 must be at least"),
        (("bench", "a2", "--size", "10000000"), "takes more memory than there is"),
        (("bench", "tiny", "--size", "9" * 20), "--size must be at most"),
        (("bench", "a1", "--seconds", "nan"), "--seconds must be more than 0"),
        (("bench", "a1", "--json", "/dev/null/x.json"), "cannot be written"),
        (("bench", "a1", "--json", "/"), "cannot be written"),
        (("bench", "a1", "--svg", "/dev/null"), "cannot be written"),
        (("bench", "a1", "--work", "/dev/null"), "cannot be written"),
        (("bench", "--replot", "nothing.json"), "--svg"),
        (("bench", "a1", "--replot", "x.json", "--svg", "."), "it takes no experiments"),
        (("bench", "--replot", "x.json", "--svg", ".", "--size", "5"), "it takes no --size"),
        (("bench", "--replot", "x.json", "--svg", ".", "--peers", "all", "--ablate"),
         "it takes no --peers, no --ablate"),
    ]
    for arguments, said in mistakes:
        status, out, err = vproc(*arguments)
        check(f"vproc {' '.join(arguments)}", status == 2 and said in err, err)
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = vproc("bench", "--replot", f"{folder}/nothing.json", "--svg", folder)
        check("a file that is not there", status == 1 and "nothing.json" in err, err)
        deep = Path(folder) / "deep.json"
        deep.write_text("[" * 100000)
        status, out, err = vproc("bench", "--replot", str(deep), "--svg", folder)
        check("a file of brackets", status == 1 and "cannot be drawn" in err, err[-300:])


def library_version(name, symbol):
    """A string that a library exports, empty without the library."""
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return ""
    start = ctypes.c_char.in_dll(library, symbol)
    return ctypes.string_at(ctypes.addressof(start)).decode()


def check_info():
    status, out, err = vproc("info")
    check("vproc info", status == 0 and "cores" in out and "cost model" in out, out + err)
    status, out, err = vproc("info", "--json")
    facts = json.loads(out)
    check("vproc info --json", facts["cores"] >= 1 and facts["handover_ns"] > 0
          and facts["together"] > 0, out)
    check("who built it", re.fullmatch(r"[\w-]+ [\d.]+", facts["built_by"]), out)
    (cores,) = facts["devices"]
    check("the cores as a device", cores["name"] == "cores"
          and cores["threads"] == facts["threads"]
          and 0 < cores["memory"] <= facts["memory"], out)
    for name, key in (("libfftw3.so.3", "fftw"), ("libfftw3f.so.3", "fftwf")):
        version = library_version(name, key + "_version")
        check(f"the version of {name}", facts[key] == version, out)
    check("OpenBLAS", facts["blas"] == "" or facts["blas"].startswith("OpenBLAS"), out)
    check("math functions", facts["math"] in ("libm", "libmvec"), out)
    status, out, err = vproc("info", "--json", VP_BLAS="0", VP_FFTW="0",
                             VP_MATH="accurate")
    facts = json.loads(out)
    check("libraries that are not to be used", facts["math"] == "libm"
          and facts["blas"] == facts["fftw"] == facts["fftwf"] == "", out)
    status, out, err = vproc("info", VP_BLAS="0", VP_FFTW="0")
    check("what stands in for them", "own loops" in out and "own transform" in out, out)


def check_kernels():
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = vproc("kernels", VP_CACHE=folder)
        check("an empty cache", status == 0 and out.startswith("0 kernels"), out + err)
        program = BUILD / "examples" / "expression"
        # A process never waits for its compiler, unless it is told to compile first.
        subprocess.run([str(program)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "VP_CACHE": folder, "VP_JIT": "native"})
        if not (BUILD / "vproc-llvm.so").exists():
            return
        status, out, err = vproc("kernels", "--number", "1", VP_CACHE=folder)
        check("a kernel with its IR", status == 0 and "native" in out and "leaf" in out,
              out + err)
    status, out, err = vproc("kernels", VP_CACHE="off")
    check("no cache", status == 0 and "no cache" in out, out + err)


def check_unfit_settings():
    """What is asked for and cannot be had is said, once, and the program goes on."""
    def said(**environment):
        done = subprocess.run([str(BUILD / "examples" / "expression")], capture_output=True,
                              text=True, env={**os.environ, "VP_CACHE": "off", **environment})
        check(f"{environment}: the program", done.returncode == 0 and done.stdout, done.stderr)
        return done.stderr.splitlines()

    check("nothing is said", said() == [])
    lines = said(VP_THREAD="4")
    check("an unknown setting", len(lines) == 1 and "VP_THREAD" in lines[0]
          and "VP_THREADS" in lines[0], str(lines))
    lines = said(VP_JIT="fast")
    check("a bad VP_JIT", len(lines) == 1 and "VP_JIT=fast is not" in lines[0], str(lines))
    if not json.loads(vproc("info", "--json")[1])["compiler"]:
        return
    lines = said(VP_JIT="native", VP_CACHE="/dev/null/cache")
    check("a bad VP_CACHE", len(lines) == 1 and "VP_CACHE=/dev/null/cache" in lines[0], str(lines))
    for file in ("/no/such/file.so", "libc.so.6", str(BUILD / "vproc")):
        lines = said(VP_JIT="native", VP_LLVM=file)
        check("a bad VP_LLVM", len(lines) == 1 and f"VP_LLVM={file} cannot" in lines[0], str(lines))


KEYS = {"name", "best_ms", "median_ms", "first_ms", "time_to_plateau_ms", "issue_ms", "wait_ms",
        "samples", "checked", "kernels", "elements", "stored"}


def check_debug():
    """VP_DEBUG shows what is compiled, and what became of it."""
    if not json.loads(vproc("info", "--json")[1])["compiler"]:
        return
    done = subprocess.run([BUILD / "experiments" / "vproc-a2"], text=True,
                          input="prepare 40\nsample 1\n", capture_output=True,
                          env={**os.environ, "VP_DEBUG": "ir,asm", "VP_JIT": "native",
                               "VP_CACHE": "off"})
    check("VP_DEBUG=ir", "\nreduce sum float64" in done.stderr, done.stderr[:500])
    check("VP_DEBUG=asm", "\nvp_kernel:" in done.stderr, done.stderr[:500])


STAGES = {"vproc-base", "vproc-native", "vproc-specialised"}


def check_catalogue():
    """What every experiment has, and that vproc knows the mechanisms to switch off."""
    for name, experiment in catalogue.EXPERIMENTS.items():
        names = {s.name for s in experiment.series}
        wanted = {"vproc", "vproc-warm", "vproc-sync"} | STAGES
        check(f"{name}: its series", wanted <= names, str(sorted(names)))
    loops = {s.name for s in catalogue.A2.series if s.program == "a2_loop"}
    check("the loop's series", loops == {"vproc-loop", "vproc-loop-warm", "vproc-loop-sync"},
          str(loops))
    wanted = {"fusion", "sizes", "renaming", "continuation", "stealing", "inline"}
    check("the mechanisms", wanted <= set(catalogue.MECHANISMS))
    status, out, err = vproc("info", VP_WITHOUT=",".join(catalogue.MECHANISMS))
    check("the mechanisms' names", status == 0 and not err, err)


def check_bench():
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/a2.json"
        status, out, err = vproc("bench", "a2", "--size", "64", "--seconds", "0.02", "--peers",
                                 "none", "--work", folder, "--ablate", "--json", file,
                                 "--svg", folder)
        check("a short run", status == 0, out + err)
        whole = json.loads(Path(file).read_text())
        check("its head", whole["experiment"] == "a2" and whole["machine"]["cores"] >= 1, out)
        check("the hand-over, twice", whole["machine"]["handover_ns"] > 0
              and whole["machine"]["handover_end_ns"] > 0 and ", at the end" in out, out)
        check("a size that is not the paper's", whole["paper"] == {} and whole["figure"] == "")
        check("its columns", "kernels/ev." in out and "stored/ev." in out, out)
        names = {s["name"] for s in whole["series"]}
        wanted = {"vproc", "vproc-sync", "vproc-loop", "vproc-loop-warm",
                  "vproc-loop-sync"} | STAGES
        wanted |= {f"{main}-without-{m}" for main in ("vproc", "vproc-loop")
                   for m in catalogue.MECHANISMS}
        check("its series", wanted <= names, str(sorted(names)))
        for s in whole["series"]:
            check(f"{s['name']}: keys", KEYS <= s.keys(), str(sorted(s)))
            check(f"{s['name']}: result", s["checked"] is True, s["check"])
            # Every evaluation goes over all elements at least once: nothing is skipped.
            check(f"{s['name']}: executed", s["elements"] >= 64 * 64 * s["evaluations"],
                  f"{s['elements']} elements in {s['evaluations']} evaluations")
        check("its page", (Path(folder) / "report.html").exists(), out)
        status, out, err = vproc("bench", "--replot", file, "--svg", f"{folder}/again")
        check("drawn again", status == 0 and (Path(folder) / "again/report.html").exists(), err)


def check_stages_of_f():
    """Of F only the last sum is compiled; its stages must be there, and right."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/fft.json"
        status, out, err = vproc("bench", "fft", "--size", "64", "--seconds", "0.02",
                                 "--peers", "none", "--work", folder, "--json", file)
        check("a short run of F", status == 0, out + err)
        series = json.loads(Path(file).read_text())["series"]
        found = {s["name"]: s["checked"] for s in series}
        for name in STAGES:
            check(f"F: {name}", found.get(name) is True, out + err)


def check_peers():
    """Peers are compiled, run and compared with us; A1 has the size it has."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/two.json"
        status, out, err = vproc("bench", "a1", "a3", "--size", "40", "--seconds", "0.02",
                                 "--peers", "c,c-openmp-invalid,gfortran-O3", "--work", folder,
                                 "--json", file)
        check("a run with peers", status == 0 and "one size" in err + out, out + err)
        a1, a3 = json.loads(Path(file).read_text())["experiments"]
        check("the size of A1", a1["size"] == 507 and a3["size"] == 40, out)
        check("the paper's figure", a1["figure"] == "Figure 4" and a3["figure"] == "")
        check("how far it is", "a3 (2 of 2): about" in err, err)
        for one in (a1, a3):
            peers = {s["name"]: s["checked"] for s in one["series"]}
            check(f"{one['experiment']}: c is right", peers.get("c") is True, str(one["left_out"]))
        missing = build.first_error("ld: cannot find -lmkl_rt: No such file", None)
        check("a library that is not there", missing == "libmkl_rt is not installed", missing)
        missing = build.first_error("fft.c:8:10: fatal error: fftw3.h: No such file or", None)
        check("a header that is not there", missing == "fftw3.h is not installed", missing)
        check("what is not compared", {s["name"]: s["checked"] for s in a3["series"]}
              ["c-openmp-invalid"] is False, out)


SMALL = {"a1": [], "a2": ["--size", "64"], "a3": ["--size", "64"], "a4": ["--size", "120"],
         "fft": ["--size", "63"], "tiny": []}


def check_all_peers():
    """Every peer that is compiled gives our result, and so do all of our own series."""
    for name, size in SMALL.items():
        peers = [s.name for s in catalogue.EXPERIMENTS[name].series if s.kind in ("c", "fortran")]
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/one.json"
            status, out, err = vproc("bench", name, *size, "--seconds", "0.02", "--peers",
                                     ",".join(peers) or "none", "--work", folder, "--json", file)
            check(f"all of {name}", status == 0, out + err)
            one = json.loads(Path(file).read_text())
        found = {s["name"]: s for s in one["series"]}
        for s in catalogue.EXPERIMENTS[name].series:
            if s.kind == "python" or "is not installed" in one["left_out"].get(s.name, ""):
                continue
            shown = str(found.get(s.name, one["left_out"]))[:300]
            check(f"{name}: {s.name}", s.name in found and found[s.name]["checked"] is s.valid,
                  shown)


def check_peers_without_program():
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = vproc("bench", "tiny", "--peers", "c", "--seconds", "0.01", "--work",
                                 folder)
        check("a peer without a program", status == 0 and "left out: c: has no program" in out,
              out + err)


class Silent:
    """A series that has measured, and dies when it is asked for its result."""

    def __init__(self, name, numbers, elements=507 * 10 * 5 * 17):
        self.series = catalogue.Series(name, "vproc" if "vproc" in name else "c", "a1",
                                       ("-O3",), libraries=("-lm",))
        self.samples, self.numbers = [(1.0, 1.0, 0.5, 1), (2.0, 1.0, 0.5, 1)], numbers
        self.first_counters, self.elements = (5, 10**6, 0), 10**6 + elements

    def result(self, folder):
        self.elements += 10**9  # showing it is work, which must not count
        if self.numbers is None:
            raise measure.Failed("no memory")
        return self.numbers

    def counters(self):
        return 7, self.elements, 3

    def stop(self):
        pass


def check_late_failures():
    """One that fails at the end is left out, the others are not lost; what differs is said."""
    group = measure.Group(None, 1, 1, None, None, None)
    group.running = [Silent("vproc", [1.0]), Silent("vproc-sync", [1.0]), Silent("c", None),
                     Silent("jax", [2.0]), Silent("vproc-lazy", [1.0], 100)]
    found = measure.finish(group, catalogue.A1, "")
    check("a late failure", [s["name"] for s in found]
          == ["vproc", "vproc-sync", "jax", "vproc-lazy"]
          and group.left_out == {"c": "no memory"}, str(found))
    check("a wrong result", [s["is_wrong"] for s in found] == [False, False, True, True],
          str(found))
    check("skipped work is wrong", found[3]["checked"] is False and found[3]["check"]
          == "skipped work: 100 elements an evaluation, at least 430.9k wanted",
          found[3]["check"])
    check("its counters", (found[0]["kernels"], found[0]["elements"], found[0]["stored"])
          == (7, 1430950, 3), str(found[0]))
    check("its libraries are among its flags", found[0]["flags"] == "-O3 -lm", str(found[0]))


def check_skipped_work():
    """The least that an evaluation of each program executes, and who falls short of it."""
    least = {name: e.least(e.series[0].program, max(e.times))
             for name, e in catalogue.EXPERIMENTS.items()}
    check("the least work", least == {
        "a1": (430950, 0), "a2": (2250000, 0), "a3": (2250000, 1125750),
        "a4": (5 * 1203 * 1203 * 50, 5 * 51 * 1203), "fft": (5 * 4096**2, 0),
        "tiny": (10, 0)}, str(least))
    check("a loop stores", catalogue.A2.least("a2_loop", 200) == (40000, 200))
    check("another size of A4", catalogue.A4.least("a4", 120) == (120 * 120 * 50, 120))
    loop = next(s for s in catalogue.A2.series if s.name == "vproc-loop")
    for counters, said in (((0, 400000, 2000), None), ((0, 399999, 2000), "elements"),
                           ((0, 400000, 1999), "stored"), ((0, 400000, 0), "0 stored")):
        found = measure.skipped(catalogue.A2, 200, loop, counters, 10)
        check(f"{counters} in 10 evaluations", said in found if said else found is None, found)
    peer = next(s for s in catalogue.A2.series if s.name == "c")
    check("peers do not count", measure.skipped(catalogue.A2, 200, peer, (0, 0, 0), 1) is None)


def check_what_shadows():
    """Neither the person's folder nor PYTHONPATH takes the place of a module."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("statistics", "json", "vbench", "vdraw", "vresults", "runpy"):
            (Path(folder) / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
        status, out, err = vproc("bench", "--help", cwd=folder, PYTHONPATH=folder)
        check("modules in the folder", status == 0 and "EXPERIMENT" in out, out + err)
        status, out, err = vproc("bench", "--replot", str(RESULTS), "--svg", "drawn", cwd=folder,
                                 PYTHONPATH=folder)
        check("modules in the folder, drawing", status == 0 and "report.html" in out, out + err)
        (Path(folder) / "nobodys.py").write_text("")
        os.chdir(folder)
        check("packages in the folder", not build.has_package(sys.executable, "nobodys"))
        os.chdir(BUILD)


def check_threads():
    """The number that vproc really uses is shown, and given to the peers."""
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = vproc("bench", "tiny", "--peers", "none", "--seconds", "0.01",
                                 "--work", folder, VP_THREADS="banana")
        check("a bad VP_THREADS", status == 0 and "VP_THREADS=banana is not" in err, out + err)
        check("the threads of the table", re.search(r"vproc on \d+ thread", out), out)
    before = os.environ.get("VP_THREADS")
    os.environ.update(VP_THREADS="banana", OMP_NUM_THREADS="7")
    machine.settle_threads({"threads": 2})
    found = measure.environment_for(catalogue.A1.series[0], "")
    check("the peers' threads", [found[k] for k in ("VP_THREADS", "OMP_NUM_THREADS",
                                                   "NUMBA_NUM_THREADS")] == ["2"] * 3)
    for name, value in (("VP_THREADS", before), ("OMP_NUM_THREADS", None)):
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value


def check_placement():
    for first, last, said in ((1.9, 1.9, ""), (1.1, None, "at the beginning (1.1"),
                              (1.9, 1.2, "at the end (1.2"),
                              (1.1, 1.2, "at the beginning (1.1 times what one does) and at the end")):
        facts = {"cores": 2, "together": first} | ({"together_end": last} if last else {})
        found = machine.placement(facts)
        check(f"together {first} and {last}", said in found and bool(said) == bool(found), found)
    check("one core", machine.placement({"cores": 1, "together": 1}) == "")


def start_bench(action, *arguments):
    """Starts `vproc bench tiny` with this action for SIGINT, and waits until it is measuring.
    What our own process inherited does not matter: shells ignore SIGINT in the background."""
    process = subprocess.Popen(
        [str(BUILD / "vproc"), "bench", "tiny", "--peers", "none", *arguments], text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, action))
    process.stderr.readline()  # it says what it is about to measure
    return process


def check_stopping():
    """Who is stopped says so, and leaves no empty file; a file that was there stays."""
    with tempfile.TemporaryDirectory() as folder:
        for before in (None, "{}"):
            file = Path(folder) / "some.json"
            if before:
                file.write_text(before)
            process = start_bench(signal.SIG_DFL, "--seconds", "100", "--work", folder,
                                  "--json", str(file))
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
            check("stopped", process.returncode == 1 and "stopped before anything" in said
                  and "Traceback" not in said, said)
            check("its file", file.read_text() == before if before else not file.exists())


def check_not_stopping():
    """Where SIGINT is ignored, as by nohup and by shells in the background, it stays so."""
    with tempfile.TemporaryDirectory() as folder:
        process = start_bench(signal.SIG_IGN, "--seconds", "0.5", "--work", folder)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
        check("not stopped", process.returncode == 0 and "stopped" not in said, said)


def check_plan():
    """An installed copy has no programs for the parts, and does without unless asked."""
    with tempfile.TemporaryDirectory() as folder:
        builder, told = SimpleNamespace(programs=Path(folder) / "experiments"), []
        options = SimpleNamespace(experiments=["a1", "a3", "jit"], size=None, is_everything=True)
        plan = bench.planned(options, builder, told.append)
        check("without the parts", [p[:2] for p in plan] == [("a1", 507), ("a3", 1500), ("a3", 200)]
              and told == ["left out: jit: its program is part of a build folder, and not "
                           "installed"], f"{plan} {told}")
        options.is_everything = False
        check("parts that were asked for",
              bench.planned(options, builder, told.append)[-1] == ("jit", None, []))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def check_progress():
    """The bar moves while a program runs that says nothing, and its line fits a terminal."""
    screen = Terminal()
    bar = progress.Progress(screen)
    bar.begin("layouts (14 of 14)", 1000)
    bar.follow("bench-layouts", subprocess.Popen(["sleep", "0.7"]))
    bar.step("vproc-loop-without-continuation", 2000)
    lines = screen.getvalue().split("\r\033[K")[1:]
    bars = [line.count("#") for line in lines]
    check("a bar that moves", len(set(bars)) > 4 and bars == sorted(bars), str(lines))
    check("a bar beyond its time", "nearly done" in lines[-1], lines[-1])
    check("a line of a terminal", max(map(len, lines)) < 80, str(lines))
    series = [s for s in catalogue.A2.series if s.name in ("vproc", "vproc-warm")]
    check("warming is expected", measure.expected_ms(series, 2) == 4000 + measure.WARMING_MS)


def check_tables_for_people():
    """Tables in Markdown: what was left out with which threads, and the headline."""
    missing = {("jax", "is not installed"): [1, 2], ("c", "no memory"): [2]}
    check("left out of the scaling", list(scaling.left_out_lines("a1", missing, [1, 2])) == [
        "a1: left out: jax: is not installed", "a1: left out: c, with 2 threads: no memory"])
    check("times", [headline.time_text(ms) for ms in (0.0117, 0.99996, 1010.4, 34.01, 8.8e-5)]
          == ["11.7 µs", "1 ms", "1010 ms", "34 ms", "88 ns"])
    times = {"first_ms": 1.0, "time_to_plateau_ms": 2.0}
    series = [{"name": "gfortran-O3", "median_ms": 0.19, "best_ms": 0.18, **times},
              {"name": "vproc", "median_ms": 0.019, "best_ms": 0.024, **times},
              {"name": "vproc-sync", "median_ms": 0.02, "best_ms": 0.02, "checked": False,
               "is_wrong": True, "check": "differs", **times}]
    one = {"experiment": "a1", "title": "", "size": 507, "series": series}
    lines = list(headline.wanted_lines([one]))
    check("what is met", lines[2] == "| A1 over gfortran -O3 | ≥ 8, 10 | **10.0** | 7.50 |"
          and lines[3].endswith("| - | - |") and "| A1 -, A2 -," in lines[-1], str(lines))
    lines = list(headline.table_lines(one))
    check("the table of A1", lines[3:] == [
        "| **vproc** | 24 µs | 19 µs | 1.00 | 1 ms | 2 ms |",
        "| **vproc-sync** (differs) | 20 µs | 20 µs | 1.05 | 1 ms | 2 ms |",
        "| gfortran-O3 | 180 µs | 190 µs | 10.00 | 1 ms | 2 ms |"], str(lines))


def check_arithmetic():
    """How results are compared, and what is read from the lines of other programs."""
    nan, inf = float("nan"), float("inf")
    check("equal numbers", not differs([1.0, nan, inf], [1.0, nan, inf], 0))
    for a, b in (([nan], [5.0]), ([5.0], [nan]), ([inf], [5.0]), ([inf], [-inf]), ([1.0], []),
                 ([1.0], [1.1])):
        check(f"{a} is not {b}", differs(a, b, 1e-3))
    check("nearly equal ones", not differs([1.0], [1.0001], 1e-3))
    layouts = parts.layout_figures(
        ["row-major                1.0  2.0  3.0  4.0  5.0  6.0  -  -  0.1 0.2  0.3 0.4"])
    one = layouts["series"][0]
    check("a layout's figures", one["best_ms"] == 0.003 and one["median_ms"] == 0.004
          and one["vproc-base_median_us"] == 2 and one["c_best_us"] == 5
          and "numpy_best_us" not in one, str(one))
    jit = parts.jit_figures(["first kernel   10.0 12.0 ms", "a later kernel   900.0 950.0 µs",
                             "first kernel   0.3 0.4 ms"])
    check("the compiler's figures", jit["cold_first_native_ms"] == 12
          and abs(jit["kernel_median_ms"] - 0.95) < 1e-9 and jit["warm_first_native_ms"] == 0.4)
    runs = [(1, 0, 10, 7), (1, 60, 70, 7), (2, 50, 90, 7), (2, 90, 100, 7)]
    trace = tracefile.Trace({1: "caller", 2: "worker"}, runs, [(1, 55, 75)],
                            {7: tracefile.Instruction(7, "sum", 0)})
    shares = where.shares(trace)
    check("shares of a trace", shares[2]["sum"] == 1.0 and shares[1]["sum"] == 0.2
          and shares[1]["waiting"] == 0.2 and abs(shares[1]["issuing, and the program"] - 0.6)
          < 1e-9, str(shares))


check_mistakes()
check_info()
check_kernels()
check_unfit_settings()
check_debug()
check_arithmetic()
check_catalogue()
check_bench()
check_stages_of_f()
check_peers()
check_all_peers()
check_peers_without_program()
check_late_failures()
check_skipped_work()
check_what_shadows()
check_threads()
check_placement()
check_stopping()
check_not_stopping()
check_plan()
check_progress()
check_tables_for_people()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
