# SPDX-License-Identifier: Apache-2.0
"""Checks the operation table itself against NumPy: types, values and layout promises of
every row and element type, because all other tests take the table as their reference.

    check_kernels.py [--lib libvproc_kernels.so] [--isa baseline,avx2,avx512] [--ulp]

Integers and everything that is not transcendental must agree bit for bit (any NaN is a NaN);
transcendental functions must be within 4 units in the last place of the true value, which
NumPy's long double stands for. --ulp prints the largest error seen per function."""

import argparse
import itertools
import sys
import warnings

import numpy as np

import kernels_lib
from kernels_lib import DTYPES

WEAK = [True, 1, 1.0, 1j]
ULPS = 4

TRANSCENDENTAL = set(
    "power cbrt hypot exp exp2 expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan "
    "arctan2 sinh cosh tanh arcsinh arccosh arctanh".split())

# Complex rows that NumPy computes with fused or reordered arithmetic, or libm: the error is
# counted against the magnitude of the result.
COMPLEX_INEXACT = set("multiply square divide reciprocal abs sign sqrt angle".split())


class Count:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, text):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print("FAIL", text() if callable(text) else text)


def numpy_function(row):
    if row.id == "clip":
        return np._core.umath.clip
    if row.id == "round":
        return np.rint
    return getattr(np, row.np)


def reference(row, args):
    """NumPy's result, on operands that already have the working type."""
    kind = args[-1].dtype.kind
    if row.id == "round" and kind in "iub":
        return args[0].copy()
    if row.id == "power" and kind == "i":
        base, exponent = args
        r = np.power(base, np.maximum(exponent, 0).astype(base.dtype))
        one = np.where(exponent & 1, base, np.ones_like(base))
        small = np.where(base == 1, 1, np.where(base == -1, one, 0)).astype(base.dtype)
        return np.where(exponent < 0, small, r)
    if row.id == "reciprocal" and kind in "iu":
        safe = np.where(args[0] == 0, args[0].dtype.type(2), args[0])
        return np.reciprocal(safe)
    return np.asarray(numpy_function(row)(*args))


def float16_to_32(t):
    return np.dtype(np.float32) if t == np.float16 else t


def check_types(kernels, count):
    """Result types for every combination of types and of Python scalars, which are weak."""
    samples = [(t, np.ones(2, t)) for t in DTYPES]
    weak = list(enumerate(WEAK))
    for row in kernels.rows.values():
        if row.reduces:
            continue
        choices = [samples + weak] * row.arity
        if row.arity == 3:
            some = [samples[i] for i in (0, 1, 4, 7, 8, 9, 11)] + weak[1:3]
            choices = [samples[:1] if row.id == "where" else some, some, some]
        for operands in itertools.product(*choices):
            values = [v for _, v in operands]
            if all(not isinstance(v, np.ndarray) for v in values[row.id == "where":]):
                continue
            try:
                if row.id == "round":
                    want = np.round(*values).dtype
                elif row.id == "clip":
                    want = np._core.umath.clip(*values).dtype
                else:
                    want = np.asarray(getattr(np, row.np)(*values)).dtype
            except TypeError:
                want = None
            found = kernels.types(row, [t for t, _ in operands])
            result = found[1] if found else None
            count.check(result == (float16_to_32(want) if want else None),
                        lambda: f"type of {row.id}"
                                f"{[str(v if isinstance(t, int) else t) for t, v in operands]}"
                                f": {result}, NumPy {want}")
    for row in kernels.rows.values():
        if not row.reduces:
            continue
        for t, x in samples:
            want = np.asarray(getattr(np, row.np)(x)).dtype
            found = kernels.reduce_types(row, t)
            count.check(found is not None and found[1] == want,
                        lambda: f"type of {row.id}({t}): {found}, NumPy {want}")
        if row.id in ("sum", "prod"):
            for (t, _), (w, _) in itertools.product(samples, samples):
                count.check(kernels.reduce_types(row, t, w) == (w, w),
                            lambda: f"type of {row.id}({t}) as {w}")


