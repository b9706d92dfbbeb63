#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `vproc` as a person uses it: what it shows, what it measures, and what it says
to mistakes. The experiments run for moments only; what is looked at is their form, that every
result is checked, and that every instruction was executed.

    check_command.py BUILD_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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
        (("bench", "--replot", "nothing.json"), "--svg"),
    ]
    for arguments, said in mistakes:
        status, out, err = vproc(*arguments)
        check(f"vproc {' '.join(arguments)}", status == 2 and said in err, err)
    with tempfile.TemporaryDirectory() as folder:
        status, out, err = vproc("bench", "--replot", f"{folder}/nothing.json", "--svg", folder)
        check("a file that is not there", status == 1 and "nothing.json" in err, err)


def check_info():
    status, out, err = vproc("info")
    check("vproc info", status == 0 and "cores" in out and "cost model" in out, out + err)
    status, out, err = vproc("info", "--json")
    facts = json.loads(out)
    check("vproc info --json", facts["cores"] >= 1 and facts["handover_ns"] > 0, out)


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
        wanted = {"vproc", "vproc-sync", "vproc-loop", "vproc-loop-sync", "vproc-base",
                  "vproc-native", "vproc-specialised", "vproc-loop-without-fusion"}
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


check_mistakes()
check_info()
check_kernels()
check_bench()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
