#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that must hold, section by section: what `make test` runs.

Each section builds what it needs, runs it, and says how many checks passed, failed and
were skipped. A section that fails does not stop the next one. The last line is the total,
`N passed, N failed`, and the exit status is non-zero when anything failed.

    tests/run_all.py               all sections
    tests/run_all.py plain fuzz    only these

Programs that count for themselves print a line `N passed, N failed[, N skipped]`; any
other program is one check that its exit status decides (0 passed, 77 skipped).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
SKIPPED = 77


class Tally:
    """What the checks of one section, or of all of them, came to."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


class Section:
    """Runs programs for one section and keeps its tally."""

    broken = set()  # build folders that failed: their errors are shown once

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.tally = Tally()

    def run(self, command, timeout=600, env=None):
        """Runs a command to its end; returns its exit status and its output."""
        command = [str(part) for part in command]
        try:
            done = subprocess.run(command, cwd=ROOT, timeout=timeout, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL,
                                  env={**os.environ, **(env or {})},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            return done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            text = late.stdout or b""
            text = text.decode(errors="replace") if isinstance(text, bytes) else text
            return 124, text + f"\nstill running after {timeout} s\n"
        except OSError as error:
            return 127, f"{command[0]}: {error.strerror}\n"

    def record(self, what, status, output):
        """Counts the outcome of one program, and shows its output if it failed."""
        counts = COUNTS.findall(output)
        if counts:
            one = Tally()
            one.passed, one.failed, one.skipped = (int(n or 0) for n in counts[-1])
            if status != 0 and one.failed == 0:
                one.failed = 1
            self.tally.add(one)
            failed = one.failed
        else:
            failed = status not in (0, SKIPPED)
            self.tally.passed += status == 0
            self.tally.skipped += status == SKIPPED
            self.tally.failed += failed
        if failed:
            print(f"  FAIL {what} (exit status {status})")
        elif status == SKIPPED:
            print(f"  skip {what}")
        if failed or status == SKIPPED:
            for line in output.rstrip().splitlines()[-200:]:
                print("    " + line)
        sys.stdout.flush()
        return not failed

    def check(self, what, command, timeout=600, env=None):
        """Runs a command as one check (or as many as it counts itself)."""
        return self.record(what, *self.run(command, timeout, env))

    def left_out(self, why):
        self.tally.skipped += 1
        print(f"  skip {why}")

    def build(self, folder, setup=(), targets=(), compiler=None):
        """Configures a build folder if need be, and builds; a failure counts as one."""
        folder = Path(folder)
        if str(folder) in self.broken:
            return self.record(f"build {folder}", 1, "it failed above\n")
        self.broken.add(str(folder))  # until it is known not to be
        env = {"CC": compiler} if compiler else {}
        status, output = self.run(["tools/configure.sh", folder, *setup], env=env)
        if status != 0:
            return self.record(f"configure {folder}", status, output)
        start = time.monotonic()
        status, output = self.run(
            ["ninja", "-C", folder, "-j", self.options.jobs, *targets], timeout=900)
        if status != 0:
            return self.record(f"build {folder}", status, output)
        self.broken.discard(str(folder))
        seconds = time.monotonic() - start
        if seconds > 1:
            print(f"  built {folder} in {seconds:.0f} s", flush=True)
        return True

    def suite(self, folder, prefix=(), env=None):
        """Runs the C tests of one build folder."""
        tests = Path(folder) / "tests" / "vproc-tests"
        # A test that hangs is named, and the others still run.
        self.check("C tests", [*prefix, tests, "-j", self.options.jobs, "--limit", 400],
                   1500, env)


def introspect(section, what):
    status, output = section.run(
        ["meson", "introspect", section.options.build, "--" + what])
    return json.loads(output) if status == 0 else []


def plain(s):
    """The C tests, as the library is built for users."""
    if s.build(s.options.build):
        s.suite(s.options.build)


def asan(s):
    """The C tests under the address and undefined-behaviour sanitizers."""
    if s.build("build-asan", ["-Db_sanitize=address,undefined", "-Db_lundef=false",
                              "-Dc_args=-fno-sanitize-recover=all"],
               test_programs(), compiler="gcc"):
        s.suite("build-asan", env=sanitizer_env())


def tsan(s):
    """The C tests under the thread sanitizer."""
    if s.build("build-tsan", ["-Db_sanitize=thread", "-Db_lundef=false"],
               test_programs(), compiler="gcc"):
        s.suite("build-tsan", prefix=fixed_addresses(s), env=sanitizer_env())


def test_programs():
    """What a sanitizer build is for; the rest of the tree need not be built again."""
    programs = ["tests/vproc-tests"]
    if (ROOT / "tests" / "fuzz" / "meson.build").exists():
        programs.append("tests/fuzz/vproc-fuzz")
    if (ROOT / "tests" / "fuzz_cache" / "meson.build").exists():
        programs.append("tests/fuzz_cache/vproc-fuzz-cache")
    return programs


def sanitizer_env():
    plugin = ROOT / "build" / "vproc-llvm.so"
    return {
        # The tests that draw at random draw a third as often as sanitizers alone make them.
        "VP_TEST_SLOWDOWN": "3",
        # Sanitizer builds have no compiler plug-in of their own; the plain one does.
        **({"VP_LLVM": str(plugin)} if plugin.exists() else {}),
        # Not detect_stack_use_after_return: gcc 12 puts 64-byte aligned locals on fake frames
        # that are not aligned, and the AVX-512 kernels fault.
        "ASAN_OPTIONS": "abort_on_error=0:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # A forked child may start threads again: that is what the fork tests test.
        "TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0:second_deadlock_stack=1",
    }


def fixed_addresses(s):
    """The thread sanitizer cannot map its shadow where the kernel randomises addresses
    with more bits than it was built for; setarch turns that off where it is allowed."""
    prefix = ["setarch", os.uname().machine, "-R"]
    return prefix if s.run([*prefix, "true"])[0] == 0 else []


def clang(s):
    """Everything compiles with clang too, without a warning, and passes the C tests."""
    if s.build("build-clang", compiler="clang"):
        # The long ones have had their time above.
        s.suite("build-clang", env={"VP_TEST_SLOWDOWN": "4"})


def header(s):
    """vproc.h stands alone: strict C11 and C++, with both compilers, and refuses misuse."""
    strict = ["-Wall", "-Wextra", "-Wshadow", "-pedantic-errors", "-Werror", "-Iinclude", "-c",
              "-o", "/dev/null"]
    c = [["gcc", "-std=c11"], ["clang", "-std=c11"]]
    cpp = [[compiler, f"-std=c++{year}", "-x", "c++"]
           for compiler in ("g++", "clang++") for year in (11, 17)]
    for compiler in c + cpp:
        name = f"{compiler[0]} {compiler[1]}"
        source = "tests/test_header.c" if compiler in c else "tests/test_header.cpp"
        s.check(name, [*compiler, *strict, source])
        s.check(f"{name}: nested instructions",
                [*compiler, *strict, "tests/header_nested.c"], 60)
        right = ";".join(line for line, _, _ in MISUSE)
        s.check(f"{name}: right use", [*compiler, *strict, "-Wno-unused-value",
                                       f"-DLINE={right}", "tests/header_misuse.c"])
    for compiler in c + cpp[::2]:
        for _, line, why in MISUSE:
            status, output = s.run([*compiler, "-w", "-Iinclude", "-fsyntax-only",
                                    f"-DLINE={line}", "tests/header_misuse.c"])
            refused = status != 0 and re.search(why, output)
            s.record(f"{compiler[0]}: no {line}", 0 if refused else 1, output)


NO_OPERAND = "an operand is an array|NULL_is_no_operand"
NO_TYPE = "an element type is wanted here|vp_dtype"
NO_AXIS = "an axis must be an integer"
NO_INDEX = "an index must be an integer"
NO_INTEGER = "an integer is wanted here"
# What is right, what is not and must not compile, and what the compiler has to say of it.
MISUSE = (
    # A fraction is no index and no axis, an address is nothing that an instruction takes.
    ("vp_get(a, size)", "vp_get(a, 1.9)", NO_INDEX),
    ("vp_get(a, thing.narrow)", "vp_get(a, list)", NO_INDEX),
    ("vp_put(a, vp_at(VP_ALL, 2u), 0)", "vp_put(a, vp_at(VP_ALL, 2.0f), 0)", NO_INDEX),
    ("vp_get(a, LETTER_B, vp_gt(a, 0))", "vp_get(a, &a)", NO_INDEX),
    ("vp_get(a, vp_range(1, size))", "vp_get(a, vp_range(0.5, 2))", NO_INTEGER),
    ("vp_get(a, vp_until(thing.wide))", "vp_get(a, vp_until(list))", NO_INTEGER),
    ("vp_zeros(VP_F64, vp_shape(2, size))", "vp_zeros(VP_F64, vp_shape(2.5))", NO_INTEGER),
    ("vp_reshape(a, vp_fshape(-1))", "vp_reshape(a, vp_fshape(&a))", NO_INTEGER),
    ("vp_linspace(VP_F64, 0, 1, 10)", "vp_linspace(VP_F64, 0, 1, 0.1)", NO_INTEGER),
    ("vp_sum(a, 0L)", "vp_sum(a, 0.9L)", NO_AXIS),
    ("vp_cumsum(a, -1)", "vp_cumsum(a, 0.5)", NO_AXIS),
    ("vp_dim(a, size)", "vp_dim(a, VP_EVERY)", NO_AXIS),
    ("vp_concatenate(0, a, a)", "vp_concatenate(a, a)", NO_AXIS),
    # Axes, element types and flags are told apart.
    ("vp_sum(a, VP_EVERY, VP_F32)", "vp_sum(a, VP_F32)", NO_AXIS),
    ("vp_max(a, 1u, VP_AUTO, VP_KEEPDIMS)", "vp_max(a, VP_KEEPDIMS)", NO_AXIS),
    ("vp_mean(a, vp_axes(0, letter))", "vp_mean(a, vp_axes(0, VP_F64))", NO_AXIS),
    ("vp_fft(a, 0, 8)", "vp_fft(a, VP_C64)", NO_AXIS),
    ("vp_sum(a, 1, VP_AUTO, VP_KEEPDIMS)", "vp_sum(a, 1, VP_KEEPDIMS)", NO_TYPE),
    ("vp_sum(a, vp_axes(0, 1))", "vp_sum(a, 0, 1)", NO_TYPE),
    ("vp_std(a, 0, (vp_dtype)letter)", "vp_std(a, 0, letter)", NO_TYPE),
    ("vp_zeros(VP_I8, vp_shape(1))", "vp_zeros(1, vp_shape(1))", NO_TYPE),
    ("vp_cast(a, vp_dtype_of(a))", "vp_cast(a, size)", NO_TYPE),
    ("vp_arange(VP_F64, 0, 10, 1)", "vp_arange(0, 10, 1, VP_F64)", NO_TYPE),
    ("vp_full(VP_F64, vp_shape(1), 1)", "vp_full(VP_READ_ONLY, vp_shape(1), 1)", NO_TYPE),
    ("vp_sum(a, 0, VP_F64, VP_DROPDIMS)", "vp_sum(a, 0, VP_F64, 1)", "vp_keepdims"),
    ("vp_sum(a, 0, VP_F64, VP_KEEPDIMS)", "vp_sum(a, 0, VP_F64, VP_F64)", "vp_keepdims"),
    ("vp_borrow(VP_F64, vp_shape(1), NULL, list, VP_WRITABLE, NULL, NULL)",
     "vp_borrow(VP_F64, vp_shape(1), NULL, list, 1, NULL, NULL)", "vp_access"),
    # What is no array, expression or number is no operand.
    ("vp_add(a, 1)", "vp_add(&a, 1)", NO_OPERAND),
    ("vp_add(a, *list)", "vp_add(a, list)", NO_OPERAND),
    ("vp_add(a, 'c')", 'vp_add(a, "text")', NO_OPERAND),
    ("vp_add(a, thing.narrow)", "vp_add(a, thing)", NO_OPERAND),
    ("vp_add(thing.flag, letter)", "vp_add(a, NULL)", NO_OPERAND),
    ("vp_add(size, thing.wide)", "vp_add(a, misuse)", NO_OPERAND),
    ("vp_add(vp_add(1.0L, 1.0f), vp_operand_of(a))", "vp_add(a, vp_shape(1))", NO_OPERAND),
    ("vp_where(true, (short)1, LETTER_A)", "vp_where(a, 1, &a)", NO_OPERAND),
    ("vp_full(VP_F64, vp_shape(2), 1)", 'vp_full(VP_F64, vp_shape(2), "1")', NO_OPERAND),
    ("vp_stack(0, a, 1)", "vp_stack(0, a, &a)", NO_OPERAND),
    ("vp_sum(vp_sum(a))", "vp_sum(&a)", NO_OPERAND),
    ("vp_set(a, vp_let(*list))", "vp_set(a, list)", NO_OPERAND),
    ("vp_counter(VP_I8, vp_shape(9), size, 1.5)", "vp_counter(VP_I8, vp_shape(9), a, 1)",
     "a number is wanted here"),
    ("vp_keep(a), vp_keep(vp_neg(a))", "vp_keep(1)", "can be kept|vp__keep_any"),
)


def examples(s):
    """Every example runs, and valgrind finds neither errors nor leaks in it."""
    if not s.build(s.options.build):
        return
    valgrind = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full",
                "--show-leak-kinds=definite,indirect",
                "--errors-for-leak-kinds=definite,indirect"]
    listed = [t for t in introspect(s, "tests") if "vproc:examples" in t["suite"]]
    for example in listed:
        s.check(example["name"], example["cmd"], 60)
        s.check(example["name"] + " under valgrind", [*valgrind, *example["cmd"]], 300)
    if not listed:
        s.left_out("no example is listed in examples/meson.build")


def install(s):
    """A program builds against the installed library, through pkg-config."""
    if not s.build(s.options.build):
        return
    root = (ROOT / s.options.build / "installed").resolve()
    shutil.rmtree(root, ignore_errors=True)
    if not s.check("meson install", ["meson", "install", "-C", s.options.build, "--quiet",
                                     "--no-rebuild", "--destdir", root]):
        return
    package = next(root.rglob("vproc.pc"))
    find = ["pkg-config", "--cflags", "--libs", "vproc"]
    env = {"PKG_CONFIG_PATH": str(package.parent), "PKG_CONFIG_SYSROOT_DIR": str(root),
           "LD_LIBRARY_PATH": str(package.parent.parent)}
    for name, compiler, source, static in (
            ("c", ["gcc", "-std=c11"], "tests/test_header.c", False),
            ("c-static", ["gcc", "-std=c11"], "tests/test_header.c", True),
            ("c++", ["g++", "-std=c++17"], "tests/test_header.cpp", False),
            ("c-nested", ["gcc", "-std=c11"], "tests/header_nested.c", False),
            ("c++-nested", ["g++", "-x", "c++"], "tests/header_nested.c", False)):
        status, output = s.run(find + ["--static"] * static, env=env)
        flags = output.split()
        if static:  # take the archive where a shared library stands beside it
            flags = ["-l:libvproc.a" if flag == "-lvproc" else flag for flag in flags]
        if status == 0:
            status, output = s.run([*compiler, source, "-o", root / name, *flags])
        if status == 0:
            status, output = s.run([root / name], 60, env)
        s.record(f"a program against the installed library, {name}", status, output)
    tsan_user(s, root, find, env)


def tsan_user(s, root, find, env):
    """The installed suppressions keep false races from a user's thread sanitizer, and no others."""
    program = root / "tsan-user"
    status, output = s.run(find, env=env)
    if status == 0:
        status, output = s.run(["gcc", "-std=gnu11", "-g", "-pthread", "-fsanitize=thread",
                                "tests/tsan_user.c", "-o", program, *output.split()])
    env["TSAN_OPTIONS"] = f"suppressions={next(root.rglob('vproc.tsan'))}"
    if status == 0:
        status, output = s.run([program], 120, env)
    s.record("a user's program under the thread sanitizer", status, output)
    status, output = s.run([program, "race"], 120, env)
    s.record("a race of its own", not (status != 0 and "data race" in output), output)


