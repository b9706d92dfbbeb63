# SPDX-License-Identifier: Apache-2.0
"""The public interface of libvproc.so as Python sees it: what vproc.h's macros make of their
arguments, for NumPy arrays, Python numbers and Python's way of writing selections."""

import ctypes
import pathlib
import re
import struct
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = [np.dtype(t) for t in (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float32 float64 complex64 complex128").split()]
CODE = {t: i for i, t in enumerate(DTYPES)}
AUTO = 255
MAXDIM = 32
HERE = b"check_api.py:1"

IN_ARRAY, IN_EXPR, IN_BOOL, IN_INT, IN_UINT, IN_FLOAT = range(6)
SEL_INDEX, SEL_RANGE, SEL_ALL, SEL_NEWAXIS, SEL_ELLIPSIS, SEL_ARRAY = range(6)


class Array(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_uint32), ("generation", ctypes.c_uint32)]


class Expr(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_uint32), ("generation", ctypes.c_uint32)]


class Scope(ctypes.Structure):
    _fields_ = [("depth", ctypes.c_uint32), ("generation", ctypes.c_uint32)]


class Operand(ctypes.Structure):
    """Two words, which calls pass in registers."""
    _fields_ = [("kind", ctypes.c_uint64), ("bits", ctypes.c_uint64)]


class Shape(ctypes.Structure):
    _fields_ = [("ndim", ctypes.c_int32), ("column_major", ctypes.c_bool),
                ("dims", ctypes.c_int64 * MAXDIM)]


class Axes(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("axis", ctypes.c_int32 * MAXDIM)]


class Sel(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("has_start", ctypes.c_bool),
                ("has_stop", ctypes.c_bool), ("is_expr", ctypes.c_bool),
                ("start", ctypes.c_int64), ("stop", ctypes.c_int64),
                ("step", ctypes.c_int64)]


class Index(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("item", ctypes.POINTER(Sel))]


class Mapped(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_uint8), ("ndim", ctypes.c_int32),
                ("dims", ctypes.c_int64 * MAXDIM), ("strides", ctypes.c_int64 * MAXDIM),
                ("token", ctypes.c_void_p)]


# Result and arguments of each function, less the place that comes first or after a number.
FUNCTIONS = {
    "vp__op1": (Expr, "i w o"), "vp__op2": (Expr, "i w o o"), "vp__op3": (Expr, "i w o o o"),
    "vp__reduce": (Expr, "i w o a* i i"), "vp__cast": (Expr, "w o i"),
    "vp__along": (Expr, "w o i i"), "vp__let": (Array, "w o"), "vp__get": (Expr, "w o x"),
    "vp__put_at": (None, "w A x o"), "vp__in_place": (None, "i w A x o"), "vp__take": (Expr, "w o o i"),
    "vp__permute": (Expr, "w o a"), "vp__flip": (Expr, "w o a"),
    "vp__squeeze": (Expr, "w o a"), "vp__expand": (Expr, "w o i"),
    "vp__broadcast": (Expr, "w o s"), "vp__reshape": (Expr, "w o s"),
    "vp__dot": (Expr, "w o o b"), "vp__vdot": (Expr, "w o o"),
    "vp__outer": (Expr, "w o o"), "vp__matmul": (Expr, "w o o"),
    "vp__roll": (Expr, "w o q i"), "vp__concatenate": (Expr, "w i i o* b"), "vp__full": (Expr, "w i s o"),
    "vp__arange": (Expr, "w i o o o"), "vp__borrow": (Array, "w i s l p i p p"),
    "vp__map": (ctypes.c_int, "w o m*"), "vp_unmap": (None, "m*"),
    "vp__complex": (Expr, "d d"), "vp__begin": (Scope, "w"), "vp__end": (None, "w S"),
    "vp_error": (ctypes.c_int, ""), "vp_message": (ctypes.c_char_p, ""),
    "vp_clear_error": (None, ""), "vp_sync": (ctypes.c_int, ""),
}
LETTERS = {
    "i": ctypes.c_int, "q": ctypes.c_int64, "b": ctypes.c_bool, "d": ctypes.c_double, "p": ctypes.c_void_p,
    "w": ctypes.c_char_p, "o": Operand, "o*": ctypes.POINTER(Operand), "A": Array,
    "a": Axes, "a*": ctypes.POINTER(Axes), "s": Shape, "l": ctypes.POINTER(ctypes.c_int64),
    "x": Index, "m*": ctypes.POINTER(Mapped), "S": Scope,
}


