# SPDX-License-Identifier: Apache-2.0
"""The operation table and base kernels, loaded from the shared object that
kernels_shim.c makes, as Python sees them: rows with names, and run() on NumPy arrays."""

import ctypes
import pathlib
import sys

import numpy as np

DTYPES = [np.dtype(t) for t in (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float32 float64 complex64 complex128").split()]
AUTO = 255
CODE = {t: i for i, t in enumerate(DTYPES)}


class Row(ctypes.Structure):
    """vp__op_info."""
    _fields_ = [("name", ctypes.c_char_p), ("numpy", ctypes.c_char_p),
                ("doc", ctypes.c_char_p), ("arity", ctypes.c_uint8),
                ("rule", ctypes.c_uint8), ("result", ctypes.c_uint8),
                ("reduces", ctypes.c_bool), ("cycles", ctypes.c_float)]


def find_library(argument=None):
    """The shared object named on the command line, or the build folder's."""
    if argument:
        return argument
    root = pathlib.Path(__file__).resolve().parents[2]
    found = sorted(root.glob("build*/**/libvproc_kernels.so"))
    if not found:
        sys.exit("libvproc_kernels.so was not found under build/; name it with --lib")
    return str(found[0])


class Kernels:
    def __init__(self, path, isa=""):
        lib = ctypes.CDLL(path)
        lib.shim_op.restype = ctypes.POINTER(Row)
        lib.shim_set.restype = ctypes.c_void_p
        lib.shim_set_name.restype = ctypes.c_char_p
        lib.shim_types.restype = ctypes.c_bool
        lib.shim_reduce_types.restype = ctypes.c_bool
        lib.shim_run.restype = ctypes.c_bool
        lib.shim_time.restype = ctypes.c_double
        lib.shim_time_cast.restype = ctypes.c_double
        lib.shim_time_reduce.restype = ctypes.c_double
        self.lib = lib
        set_ = lib.shim_set(isa.encode())
        self.set = ctypes.c_void_p(set_)
        self.isa = lib.shim_set_name(self.set).decode() if set_ else None
        self.rows = {}
        for op in range(lib.shim_nops()):
            row = lib.shim_op(op).contents
            row.op = op
            row.id = row.name.decode()
            row.np = row.numpy.decode()
            self.rows[row.id] = row

    def types(self, row, operands):
        """(working types, result type) for dtypes and weak kinds (0 to 3), or None."""
        n = len(operands)
        dtype = (ctypes.c_int * n)(*[0 if isinstance(o, int) else CODE[o] for o in operands])
        weak = (ctypes.c_int * n)(*[o if isinstance(o, int) else -1 for o in operands])
        work, result = (ctypes.c_int * n)(), ctypes.c_int()
        if not self.lib.shim_types(row.op, dtype, weak, work, ctypes.byref(result)):
            return None
        return [DTYPES[w] for w in work], DTYPES[result.value]

    def reduce_types(self, row, dtype, want=None):
        work, result = ctypes.c_int(), ctypes.c_int()
        want = AUTO if want is None else CODE[want]
        if not self.lib.shim_reduce_types(row.op, CODE[dtype], want, ctypes.byref(work),
                                          ctypes.byref(result)):
            return None
        return DTYPES[work.value], DTYPES[result.value]

    @staticmethod
    def _pointers(arrays, n=3):
        return [ctypes.c_void_p(a.ctypes.data) for a in arrays] + [None] * (n - len(arrays))

    def run(self, row, operands, out):
        """False where the table has no kernel for the last operand's type."""
        return self.lib.shim_run(self.set, row.op, CODE[operands[-1].dtype],
                                 ctypes.c_void_p(out.ctypes.data),
                                 *self._pointers(operands), ctypes.c_int64(out.size))

    def time(self, row, operands, out, times):
        """Nanoseconds of one call."""
        return self.lib.shim_time(self.set, row.op, CODE[operands[-1].dtype],
                                  ctypes.c_void_p(out.ctypes.data),
                                  *self._pointers(operands), ctypes.c_int64(out.size),
                                  ctypes.c_int64(times))

    def cast(self, x, out):
        self.lib.shim_cast(self.set, CODE[x.dtype], CODE[out.dtype],
                           *self._pointers([out, x], 2), ctypes.c_int64(out.size))

    def time_cast(self, x, out, times):
        return self.lib.shim_time_cast(self.set, CODE[x.dtype], CODE[out.dtype],
                                       *self._pointers([out, x], 2), ctypes.c_int64(out.size),
                                       ctypes.c_int64(times))

    def time_reduce(self, row, x, out, times):
        return self.lib.shim_time_reduce(self.set, row.op, CODE[x.dtype],
                                         *self._pointers([out, x], 2),
                                         ctypes.c_int64(x.size), ctypes.c_int64(times))

    def move(self, kind, log2, out, x, stride, n):
        self.lib.shim_move(self.set, kind, log2, ctypes.c_void_p(out), ctypes.c_void_p(x),
                           ctypes.c_int64(stride), ctypes.c_int64(n))