def rules(s):
    """Exported symbols, fused multiply-add, orders, licence lines; what pages and tables say."""
    if s.build(s.options.build):
        s.check("exported symbols", ["python3", "tools/check_symbols.py",
                                     Path(s.options.build) / "libvproc.so"])
        s.check("no stray fused multiply-add", ["python3", "tools/check_fma.py",
                                                s.options.build])
    s.check("include order", ["python3", "tools/check_includes.py"])
    s.check("import order", ["python3", "tools/check_imports.py"])
    s.check("file heads", ["python3", "tools/check_files.py"])
    s.check("vproc.h's functions", ["python3", "tools/generate_header.py", "--check"])
    s.check("configuring again", ["python3", "tests/setup/check_configure.py"])
    s.check("docs/add-an-operation.md", ["python3", "tests/docs/check_add_operation.py"], 300)
    s.check("docs/accuracy.md", ["python3", "tools/accuracy_table.py", "--check"])
    s.check("pages", ["python3", "tools/check_docs.py"])


def fuzz(s):
    """Random programs: the net against one instruction at a time; random files; a minute."""
    if not s.build(s.options.build):
        return
    # Half of the time plain, a quarter under each kind of sanitizer where it was built.
    for folder, share, prefix in ((s.options.build, 2, []), ("build-asan", 4, []),
                                  ("build-tsan", 4, fixed_addresses(s))):
        fuzzer = ROOT / folder / "tests" / "fuzz" / "vproc-fuzz"
        seconds = max(1, s.options.fuzz_seconds // share)
        if fuzzer.exists():
            s.check(f"random programs, {folder}",
                    [*prefix, fuzzer, "--seconds", seconds, "--count", 100000],
                    seconds + 120, sanitizer_env())
        else:
            s.left_out(f"no random-program generator in {folder}")
    fuzz_native(s, max(1, s.options.fuzz_seconds // 12))
    fuzz_files(s, max(1, s.options.fuzz_seconds // 20))


def fuzz_native(s, seconds):
    """Random programs that compile whatever they run, and that change stages all the time."""
    fuzzer = ROOT / s.options.build / "tests" / "fuzz" / "vproc-fuzz"
    if not (ROOT / s.options.build / "vproc-llvm.so").exists():
        return s.left_out("no compiler plug-in: random programs run base kernels alone")
    for mode in ("native", "specialised", "mixed"):
        s.check(f"random programs, VP_JIT={mode}",
                [fuzzer, "--seconds", seconds, "--count", 100000, "--threads", "2,4"],
                seconds + 180, {"VP_JIT": mode})


def fuzz_files(s, seconds):
    """Random files for the kernel cache: a plain loop, and libFuzzer where clang has it."""
    part = Path("tests") / "fuzz_cache"
    for folder in (s.options.build, "build-asan"):
        fuzzer = ROOT / folder / part / "vproc-fuzz-cache"
        if fuzzer.exists():
            s.check(f"random files, {folder}", [fuzzer, "--seconds", seconds],
                    seconds + 60, sanitizer_env())
        else:
            s.left_out(f"no fuzzer of the kernel cache in {folder}")
    folder = ROOT / "build-clang" / part
    if not (folder / "libfuzzer-cache").exists():
        return s.left_out("no libFuzzer in build-clang")
    (folder / "corpus").mkdir(exist_ok=True)  # what earlier runs found is where it begins
    s.run([ROOT / s.options.build / part / "vproc-fuzz-cache", "--write-seeds",
           folder / "seeds"])
    s.check("random files, guided by coverage",
            [folder / "libfuzzer-cache", f"-max_total_time={seconds}", "-timeout=10",
             f"-artifact_prefix={folder}/", folder / "corpus", folder / "seeds"],
            seconds + 60)


def numpy(s):
    """The same rows against NumPy: every script of tests/numpy/."""
    scripts = sorted((ROOT / "tests" / "numpy").glob("check_*.py"))
    own = ROOT / s.options.build / "numpy" / "bin" / "python"  # tools/setup_numpy.sh
    is_new = "import numpy; raise SystemExit(int(numpy.__version__.split('.')[0]) < 2)"
    python = next((p for p in ("python3", "/usr/bin/python3", own) if shutil.which(p)
                   and s.run([p, "-c", is_new])[0] == 0), None)
    if not scripts:
        return s.left_out("no scripts in tests/numpy/")
    if not python:
        return s.left_out("NumPy checks left out: there is no NumPy 2")
    if s.build(s.options.build, targets=["all", "shims"]):
        for script in scripts:
            shim = f"libvproc_{script.stem.removeprefix('check_')}.so"
            shim = ROOT / s.options.build / "tests" / shim
            whole = ROOT / s.options.build / "libvproc.so"  # what has no shim is public
            s.check(script.name,
                    [python, script, "--lib", shim if shim.exists() else whole], 300)


def figures(s):
    """The figures of `vproc bench`, from good and malformed files and from a real trace."""
    if s.build(s.options.build):
        s.check("figures", ["python3", "tests/figures/check_figures.py", "--programs",
                            Path(s.options.build) / "experiments"], 120)


def command(s):
    """The command `vproc`: what it shows, what it measures, what it says to mistakes."""
    if s.build(s.options.build):
        s.check("command", ["python3", "tests/command/check_command.py", s.options.build], 300)


def accuracy(s):
    """Math functions against more digits, every instruction set, both modes."""
    if s.build(s.options.build):
        program = ROOT / s.options.build / "tests" / "accuracy" / "vproc-accuracy"
        if program.exists():
            s.check("documented accuracy", [program], 300)
        else:
            s.left_out("accuracy left out: MPFR or MPC is missing")


SECTIONS = [plain, asan, tsan, clang, header, examples, install, rules, fuzz, numpy,
            figures, command, accuracy]


def main():
    names = {section.__name__: section for section in SECTIONS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", metavar="SECTION",
                        help="run only these: " + ", ".join(names))
    parser.add_argument("--build", default="build", help="the plain build's folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--fuzz-seconds", type=int, default=60)
    options = parser.parse_args()
    unknown = set(options.sections) - set(names)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(names)}")

    # Compiled kernels are this run's own, and found by its later parts.
    cache = tempfile.TemporaryDirectory(prefix="vproc-cache-")
    os.environ["VP_CACHE"] = cache.name
    total, start = Tally(), time.monotonic()
    for name in options.sections or names:
        print(f"== {name}: {names[name].__doc__.splitlines()[0]}", flush=True)
        section, section_start = Section(name, options), time.monotonic()
        names[name](section)
        total.add(section.tally)
        print(f"   {section.tally} in {time.monotonic() - section_start:.0f} s", flush=True)
    print(f"All sections took {time.monotonic() - start:.0f} s.")
    print(total)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