def specials(dtype):
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        i = np.iinfo(dtype)
        bits = i.bits
        v = [0, 1, 2, 3, 5, 7, i.max, i.max - 1, i.max // 2, i.max // 2 + 1, bits - 1, bits,
             bits + 1, i.min, i.min + 1]
        if dtype.kind == "i":
            v += [-1, -2, -3, -5, -7, -bits]
        return np.array(v, dtype)
    if dtype.kind == "f":
        f = np.finfo(dtype)
        v = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 0.1, 1e-5, 100.0, 1e10, 88.0, 89.5,
             710.0, 745.5,
             f.max, f.tiny, f.smallest_subnormal, f.tiny / 4, f.eps, 1 + f.eps, 1 - f.eps / 2,
             np.pi, np.pi / 2, np.inf, np.nan, 2.0 ** 23, 2.0 ** 31, 2.0 ** 52, 2.0 ** 53 + 2,
             1e22, 1e30, f.max / 3, 127.5, 1023.7, 0.75, 1 / 3]
        v = np.array(v + [-x for x in v], dtype)
        return v
    part = specials(np.dtype("f4" if dtype == np.complex64 else "f8"))
    part = part[[0, 1, 2, 4, 8, 14, 16, 17, 25, 26, len(part) // 2, len(part) // 2 + 2,
                 len(part) // 2 + 4, len(part) // 2 + 25, len(part) // 2 + 16]]
    re, im = np.meshgrid(part, part)
    z = np.empty(re.size, dtype)
    z.real, z.imag = re.ravel(), im.ravel()
    return z


def random_values(dtype, n, rng):
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        i = np.iinfo(dtype)
        wide = rng.integers(i.min, i.max, n, dtype=dtype, endpoint=True)
        near = rng.integers(max(i.min, -20), 20, n).astype(dtype)
        return np.where(rng.random(n) < 0.5, wide, near)
    if dtype.kind == "f":
        e = 30 if dtype == np.float32 else 200
        wide = rng.standard_normal(n) * 10.0 ** rng.uniform(-e, e, n)
        x = np.where(rng.random(n) < 0.3, wide, rng.uniform(-12, 12, n))
        x = np.where(rng.random(n) < 0.2, rng.uniform(-1, 1, n), x)
        return np.where(rng.random(n) < 0.1, np.rint(x), x).astype(dtype)
    real = np.dtype("f4" if dtype == np.complex64 else "f8")
    z = np.empty(n, dtype)
    z.real, z.imag = random_values(real, n, rng), random_values(real, n, rng)
    small = rng.random(n) < 0.7
    z[small] = (rng.uniform(-5, 5, n) + 1j * rng.uniform(-5, 5, n))[small].astype(dtype)
    return z


def operands(row, dtype, rng, n=4000):
    s = specials(dtype)
    if row.arity == 1:
        return [np.concatenate([s, random_values(dtype, n, rng)])]
    if row.arity == 2:
        if dtype.kind == "c":
            s = s[rng.permutation(s.size)[:60]]
        x, y = (v.ravel() for v in np.meshgrid(s, s))
        args = [np.concatenate([x, random_values(dtype, n, rng)]),
                np.concatenate([y, random_values(dtype, n, rng)])]
        same = rng.random(args[0].size) < 0.05
        args[1] = np.where(same, args[0], args[1])
        return args
    s = s[rng.permutation(s.size)[:22]]
    grid = [v.ravel() for v in np.meshgrid(s, s, s)]
    args = [np.concatenate([v, random_values(dtype, n, rng)]) for v in grid]
    if row.id == "where":
        args[0] = rng.random(args[0].size) < 0.5
    return args


def same_bits(x, y):
    """Equal in every bit, except that a NaN is a NaN."""
    if x.dtype.kind == "c":
        part = x.real.dtype
        return same_bits(x.view(part), y.view(part)).reshape(-1, 2).all(1)
    if x.dtype.kind == "f":
        return ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))
    return x == y