class VprocError(Exception):
    """What vp_message says of a result."""


def find_library():
    found = sorted(ROOT.glob("build*/libvproc.so"))
    if not found:
        sys.exit("libvproc.so was not found under build/; name it with --lib")
    return str(found[0])


def operation_numbers():
    """VP__ADD and the others, from the header."""
    text = (ROOT / "include" / "vproc.h").read_text()
    numbers = {m[1].lower(): int(m[2]) for m in re.finditer(r"VP__(\w+) = (\d+),", text)}
    return numbers | {"mean": 1000, "var": 1001, "std": 1002, "norm": 1003}


def operation_rows():
    """(name, arity, NumPy's name) of the element-wise rows of the operation table."""
    text = (ROOT / "src" / "ops" / "ops.def").read_text()
    row = r'^VP_OP\((\w+),\s*(\d),\s*\w+,\s*\w+,\s*[\d.]+,\s*"(\w+)"'
    return [(m[1], int(m[2]), m[3]) for m in re.finditer(row, text, re.M)]


def in_place_rows():
    """(row, name) of what there is in place."""
    text = (ROOT / "src" / "ops" / "ops.def").read_text()
    return re.findall(r"^VP_IN_PLACE\((\w+), (\w+)\)$", text, re.M)


def along_rows():
    """(name, NumPy's name) of the rows along an axis of the table of library operations."""
    text = (ROOT / "src" / "lib" / "lib.def").read_text()
    row = r'^VP_ALONG\((\w+),\s*\w+,\s*\w+,\s*[\d.]+,\s*\w+,\s*"([\w.]+)"'
    return re.findall(row, text, re.M)


def shape_of(dims):
    s = Shape(len(dims), False)
    s.dims[:len(dims)] = dims
    return s


def axes_of(axes):
    a = Axes(-1)
    if axes is not None:
        axes = (axes,) if isinstance(axes, int) else axes
        a.count = len(axes)
        a.axis[:len(axes)] = axes
    return a


def handle_bits(x):
    return x.slot | x.generation << 32


