# SPDX-License-Identifier: Apache-2.0
"""Times every instruction against NumPy on one thread, turn and turn about so that both see
the same machine; CPU time, so that neighbours matter less. Prints nanoseconds per call,
the best of fifteen turns each, and NumPy's time over vproc's, of the best and of the median
turns; then the rows whose better ratio is below 1. Those are measured again, alone and in
fresh processes: where libraries happen to lie in memory makes some calls slower, of either
side, by up to a factor of four in one process of fifty. (Where that slowed NumPy down, nothing
is measured again.)

    ninja -C build table
    kernels_numpy.py [--sizes 10000,1000000] [--types float64,float32,int32]
                     [--rows sin,sort] [--isa avx2] [--budget 0.01]
                     [--all-casts] [--lib libvproc_kernels.so] [--again 5]

Element-wise rows and conversions are the base kernels on operands and results that exist
already, all on cache lines, as vproc's arrays are; NumPy gets out=. The other instructions
are issued and waited for as a program would, and NumPy makes its result too; for reductions
there is also the base kernel alone, without issuing it. A matrix has as many elements as
the size says: sides of 100 and 1000.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "VP_THREADS"):
    os.environ[variable] = "1"  # read when NumPy and vproc are loaded

import numpy as np  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "numpy"))
import kernels_lib  # noqa: E402
from aligned import aligned  # noqa: E402


def operands(row, dtype, n, rng):
    """Values in the row's domain, nothing special among them."""
    if dtype.kind in "iu":
        x = rng.integers(1, 100, n).astype(dtype)
        if dtype.kind == "i" and not row.id.endswith("shift"):
            x[::3] = -x[::3]
        y = rng.integers(1, 8 if row.id in ("power", "left_shift", "right_shift") else 100, n)
        z = rng.integers(50, 100, n)
        if row.id == "clip":
            y = rng.integers(-50, 0, n) if dtype.kind == "i" else y // 4
    else:
        x = rng.uniform(-10, 10, n)
        y = rng.uniform(1, 3, n)
        z = rng.uniform(5, 8, n)
        if row.id.startswith("log") or row.id in ("sqrt", "power"):
            x = abs(x) + 0.1
        if row.id == "arccosh":
            x = abs(x) + 1
        if row.id in ("arcsin", "arccos", "arctanh"):
            x = x / 10.5
        if row.id == "clip":
            y = -z
    if row.id in ("equal", "not_equal"):
        y = np.where(rng.random(n) < 0.5, x, y)
    if row.id == "where":
        return [aligned(rng.random(n) < 0.5, bool), aligned(x, dtype), aligned(y, dtype)]
    return [aligned(v, dtype) for v in (x, y, z)[:row.arity]]


def numpy_call(row, args, out):
    """A function without arguments that does in NumPy what the row does, or None."""
    if row.id in ("real", "imag", "angle", "positive"):
        # Views or compositions in NumPy: timed as the plain copy or call they amount to.
        if row.id == "angle":
            zero = args[0].dtype.type(0)
            return lambda: np.arctan2(zero, args[0], out=out)
        if row.id == "imag":
            return lambda: out.fill(0)
        return lambda: np.copyto(out, args[0])
    if row.id == "where":
        def choose():
            np.copyto(out, args[2])
            np.copyto(out, args[1], where=args[0])
        whole = np.where

        def fresh():
            whole(*args)
        return fresh if args[1].nbytes <= 1 << 20 else choose
    if row.id == "round":
        return lambda: np.round(args[0], out=out)
    if row.id == "clip":
        return lambda: np._core.umath.clip(*args, out=out)
    function = getattr(np, row.np)
    return lambda: function(*args, out=out)


def per_call(call, times):
    start = time.thread_time_ns()
    for _ in range(times):
        call()
    return (time.thread_time_ns() - start) / times


def measure(ours, theirs, budget):
    """Fifteen turns each: (best, median) of either."""
    times = max(1, int(budget * 1e9 / 15 / max(ours(1), 100)))
    times_np = max(1, int(budget * 1e9 / 15 / max(theirs(1), 100)))
    turns, turns_np = [], []
    for _ in range(15):
        turns.append(ours(times))
        turns_np.append(theirs(times_np))
    return ((min(turns), statistics.median(turns)),
            (min(turns_np), statistics.median(turns_np)))