def true_value(row, args):
    """The function in long double, or for float32 in double, which is as good."""
    wide = {"f4": "f8", "f8": "g", "c8": "c16", "c16": "G"}[args[0].dtype.str[1:]]
    args = [a.astype(wide) for a in args]
    true = np.asarray(numpy_function(row)(*args))
    if row.id == "log1p" and wide in ("c16", "G"):
        # NumPy's 1 + z loses all of a small z, in any precision.
        x, y = args[0].real, args[0].imag
        small = (np.abs(x) < 0.5) & (np.abs(y) < 0.5)
        with np.errstate(all="ignore"):
            true.real[small] = (np.log1p(x * (2 + x) + y * y) / 2)[small]
    return true


def ulp_errors(out, true):
    """Distance in units of the last place of the rounded true value. An infinity or NaN in
    either is an error of 0 if both agree, else infinite; a result that overflowed although
    the true value is within half a unit of the largest number counts as 0 too."""
    dtype = out.dtype
    f = np.finfo(dtype)
    rounded = true.astype(dtype)
    ulp = np.spacing(np.maximum(np.abs(rounded), f.tiny)).astype(true.dtype)
    error = np.abs(out.astype(true.dtype) - true) / ulp
    odd = ~np.isfinite(out) | ~np.isfinite(rounded)
    agree = (out == rounded) | (np.isnan(out) & np.isnan(rounded))
    big = np.isfinite(true) & (np.abs(true) > f.max * (1 - 4 * f.eps)) & ~np.isnan(out) & \
        (np.abs(out) >= f.max * (1 - 4 * f.eps)) & (np.sign(out) == np.sign(true))
    return np.where(odd | big, np.where(agree | big, 0, np.inf), error)


def complex_errors(out, want, true):
    """As ulp_errors, against the larger component, where all is finite and far from the
    ends of the range; the distance from NumPy's result counts if that is smaller, because
    its formulas lose digits where ours, which are the same, do."""
    f = np.finfo(out.dtype)
    fine = np.isfinite(want) & np.isfinite(true)
    errors = []
    for goal in (true, want.astype(true.dtype)):
        size = np.maximum(np.abs(goal.real), np.abs(goal.imag))
        fine &= (size < f.max / 16) & (size > f.tiny * 16)
        ulp = np.spacing(np.where(fine, size, 1).astype(out.real.dtype))
        errors.append(np.maximum(np.abs(out.real - goal.real),
                                 np.abs(out.imag - goal.imag)) / ulp)
    return np.where(fine, np.minimum(*errors), 0)


def keeps_digits(want, true):
    """Where NumPy's complex result agrees with its own in more precision. Elsewhere it lost
    digits or overflowed on the way; tests/accuracy has better references for those."""
    f = np.finfo(want.dtype)
    known = np.isfinite(want) & np.isfinite(true)
    with np.errstate(all="ignore"):
        off = np.abs(want - true) <= 64 * f.eps * np.maximum(np.abs(true), f.tiny)
        over = np.abs(true) > f.max / 16
    return np.where(known, off, (np.isfinite(want) == np.isfinite(true)) | over)


def show(row, dtype, bad, args, out, want):
    i = int(np.flatnonzero(bad)[0])
    return (f"{row.id} {dtype}: {int(bad.sum())} of {bad.size} wrong, first "
            f"{tuple(a[i] for a in args)} -> {out[i]!r}, NumPy {want[i]!r}")


