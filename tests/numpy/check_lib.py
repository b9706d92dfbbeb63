# SPDX-License-Identifier: Apache-2.0
"""Checks every row of the table of library operations against the NumPy function that it
names, on random arrays of every element type and layout. What a family of rows has in common
is a method here, named like the family; a row of a family without one is a failure.

    check_lib.py [--lib libvproc_lib.so] [--rounds 300] [--seed 1]

Everything but complex running products, floating matrix products and Fourier transforms
must agree bit for bit (any NaN is a NaN, and sort may order the two zeros)."""

import argparse
import collections
import ctypes
import operator
import pathlib
import re
import sys
import warnings

import numpy as np

DTYPES = [np.dtype(t) for t in (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float32 float64 complex64 complex128").split()]
CODE = {t: i for i, t in enumerate(DTYPES)}


ROOT = pathlib.Path(__file__).resolve().parents[2]

Row = collections.namedtuple("Row", "number id family rule result numpy")


def read_rows():
    """The rows of the table."""
    text = (ROOT / "src" / "lib" / "lib.def").read_text()
    rows = []
    for kind, columns in re.findall(r"^VP_(LIB|ALONG|FOURIER)\(((?:\w+, ).*?)\)$", text,
                                    re.M | re.S):
        names = [c.strip() for c in columns.split(",")]
        numpy_name = re.search(r'"([^"]*)"', columns)[1]
        family = names[1] if kind == "LIB" else kind.lower()
        rule, result = names[3:5] if kind == "LIB" else names[1:3]
        rows.append(Row(len(rows), names[0], family, rule, result, numpy_name))
    return rows


def numpy_function(row):
    return operator.attrgetter(row.numpy)(np)


# How NumPy is told what a row does without being told.
ALSO = {"sort": {"kind": "stable"}, "argsort": {"kind": "stable"}}


class View(ctypes.Structure):
    """vp__view of a NumPy array, which it keeps alive."""
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_int)]

    @classmethod
    def of(cls, array):
        numbers = ctypes.c_int64 * max(array.ndim, 1)
        # An empty array's strides mean nothing in NumPy; here 0 means repeated elements.
        strides = array.strides if array.size else [array.itemsize] * array.ndim
        view = cls(array.ctypes.data, numbers(*array.shape), numbers(*strides),
                   array.ndim, CODE[array.dtype])
        view.array = array
        return view


class Fancy(ctypes.Structure):
    """vp__fancy."""
    _fields_ = [("nindex", ctypes.c_int), ("index", ctypes.POINTER(View)),
                ("axis", ctypes.POINTER(ctypes.c_int)), ("at", ctypes.c_int)]