# The instructions that are not element-wise, by NumPy's way to say them: x is the operand,
# y the other factor or the positions.
OTHERS = {
    "sum": lambda x, y: x.sum(),
    "prod": lambda x, y: x.prod(),
    "min": lambda x, y: x.min(),
    "max": lambda x, y: x.max(),
    "any": lambda x, y: x.any(),
    "all": lambda x, y: x.all(),
    "argmin": lambda x, y: x.argmin(),
    "argmax": lambda x, y: x.argmax(),
    "count_nonzero": lambda x, y: np.count_nonzero(x),
    "mean": lambda x, y: x.mean(),
    "var": lambda x, y: x.var(),
    "std": lambda x, y: x.std(),
    "cumsum": lambda x, y: x.cumsum(),
    "cumprod": lambda x, y: x.cumprod(),
    "sort": lambda x, y: np.sort(x),
    "argsort": lambda x, y: np.argsort(x, kind="stable"),
    "take": lambda x, y: x.take(y),
    "find": lambda x, y: np.flatnonzero(x),
    "nonzero": lambda x, y: np.nonzero(x),
    "matmul": lambda x, y: x @ y,
}


def other_operands(name, dtype, n, rng):
    if dtype.kind in "iu":
        x = rng.integers(-1000000, 1000000, n)
    else:
        x = rng.standard_normal(n)
    if name in ("prod", "cumprod"):
        x = rng.choice([-1, 1], n) if dtype.kind in "iu" else rng.uniform(0.999, 1.001, n)
    if name in ("any", "all"):  # the last element decides
        x = np.full(n, name == "all")
        x[-1] = name == "any"
    if name in ("find", "nonzero", "count_nonzero"):
        x = np.where(rng.random(n) < 0.5, x, 0)
    x, y = aligned(x, dtype), None
    if name == "take":
        y = aligned(rng.integers(0, n, n), np.int64)
    if name == "matmul":
        y = aligned(rng.standard_normal(n) * 10, dtype)
    return x, y


class Table:
    """libvproc_table.so."""

    def __init__(self, folder):
        found = sorted(pathlib.Path(folder).glob("**/libvproc_table.so"))
        if not found:
            sys.exit("libvproc_table.so was not found; `ninja -C build table` makes it")
        self.run = ctypes.CDLL(str(found[0])).table_time
        self.run.restype = ctypes.c_double

    def time(self, name, x, y, times):
        side = int(round(x.size ** 0.5))
        ns = self.run(name.encode(), kernels_lib.CODE[x.dtype],
                      ctypes.c_void_p(x.ctypes.data),
                      ctypes.c_void_p(None if y is None else y.ctypes.data),
                      ctypes.c_int64(x.size), ctypes.c_int64(side), ctypes.c_int64(times))
        if ns < 0:
            sys.exit(f"{name} of {x.dtype} failed")
        return ns

    def figures(self, name, dtype, n, rng, budget):
        x, y = other_operands(name, dtype, n, rng)
        shape = (int(round(n ** 0.5)),) * 2 if name in ("matmul", "nonzero") else (n,)
        left = x.reshape(shape)
        right = y.reshape(shape) if name == "matmul" else y
        function = OTHERS[name]
        return measure(lambda k: self.time(name, x, y, k),
                       lambda k: per_call(lambda: function(left, right), k), budget)


class Report:
    """Prints figures as they come and remembers the ratios."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.ratios = []
        print(f"{'':30}" + "".join(f"{f'{n} elements':>23}{'best':>8}{'median':>8}"
                                   for n in sizes))

    def show(self, label, figures):
        text = f"{label:30}"
        for n, (ours, theirs) in zip(self.sizes, figures):
            best, median = (t / o for o, t in zip(ours, theirs))
            self.ratios.append((max(best, median), best, median, label, n))
            text += (f" {ours[0]:11.0f}{theirs[0]:11.0f}{best:8.2f}{median:7.2f}"
                     f"{'<' if max(best, median) < 1 else ' '}")
        print(text, flush=True)

    def end(self, measure_again, times):
        slow = sorted(r for r in self.ratios if r[0] < 1)
        print(f"\n{len(slow)} of {len(self.ratios)} figures below 1.00, "
              f"{sum(r[0] < 0.95 for r in slow)} below 0.95")
        still = 0
        for _, best, median, label, n in slow:
            ratios = [measure_again(label, n) for _ in range(times)]
            below = times > 0 and statistics.median(ratios) < 1
            still += below
            again = "".join(f"{r:6.2f}" for r in ratios)
            print(f"  {label:30} {n:9} {best:6.2f} {median:6.2f}   again{again}"
                  f"{' <' if below else ''}", flush=True)
        if slow and times:
            print(f"{still} of {len(self.ratios)} below 1.00 in most of {times} more processes")


def again_in_a_process(options):
    """A function that gives a figure's better ratio, measured by a process of its own."""
    def measure_again(label, n):
        command = [sys.executable, __file__, "--only", label, "--sizes", str(n),
                   "--types", options.types, "--rows", options.rows, "--isa", options.isa,
                   "--budget", str(options.budget)]
        command += ["--lib", options.lib] if options.lib else []
        command += ["--all-casts"] if options.all_casts else []
        text = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
        return float(text.split()[-1])
    return measure_again