def check_row(kernels, row, dtype, rng, count, worst):
    types = [np.dtype(bool)] * (row.id == "where") + [dtype] * 3
    found = kernels.types(row, types[:row.arity])
    if not found or found[0][-1] != dtype:
        return
    args = operands(row, dtype, rng)
    out = np.empty(args[0].size, found[1])
    if not kernels.run(row, args, out):
        count.check(False, f"{row.id} {dtype}: no kernel")
        return
    want = reference(row, args)
    if row.id == "reciprocal" and dtype.kind in "iu":
        want = np.where(args[0] == 0, 0, want).astype(dtype)
    count.check(want.dtype == out.dtype,
                f"{row.id} {dtype}: result type {out.dtype}, NumPy {want.dtype}")
    inexact = row.id in TRANSCENDENTAL or dtype.kind == "c" and row.id in COMPLEX_INEXACT
    if dtype.kind in "fc" and inexact:
        true = true_value(row, args)
        if dtype.kind == "f":
            error = ulp_errors(out, true)
            zeros = (want == 0) & (out == 0)
            bad = (error > ULPS) | (zeros & (np.signbit(want) != np.signbit(out)))
        else:
            error = complex_errors(out, want, true)
            near = np.abs(true) > np.finfo(dtype).max / 16
            bad = (error > 2 * ULPS) | (~near & (np.isfinite(out) != np.isfinite(want)))
            bad &= keeps_digits(want, true)
            if row.id == "power":  # NumPy multiplies infinities by 1 + 0j; see check_powers
                whole = (args[1].imag == 0) & (args[1].real == np.rint(args[1].real))
                bad &= np.isfinite(args[0]) | ~whole
        key = (row.id, str(dtype))
        finite = error[np.isfinite(error)]
        worst[key] = max(worst.get(key, 0), float(finite.max()))
    else:
        bad = ~same_bits(out, want.astype(out.dtype))
        if row.id == "clip" and dtype.kind == "c":
            # A bound that is NaN gives NaN; NumPy orders it by its real part if it can.
            bad &= ~(np.isnan(args[1]) | np.isnan(args[2]))
    count.check(not bad.any(), lambda: show(row, dtype, bad, args, out, want))
    check_layout(kernels, row, args, out, count)


def check_layout(kernels, row, args, out, count):
    """An element's bits do not depend on where it stands or on what stands beside it, the
    result may be an operand, and nothing beyond the last element is touched."""
    raw = f"V{out.dtype.itemsize}"
    n = out.size
    for start, size in ((0, 1), (1, 2), (3, 7), (5, 31), (11, 65), (2, 130), (n - 9, 9)):
        size = min(size, n - start)
        guard = np.frombuffer(bytes([0xA5]) * ((size + 64) * out.itemsize), out.dtype).copy()
        part = [a[start:start + size].copy() for a in args]
        kernels.run(row, part, guard[:size])
        same = (guard[:size].view(raw) == out[start:start + size].view(raw)).all()
        rest = guard[size:].tobytes() == bytes([0xA5]) * (64 * out.itemsize)
        count.check(same and rest, f"{row.id} {args[-1].dtype}: depends on position, or "
                                   f"writes too much (start {start}, size {size})")
    for i, a in enumerate(args):
        if a.dtype.itemsize != out.dtype.itemsize:
            continue
        copy = [x.copy() for x in args]
        kernels.run(row, copy, copy[i].view(out.dtype))
        same = (copy[i].view(raw) == out.view(raw)).all()
        count.check(same, f"{row.id} {args[-1].dtype}: wrong in place of operand {i}")


def check_powers(kernels, count):
    """Infinite bases to small whole powers: those that NumPy multiplies out from the first
    factor on, and -1, which is the reciprocal."""
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    row = kernels.rows["power"]
    for dtype, power in itertools.product((np.complex64, np.complex128), (1, 2, 3, -1)):
        x = np.array([complex(*z) for z in itertools.product(parts, parts)], dtype)
        x = x[~np.isfinite(x)]
        out = np.empty(x.size, dtype)
        kernels.run(row, [x, np.full(x.size, power, dtype)], out)
        want = np.power(x, dtype(power)) if power > 0 else np.reciprocal(x)
        bad = ~same_bits(out, want)
        count.check(not bad.any(), lambda: show(row, dtype.__name__, bad, [x], out, want) +
                    f", to the power {power}")


