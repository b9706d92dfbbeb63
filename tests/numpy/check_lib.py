# SPDX-License-Identifier: Apache-2.0
"""Checks library operations (sort, argsort, scans, find, indexing, products, Fourier
transforms, copies)
against NumPy on random arrays of every element type and layout.

    check_lib.py [--lib libvproc_lib.so] [--rounds 300] [--seed 1]

Everything but complex running products, floating matrix products and Fourier transforms
must agree bit for bit (any NaN is a NaN, and sort may order the two zeros)."""

import argparse
import ctypes
import pathlib
import sys
import warnings

import numpy as np

DTYPES = [np.dtype(t) for t in (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float32 float64 complex64 complex128").split()]
CODE = {t: i for i, t in enumerate(DTYPES)}


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
        self.failed = self.passed = 0

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

    def copies(self, dtype):
        x = self.array(dtype, self.shape())
        out = self.empty(dtype, x.shape)
        self.lib.shim_copy(ctypes.byref(View.of(out)), ctypes.byref(View.of(x)),
                           self.parts())
        self.same(out, x, f"copy {dtype} {x.shape}")

    def sorts(self, dtype):
        x = self.array(dtype, self.shape(1))
        axis = int(self.random.integers(x.ndim))
        out, order = self.empty(dtype, x.shape), self.empty(np.dtype("int64"), x.shape)
        view = View.of(x)
        self.lib.shim_sort(ctypes.byref(View.of(out)), ctypes.byref(view), axis,
                           self.parts(), False)
        self.lib.shim_sort(ctypes.byref(View.of(order)), ctypes.byref(view), axis,
                           self.parts(), True)
        expected = np.argsort(x, axis, kind="stable")
        self.same(order, expected, f"argsort {dtype} {x.shape} axis {axis}")
        self.same(out, np.sort(x, axis), f"sort {dtype} {x.shape} axis {axis}")

    def scans(self, dtype):
        x = self.array(dtype, self.shape(1))
        axis = int(self.random.integers(x.ndim))
        for product, name in enumerate(("cumsum", "cumprod")):
            out = self.empty(dtype, x.shape)
            self.lib.shim_scan(ctypes.byref(View.of(out)), ctypes.byref(View.of(x)), axis,
                               self.parts(), bool(product))
            expected = getattr(np, name)(x, axis, dtype=dtype)
            if dtype.kind == "c" and product:  # NumPy may fuse; compare what is finite
                keep = np.isfinite(out) & np.isfinite(expected)
                scale = 1e-4 if dtype == np.complex64 else 1e-12
                self.same(np.where(keep, out, 0), np.where(keep, expected, 0),
                          f"{name} {dtype} {x.shape} axis {axis}", scale)
            else:
                self.same(out, expected, f"{name} {dtype} {x.shape} axis {axis}")

    def finds(self):
        mask = self.laid_out(self.random.random(self.shape()) < self.random.random())
        view = View.of(mask)
        count = self.lib.shim_count_true(ctypes.byref(view))
        self.check(count == np.count_nonzero(mask), f"count {mask.shape}")
        flat = np.full(count + 1, -7)
        rows = np.full((count + 1, max(mask.ndim, 1)), -7)
        self.lib.shim_list_true(ctypes.c_void_p(flat.ctypes.data), ctypes.byref(view),
                                True)
        self.same(flat[:-1], np.flatnonzero(mask), f"flatnonzero {mask.shape}")
        if mask.ndim:
            self.lib.shim_list_true(ctypes.c_void_p(rows.ctypes.data), ctypes.byref(view),
                                    False)
            self.same(rows[:-1], np.argwhere(mask), f"argwhere {mask.shape}")
        self.check(flat[-1] == -7 and (rows[-1] == -7).all(), "find wrote too far")

    def indexing(self, dtype):
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

    def products(self, dtype):
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
        self.same(out, a @ b, f"matmul {dtype} ({m}, {k}) @ ({k}, {n})", tolerance)

    def transforms(self, dtype):
        """fft, ifft, rfft and irfft along an axis, at its own length or another."""
        if dtype.kind not in "fc":
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
        # What NumPy calls it, and vp__fft_kind by whether x is real.
        names = {"fft": (0, 3), "ifft": (1, 4)}
        names.update({"irfft": (5, 5)} if dtype.kind == "c" else {"rfft": (2, 2)})
        for name, kinds in names.items():
            n = x.shape[axis] if r.random() < 0.6 else int(r.integers(1, 500))
            shape = list(x.shape)
            shape[axis] = n // 2 + 1 if name == "rfft" else n
            out = self.empty((real if name == "irfft" else number)[not single], shape)
            ok = self.lib.shim_fft(ctypes.byref(View.of(out)), ctypes.byref(View.of(x)),
                                   axis, ctypes.c_int64(n), kinds[dtype.kind == "f"],
                                   self.parts())
            expected = getattr(np.fft, name)(x, n, axis).astype(out.dtype)
            size = np.abs(expected).max() if expected.size else 0
            off = np.abs(out - expected).max() if expected.size else 0
            bound = (2.0 ** -23 if single else 2.0 ** -52) * (4 + np.log2(n))
            self.check(ok and off <= bound * max(size, 1e-30),
                       f"{name} {dtype} {x.shape} axis {axis} n {n}: off by {off}")


def find_library():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = sorted(root.glob("build*/**/libvproc_lib.so"))
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
        checker.copies(dtype)
        checker.sorts(dtype)
        checker.scans(dtype)
        checker.finds()
        checker.indexing(dtype)
        checker.products(dtype)
        checker.transforms(dtype)
    print(f"{checker.passed} passed, {checker.failed} failed")
    return checker.failed > 0


if __name__ == "__main__":
    sys.exit(main())