class Vproc:
    """Operands may be NumPy arrays (borrowed with their strides), Python numbers, and what
    instructions give. A scope (`with v:`) frees what was made in it."""

    def __init__(self, path):
        lib = ctypes.CDLL(path)
        for name, (result, letters) in FUNCTIONS.items():
            function = getattr(lib, name)
            function.restype = result
            function.argtypes = [LETTERS[c] for c in letters.split()]
        self.lib = lib
        self.number = operation_numbers()
        self.kept = []  # memory that is borrowed until the scope ends

    def __enter__(self):
        self.scope = self.lib.vp__begin(HERE)
        return self

    def __exit__(self, *unused):
        self.lib.vp__end(HERE, self.scope)
        while self.lib.vp_sync():
            pass  # failures that no comparison has looked at, where NumPy fails as well
        self.lib.vp_clear_error()
        self.kept.clear()

    def borrow(self, x):
        self.kept.append(x)
        strides = (ctypes.c_int64 * max(1, x.ndim))(*x.strides)
        return self.lib.vp__borrow(HERE, CODE[x.dtype], shape_of(x.shape), strides,
                                   x.ctypes.data, 0, None, None)

    def operand(self, x):
        if isinstance(x, np.ndarray):
            x = self.borrow(x)
        if isinstance(x, complex):
            x = self.lib.vp__complex(x.real, x.imag)
        if isinstance(x, Array):
            return Operand(IN_ARRAY, handle_bits(x))
        if isinstance(x, Expr):
            return Operand(IN_EXPR, handle_bits(x))
        if isinstance(x, bool):
            return Operand(IN_BOOL, x)
        if isinstance(x, int):
            return Operand(IN_UINT if x >= 2 ** 63 else IN_INT, x & (2 ** 64 - 1))
        return Operand(IN_FLOAT, struct.unpack("Q", struct.pack("d", x))[0])

    def index(self, items):
        """A selection as Python writes it: integers, slices, None, ..., index arrays."""
        items = items if isinstance(items, tuple) else (items,)
        sels = (Sel * max(1, len(items)))()
        for s, item in zip(sels, items):
            s.step = 1
            if item is None:
                s.kind = SEL_NEWAXIS
            elif item is Ellipsis:
                s.kind = SEL_ELLIPSIS
            elif isinstance(item, slice):
                s.kind = SEL_ALL if item == slice(None) else SEL_RANGE
                s.has_start, s.has_stop = item.start is not None, item.stop is not None
                s.start, s.stop = item.start or 0, item.stop or 0
                s.step = 1 if item.step is None else item.step
            elif isinstance(item, np.ndarray):
                s.kind = SEL_ARRAY
                bits = handle_bits(self.borrow(item))
                s.start = bits - (bits >> 63 << 64)
            else:
                s.kind, s.start = SEL_INDEX, item
        self.kept.append(sels)
        return Index(len(items), sels)

    def op(self, name, *args):
        function = getattr(self.lib, f"vp__op{len(args)}")
        return function(self.number[name], HERE, *map(self.operand, args))

    def reduce(self, name, x, axes=None, dtype=None, keepdims=False):
        code = AUTO if dtype is None else CODE[np.dtype(dtype)]
        return self.lib.vp__reduce(self.number[name], HERE, self.operand(x),
                                   ctypes.byref(axes_of(axes)), code, keepdims)

    def along(self, name, x, axis):
        return self.lib.vp__along(HERE, self.operand(x), axis, self.number[name])

    def cast(self, x, dtype):
        return self.lib.vp__cast(HERE, self.operand(x), CODE[np.dtype(dtype)])

    def let(self, x):
        return self.lib.vp__let(HERE, self.operand(x))

    def get(self, x, items):
        return self.lib.vp__get(HERE, self.operand(x), self.index(items))

    def put(self, a, items, x):
        """An error that is known at once is raised: if the selection has no elements, there
        is nothing else to show it."""
        self.lib.vp__put_at(HERE, a, self.index(items), self.operand(x))
        if self.lib.vp_error():
            self.fail()

    def in_place(self, name, a, items, x):
        self.lib.vp__in_place(self.number[name], HERE, a, self.index(items), self.operand(x))
        if self.lib.vp_error():
            self.fail()

    def take(self, x, positions, axis):
        return self.lib.vp__take(HERE, self.operand(x), self.operand(positions), axis)

    def by_axes(self, name, x, axes):
        return getattr(self.lib, "vp__" + name)(HERE, self.operand(x), axes_of(axes))

    def expand(self, x, axis):
        return self.lib.vp__expand(HERE, self.operand(x), axis)

    def roll(self, x, shift, axis):
        return self.lib.vp__roll(HERE, self.operand(x), shift, axis)

    def product(self, name, x, y):
        x, y = self.operand(x), self.operand(y)
        if name in ("dot", "inner"):
            return self.lib.vp__dot(HERE, x, y, name == "inner")
        return getattr(self.lib, "vp__" + name)(HERE, x, y)

    def by_shape(self, name, x, shape):
        return getattr(self.lib, "vp__" + name)(HERE, self.operand(x), shape_of(shape))

    def join(self, xs, axis, stack):
        xs = (Operand * len(xs))(*map(self.operand, xs))
        return self.lib.vp__concatenate(HERE, axis, len(xs), xs, stack)

    def full(self, dtype, shape, value):
        return self.lib.vp__full(HERE, CODE[np.dtype(dtype)], shape_of(shape),
                                 self.operand(value))

    def arange(self, dtype, *numbers):
        return self.lib.vp__arange(HERE, AUTO if dtype is None else CODE[np.dtype(dtype)],
                                   *map(self.operand, numbers))

    def fail(self):
        text = self.lib.vp_message().decode()
        self.lib.vp_clear_error()
        raise VprocError(text)

    def value(self, x):
        """A copy of the elements with the very strides they have there."""
        m = Mapped()
        if self.lib.vp__map(HERE, self.operand(x), ctypes.byref(m)):
            self.fail()
        dtype, dims, strides = DTYPES[m.dtype], m.dims[:m.ndim], m.strides[:m.ndim]
        if 0 in dims:
            found = np.empty(dims, dtype)
        else:
            ends = [(d - 1) * s for d, s in zip(dims, strides)]
            low = sum(e for e in ends if e < 0)
            size = sum(abs(e) for e in ends) + dtype.itemsize
            memory = bytearray(ctypes.string_at(m.data + low, size))
            found = np.ndarray(dims, dtype, memory, -low, strides)
        self.lib.vp_unmap(ctypes.byref(m))
        return found