def check_casts(kernels, rng, count):
    for source, target in itertools.product(DTYPES, DTYPES):
        x = np.concatenate([specials(source), random_values(source, 3000, rng)])
        out = np.empty(x.size, target)
        kernels.cast(x, out)
        want = x.astype(target)
        check = np.ones(x.size, bool)
        if source.kind in "fc" and target.kind in "iu":
            # Beyond the range of a 64-bit integer NumPy itself differs from CPU to CPU.
            real = x.real if source.kind == "c" else x
            i = np.iinfo(target)
            low, high = (-2.0 ** 31, 2.0 ** 31) if i.bits < 32 else (float(i.min), float(i.max))
            check = (real > low - 1) & (real < high)
        bad = check & ~same_bits(out, want)
        count.check(not bad.any(), lambda: f"cast {source} to {target}: " + repr(
            [(x[i], out[i], want[i]) for i in np.flatnonzero(bad)[:3]]))
        for start, size in ((0, 1), (3, 7), (5, 31), (2, 130), (x.size - 9, 9)):
            part = np.empty(size, target)
            kernels.cast(x[start:start + size].copy(), part)
            count.check(part.tobytes() == out[start:start + size].tobytes(),
                        f"cast {source} to {target}: depends on position")


def check_moves(kernels, rng, count):
    for log2 in range(5):
        size = 1 << log2
        for n, step in itertools.product((0, 1, 5, 64, 333), (1, 0, -1, 2, 3, -2, 7)):
            span = max(1, n * abs(step))
            memory = rng.integers(0, 256, span * size, dtype=np.uint8)
            raw = memory.view(f"V{size}")
            first = (n - 1) * -step if step < 0 and n else 0
            index = first + step * np.arange(n)
            out = np.zeros(n * size, np.uint8)
            kernels.move(0, log2, out.ctypes.data, memory.ctypes.data + first * size,
                         step * size, n)
            count.check(out.tobytes() == raw[index].tobytes(), f"gather {size} {n} {step}")
            if step != 0:
                values = rng.integers(0, 256, n * size, dtype=np.uint8)
                want = raw.copy()
                want[index] = values.view(f"V{size}")
                kernels.move(1, log2, memory.ctypes.data + first * size, values.ctypes.data,
                             step * size, n)
                count.check(memory.tobytes() == want.tobytes(), f"scatter {size} {n} {step}")
        for n in (0, 1, 3, 100):
            element = rng.integers(0, 256, size, dtype=np.uint8)
            out = np.zeros((n + 1) * size, np.uint8)
            kernels.move(2, log2, out.ctypes.data, element.ctypes.data, 0, n)
            count.check(out.tobytes() == element.tobytes() * n + bytes(size),
                        f"fill {size} {n}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib")
    parser.add_argument("--isa", default="baseline,avx2,avx512")
    parser.add_argument("--rows", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ulp", action="store_true")
    options = parser.parse_args()
    path = kernels_lib.find_library(options.lib)
    count = Count()
    check_types(kernels_lib.Kernels(path), count)
    for isa in options.isa.split(","):
        kernels = kernels_lib.Kernels(path, isa)
        if not kernels.isa:
            print(f"{isa}: this CPU cannot run it")
            continue
        rng = np.random.default_rng(options.seed)
        worst = {}
        for row in kernels.rows.values():
            if row.reduces or options.rows and row.id not in options.rows.split(","):
                continue
            for dtype in DTYPES:
                check_row(kernels, row, dtype, rng, count, worst)
        if not options.rows:
            check_powers(kernels, count)
        check_casts(kernels, rng, count)
        check_moves(kernels, rng, count)
        if options.ulp:
            for (name, dtype), error in worst.items():
                print(f"{isa:9}{name:14}{dtype:12}{error:8.2f} ulp")
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        sys.exit(main())
