# SPDX-License-Identifier: Apache-2.0
"""Times every element-wise row against NumPy, one thread, contiguous operands and a result
that exists already (all on cache lines, as vproc's arrays are), turn and turn about so that
both see the same machine; CPU time, so that neighbours matter less. Prints a table
of nanoseconds per call and the ratio NumPy / vproc; rows below 1.0 are marked with '<'.

    kernels_numpy.py [--lib libvproc_kernels.so] [--isa avx2] [--sizes 10000,1000000]
                     [--types float64,float32,int32] [--rows sin,cos] [--budget 0.01]
"""

import argparse
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "numpy"))
import kernels_lib  # noqa: E402


def aligned(values, dtype):
    """A copy that starts on a cache line, as vproc's own arrays do."""
    dtype = np.dtype(dtype)
    memory = np.empty(values.size * dtype.itemsize + 64, np.uint8)
    skip = -memory.ctypes.data % 64
    copy = memory[skip:skip + values.size * dtype.itemsize].view(dtype)
    copy[:] = values
    return copy


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
    """Best of fifteen turns each."""
    times = max(1, int(budget * 1e9 / 15 / max(ours(1), 100)))
    times_np = max(1, int(budget * 1e9 / 15 / max(theirs(1), 100)))
    best, best_np = 1e30, 1e30
    for _ in range(15):
        best = min(best, ours(times))
        best_np = min(best_np, theirs(times_np))
    return best, best_np


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib")
    parser.add_argument("--isa", default="")
    parser.add_argument("--sizes", default="10000,1000000")
    parser.add_argument("--types", default="float64,float32,int32")
    parser.add_argument("--rows", default="")
    parser.add_argument("--budget", type=float, default=0.01, help="seconds per figure")
    parser.add_argument("--casts", action="store_true", help="conversions instead of rows")
    options = parser.parse_args()
    kernels = kernels_lib.Kernels(kernels_lib.find_library(options.lib), options.isa)
    rng = np.random.default_rng(1)
    sizes = [int(s) for s in options.sizes.split(",")]
    print(f"kernels {kernels.isa}, NumPy {np.__version__}; ns per call, NumPy / vproc")
    slow, all_figures = 0, 0

    def show(label, figures):
        nonlocal slow, all_figures
        text = f"{label:28}"
        for ours, theirs in figures:
            ratio = theirs / ours
            slow += ratio < 1
            all_figures += 1
            text += f" {ours:11.0f} {theirs:11.0f} {ratio:6.2f}{'<' if ratio < 1 else ' '}"
        print(text, flush=True)

    if options.casts:
        for source in kernels_lib.DTYPES:
            for target in kernels_lib.DTYPES:
                if source == target or source.kind == "c" and target.kind != "c":
                    continue
                figures = []
                for n in sizes:
                    x = aligned(rng.integers(0, 2 if source.kind == "b" else 100, n), source)
                    out = aligned(np.zeros(n), target)
                    figures.append(measure(
                        lambda k, x=x, out=out: kernels.time_cast(x, out, k),
                        lambda k, x=x, out=out: per_call(
                            lambda: np.copyto(out, x, casting="unsafe"), k),
                        options.budget))
                show(f"{source} -> {target}", figures)
    else:
        for name in options.types.split(","):
            dtype = np.dtype(name)
            for row in kernels.rows.values():
                if row.reduces or options.rows and row.id not in options.rows.split(","):
                    continue
                types = [np.dtype(bool)] * (row.id == "where") + [dtype] * 3
                found = kernels.types(row, types[:row.arity])
                if not found or found[0][-1] != dtype:
                    continue
                figures = []
                for n in sizes:
                    args = operands(row, dtype, n, rng)
                    out = aligned(np.zeros(n), found[1])
                    call = numpy_call(row, args, out)
                    call()
                    figures.append(measure(
                        lambda k, args=args, out=out: kernels.time(row, args, out, k),
                        lambda k, call=call: per_call(call, k), options.budget))
                show(f"{row.id} {name}", figures)
    print(f"{slow} of {all_figures} figures below 1.0")


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        main()
