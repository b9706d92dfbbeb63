#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `vproc` as a person uses it: what it shows, what it measures, and what it says
to mistakes. The experiments run for moments only; what is looked at is their form, that every
result is checked, and that every instruction was executed.

    check_command.py BUILD_FOLDER
"""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))
from vbench import build, catalogue, measure, parts, tracefile, where
from vbench.measure import differs

BUILD = Path(sys.argv[1]).resolve()
passed = failed = 0


def check(what, good, shown=""):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"FAILED: {what}\n{shown}")


def vproc(*arguments, **environment):
    done = subprocess.run([str(BUILD / "vproc"), *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=300)
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
    check("vproc info --json", facts["cores"] >= 1 and facts["handover_ns"] > 0, out)
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


KEYS = {"name", "best_ms", "median_ms", "first_ms", "time_to_plateau_ms", "issue_ms", "wait_ms",
        "samples", "checked", "kernels", "elements"}


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
        names = {s["name"] for s in whole["series"]}
        wanted = {"vproc", "vproc-sync", "vproc-loop", "vproc-loop-sync"} | STAGES
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

    def __init__(self, name, numbers):
        self.series = catalogue.Series(name, "vproc", "a1")
        self.samples, self.numbers = [(1.0, 1.0, 0.5, 1)], numbers

    def result(self, folder):
        if self.numbers is None:
            raise measure.Failed("no memory")
        return self.numbers

    def counters(self):
        return 0, 0

    def stop(self):
        pass


def check_late_failures():
    """One that fails at the end is left out, the others are not lost; what differs is said."""
    group = measure.Group(None, 1, 1, None, None, None)
    group.running = [Silent("vproc", [1.0]), Silent("vproc-sync", [1.0]), Silent("c", None),
                     Silent("jax", [2.0])]
    found = measure.finish(group, catalogue.A1, "")
    check("a late failure", [s["name"] for s in found] == ["vproc", "vproc-sync", "jax"]
          and group.left_out == {"c": "no memory"}, str(found))
    check("a wrong result", [s["is_wrong"] for s in found] == [False, False, True], str(found))


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
check_debug()
check_arithmetic()
check_catalogue()
check_bench()
check_stages_of_f()
check_peers()
check_all_peers()
check_peers_without_program()
check_late_failures()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