class Checker:
    def __init__(self, path, seed):
        self.lib = ctypes.CDLL(path)
        self.lib.shim_count_true.restype = ctypes.c_int64
        self.lib.shim_gather.restype = self.lib.shim_scatter.restype = ctypes.c_bool
        self.lib.shim_fft.restype = ctypes.c_bool
        self.random = np.random.default_rng(seed)
        self.rows = read_rows()
        self.failed = self.passed = 0

    def row(self, name):
        return next(row for row in self.rows if row.id == name)

    def check(self, ok, text):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("FAIL", text)

    def same(self, got, expected, text, tolerance=0.0):
        if tolerance:
            ok = np.allclose(got, expected, tolerance, tolerance, equal_nan=True)
        else:
            ok = np.array_equal(got, expected, equal_nan=got.dtype.kind in "fc")
        self.check(ok and got.shape == expected.shape, text)

    def parts(self):
        return ctypes.c_int64(int(self.random.integers(1, 6)))

    def values(self, dtype, shape):
        r = self.random
        if dtype.kind == "b":
            return r.integers(0, 2, shape).astype(dtype)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            x = r.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
            return x if r.random() < 0.5 else (x % 7).astype(dtype)
        x = r.standard_normal(shape)
        if dtype.kind == "c":
            x = x + 1j * r.standard_normal(shape)
            x = np.where(r.random(shape) < 0.1, complex(np.nan, 1), x)
            x = np.where(r.random(shape) < 0.1, complex(1, np.nan), x)
        for special in (0.0, -0.0, np.nan, np.inf, -np.inf, 1.0):
            x = np.where(r.random(shape) < 0.03, special, x)
        return x.astype(dtype)

    def laid_out(self, array):
        """The same values in some other layout."""
        array = np.asarray(array)
        order = self.random.permutation(array.ndim)
        room = [n * int(self.random.integers(1, 3)) for n in array.shape]
        big = np.zeros([room[i] for i in order], array.dtype).transpose(np.argsort(order))
        steps = [slice(None, n * (m // n) if n else 0, m // n if n else 1)
                 for n, m in zip(array.shape, room)]
        view = big[tuple(steps)] if steps else big
        for axis in range(array.ndim):
            if self.random.random() < 0.3:
                view = np.flip(view, axis)
        view[...] = array
        return view

    def shape(self, least=0):
        ndim = int(self.random.integers(least, 5))
        most = (0, 400, 40, 12, 6)[ndim]
        dims = self.random.integers(min(least, 1), most + 1, ndim)
        return tuple(int(n) for n in dims)

    def array(self, dtype, shape):
        return self.laid_out(self.values(dtype, shape))

    def empty(self, dtype, shape):
        return self.laid_out(np.zeros(shape, dtype))

    def check_rows(self, dtype):
        """Every row that has a counterpart in NumPy; those without are not operations of the
        interface, but parts of some that other checks see."""
        for row in self.rows:
            if row.numpy:
                getattr(self, row.family)(row, dtype)

    def copy(self, row, dtype):
        x = self.array(dtype, self.shape())
        out = self.empty(dtype, x.shape)
        self.lib.shim_copy(ctypes.byref(View.of(out)), ctypes.byref(View.of(x)),
                           self.parts())
        self.same(out, numpy_function(row)(x), f"{row.id} {dtype} {x.shape}")

    def join(self, row, dtype):
        """Their shapes are the interface's, which check_api.py compares."""

    def along(self, row, dtype):
        """In the operand's own type also where the row's rule has a wider one: the function
        works with that, and NumPy is told so."""
        x = self.array(dtype, self.shape(1))
        axis = int(self.random.integers(x.ndim))
        out = self.empty(np.dtype("int64") if row.result == "INDEX" else dtype, x.shape)
        self.lib.shim_along(row.number, ctypes.byref(View.of(out)), ctypes.byref(View.of(x)),
                            axis, self.parts())
        also = {"dtype": dtype} if row.rule == "SUM" else ALSO.get(row.id, {})
        expected = numpy_function(row)(x, axis, **also)
        text = f"{row.id} {dtype} {x.shape} axis {axis}"
        if row.id == "cumprod" and dtype.kind == "c":
            # NumPy may fuse; what is finite is compared.
            keep = np.isfinite(out) & np.isfinite(expected)
            scale = 1e-4 if dtype == np.complex64 else 1e-12
            self.same(np.where(keep, out, 0), np.where(keep, expected, 0), text, scale)
        else:
            self.same(out, expected, text)

    def find(self, row, dtype):
        mask = self.laid_out(self.random.random(self.shape()) < self.random.random())
        view = View.of(mask)
        count = self.lib.shim_count_true(ctypes.byref(view))
        self.check(count == np.count_nonzero(mask), f"count {mask.shape}")
        flat = row.id == "find"
        if not flat and not mask.ndim:
            return
        found = np.full((count + 1,) if flat else (count + 1, mask.ndim), -7)
        self.lib.shim_list_true(ctypes.c_void_p(found.ctypes.data), ctypes.byref(view), flat)
        self.same(found[:-1], numpy_function(row)(mask), f"{row.id} {mask.shape}")
        self.check((found[-1] == -7).all(), f"{row.id} wrote too far")

    def masked(self, dtype):
        """An array, and a mask of its shape."""
        base = self.array(dtype, self.shape())
        return base, self.laid_out(self.random.random(base.shape) < self.random.random())

    def mask_get(self, row, dtype):
        base, mask = self.masked(dtype)
        out = np.zeros(np.count_nonzero(mask), dtype)
        self.lib.shim_mask_get(ctypes.c_void_p(out.ctypes.data), ctypes.byref(View.of(base)),
                               ctypes.byref(View.of(mask)))
        self.same(out, numpy_function(row)(mask, base), f"{row.id} {dtype} {base.shape}")

    def mask_put(self, row, dtype):
        base, mask = self.masked(dtype)
        new, expected = self.array(dtype, (np.count_nonzero(mask),)), base.copy("C")
        if new.size:
            numpy_function(row)(expected, mask, new)
        self.lib.shim_mask_put(ctypes.byref(View.of(base)), ctypes.byref(View.of(mask)),
                               ctypes.byref(View.of(new)))
        self.same(base, expected, f"{row.id} {dtype} {base.shape}")

    def mask_fill(self, row, dtype):
        base, mask = self.masked(dtype)
        new, expected = self.array(dtype, base.shape), base.copy("C")
        numpy_function(row)(expected, mask, new)
        self.lib.shim_mask_fill(ctypes.byref(View.of(base)), ctypes.byref(View.of(mask)),
                                ctypes.byref(View.of(new)), self.parts())
        self.same(base, expected, f"{row.id} {dtype} {base.shape}")

    def scatter(self, row, dtype):
        """Checked with what it undoes."""

    def gather(self, row, dtype):
        base = self.array(dtype, self.shape(1))
        axis = int(self.random.integers(base.ndim))
        shape = self.shape()[:2]
        size = base.shape[axis]
        index = self.laid_out(self.random.integers(-size, size, shape))
        out = self.empty(dtype, base.shape[:axis] + shape + base.shape[axis + 1:])
        fancy = Fancy(1, ctypes.pointer(View.of(index)), (ctypes.c_int * 1)(axis), axis)
        ok = self.lib.shim_gather(ctypes.byref(View.of(out)), ctypes.byref(View.of(base)),
                                  ctypes.byref(fancy), self.parts())
        where = (slice(None),) * axis + (index,)
        self.check(ok, "valid indices were refused")
        self.same(out, base[where], f"take {dtype} {base.shape} axis {axis}")
        new, expected = self.array(dtype, out.shape), base.copy("C")
        # NumPy visits the index in memory order, which is C order for these copies.
        expected[(slice(None),) * axis + (index.copy("C"),)] = new.copy("C")
        self.lib.shim_scatter(ctypes.byref(View.of(base)), ctypes.byref(View.of(new)),
                              ctypes.byref(fancy))
        self.same(base, expected, f"put {dtype} {base.shape} axis {axis}")

    def product(self, row, dtype):
        m, n, k = (int(x) for x in self.random.integers(0, 90, 3))
        a, b = self.array(dtype, (m, k)), self.array(dtype, (k, n))
        if dtype.kind in "fc":
            a, b = self.laid_out(np.nan_to_num(a)), self.laid_out(np.nan_to_num(b))
            a[~np.isfinite(a)] = 1
            a = np.clip(a.real, -9, 9).astype(dtype)
            b = np.clip(b.real, -9, 9).astype(dtype)
        out = self.empty(dtype, (m, n))
        self.lib.shim_matmul(ctypes.byref(View.of(out)), ctypes.byref(View.of(a)),
                             ctypes.byref(View.of(b)))
        tolerance = {"float32": 1e-3, "complex64": 1e-3, "float64": 1e-10,
                     "complex128": 1e-10}.get(str(dtype), 0.0)
        self.same(out, numpy_function(row)(a, b), f"matmul {dtype} ({m}, {k}) @ ({k}, {n})", tolerance)

    def fourier(self, row, dtype):
        """Along an axis, at its own length or another, of the types that the row works with."""
        takes = {"DIVIDE": "fc", "FRACTION": "f", "SPECTRUM": "c"}
        if dtype.kind not in takes[row.rule]:
            return
        r = self.random
        x = self.array(dtype, self.shape(1))
        axis = int(r.integers(x.ndim))
        if x.shape[axis] == 0:
            return
        x[...] = np.clip(np.nan_to_num(x.real, posinf=2, neginf=-2), -9, 9)
        if dtype.kind == "c":
            x += 1j * r.standard_normal(x.shape).astype(x.real.dtype)
        single = dtype in (np.dtype("float32"), np.dtype("complex64"))
        real, number = DTYPES[9:11], DTYPES[11:13]
        n = x.shape[axis] if r.random() < 0.6 else int(r.integers(1, 500))
        shape = list(x.shape)
        shape[axis] = n // 2 + 1 if row.id == "rfft" else n
        out = self.empty((real if row.result == "REAL" else number)[not single], shape)
        ok = self.lib.shim_fft(row.number, ctypes.byref(View.of(out)),
                               ctypes.byref(View.of(x)), axis, ctypes.c_int64(n),
                               self.parts())
        expected = numpy_function(row)(x, n, axis).astype(out.dtype)
        size = np.abs(expected).max() if expected.size else 0
        off = np.abs(out - expected).max() if expected.size else 0
        bound = (2.0 ** -23 if single else 2.0 ** -52) * (4 + np.log2(n))
        self.check(ok and off <= bound * max(size, 1e-30),
                   f"{row.id} {dtype} {x.shape} axis {axis} n {n}: off by {off}")


def find_library():
    found = sorted(ROOT.glob("build*/**/libvproc_lib.so"))
    if not found:
        sys.exit("libvproc_lib.so was not found under build/; name it with --lib")
    return str(found[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    checker = Checker(arguments.lib or find_library(), arguments.seed)
    for i in range(arguments.rounds):
        dtype = DTYPES[i % len(DTYPES)]
        checker.check_rows(dtype)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return checker.failed > 0


if __name__ == "__main__":
    sys.exit(main())