def cast_figures(kernels, source, target, n, rng, budget):
    x = aligned(rng.integers(0, 2 if source.kind == "b" else 100, n), source)
    out = aligned(np.zeros(n), target)
    return measure(lambda k: kernels.time_cast(x, out, k),
                   lambda k: per_call(lambda: np.copyto(out, x, casting="unsafe"), k),
                   budget)


def row_figures(kernels, row, dtype, result, n, rng, budget):
    args = operands(row, dtype, n, rng)
    out = aligned(np.zeros(n), result)
    call = numpy_call(row, args, out)
    call()
    return measure(lambda k: kernels.time(row, args, out, k),
                   lambda k: per_call(call, k), budget)


def reduce_figures(kernels, row, dtype, n, rng, budget):
    x, _ = other_operands(row.id, dtype, n, rng)
    out, function = np.zeros(4), OTHERS[row.id]
    return measure(lambda k: kernels.time_reduce(row, x, out, k),
                   lambda k: per_call(lambda: function(x, None), k), budget)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--lib")
    parser.add_argument("--isa", default="")
    parser.add_argument("--sizes", default="10000,1000000")
    parser.add_argument("--types", default="float64,float32,int32")
    parser.add_argument("--rows", default="")
    parser.add_argument("--budget", type=float, default=0.01, help="seconds per figure")
    parser.add_argument("--all-casts", action="store_true",
                        help="conversions between all types, and nothing else")
    parser.add_argument("--again", type=int, default=5,
                        help="processes that measure once more what was below 1")
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)  # one figure's ratio
    options = parser.parse_args()
    path = kernels_lib.find_library(options.lib)
    if options.isa:
        os.environ["VP_ISA"] = options.isa
    kernels = kernels_lib.Kernels(path, options.isa)
    sizes = [int(s) for s in options.sizes.split(",")]
    types = [np.dtype(t) for t in options.types.split(",")]
    rng = np.random.default_rng(1)
    print(f"kernels {kernels.isa}, NumPy {np.__version__}, one thread; ns per call of vproc "
          "and NumPy, and NumPy / vproc")
    report = Report(sizes)

    def wanted(name):
        return not options.rows or name in options.rows.split(",")

    def show(label, figures):
        if options.only in ("", label):
            report.show(label, [figures(n) for n in sizes])

    if options.all_casts:
        types = kernels_lib.DTYPES
    for dtype in types:
        for row in kernels.rows.values():
            if not wanted(row.id) or options.all_casts:
                continue
            if row.reduces:
                if kernels.reduce_types(row, dtype)[0] == dtype:
                    show(f"{row.id} {dtype}, kernel", lambda n: reduce_figures(
                        kernels, row, dtype, n, rng, options.budget))
                continue
            operand_types = [np.dtype(bool)] * (row.id == "where") + [dtype] * 3
            found = kernels.types(row, operand_types[:row.arity])
            if found and found[0][-1] == dtype:
                show(f"{row.id} {dtype}", lambda n: row_figures(
                    kernels, row, dtype, found[1], n, rng, options.budget))
        for target in types:
            if target != dtype and wanted("cast") and (dtype.kind != "c" or target.kind == "c"):
                show(f"{dtype} to {target}", lambda n: cast_figures(
                    kernels, dtype, target, n, rng, options.budget))
        if options.all_casts or not any(wanted(name) for name in OTHERS):
            continue
        table = Table(pathlib.Path(path).parents[1])
        for name in OTHERS:
            if wanted(name):
                show(f"{name} {dtype}", lambda n: table.figures(
                    name, dtype, n, rng, options.budget))
    if options.only:
        print(report.ratios[0][0])
    else:
        report.end(again_in_a_process(options), options.again)


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
