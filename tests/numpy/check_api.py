# SPDX-License-Identifier: Apache-2.0
"""Checks the public interface, through libvproc.so, against NumPy: which types meet and what
they give, what axes a reduction folds, what a selection reads and writes, and how results are
laid out in memory. Rows and library operations have checks of their own for their values.

    check_api.py [--lib libvproc.so] [--rounds 100] [--seed 1]

Where NumPy raises, there must be an error; everything else must agree bit for bit (any NaN is
a NaN), but for floating sums, products and math functions."""

import argparse
import itertools
import operator
import sys
import warnings

import numpy as np

from api_lib import (DTYPES, VprocError, Vproc, along_rows, find_library, in_place_rows,
                     operation_rows)

# C numbers as operands: small ones, and limits of types from either side.
NUMBERS = [True, 0, 1, -1, 3, 127, 128, 200, 300, -129, 2 ** 31, 2 ** 40, 2 ** 63 - 1,
           2 ** 63, -2 ** 63, 0.5, -2.5, float("nan"), float("inf"), 1e300, 1e-300, 1 + 2j]
MATH = set("divide power sqrt cbrt hypot exp exp2 expm1 log log1p log2 log10 sin cos tan "
           "arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh angle".split())
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
LOGICAL = ("logical_and", "logical_or", "logical_xor")


class Checker:
    def __init__(self, path, seed):
        self.v = Vproc(path)
        self.random = np.random.default_rng(seed)
        self.passed = self.failed = 0

    def check(self, ok, text):
        self.passed += bool(ok)
        self.failed += not ok
        if not ok:
            print("FAIL", text() if callable(text) else text)

    def same(self, what, mine, theirs, tolerance=0.0, layout=True):
        """Compares what two functions return; layout: also how it lies in memory. Only axes
        with several elements have a stride that means anything."""
        try:
            want = np.asarray(theirs())
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            want = error
        try:
            got = self.v.value(mine())
        except VprocError as error:
            got = error
        problem = None
        if isinstance(want, Exception) or isinstance(got, Exception):
            if isinstance(want, Exception) != isinstance(got, Exception):
                problem = f"{got!r}, NumPy {want!r}"
        elif got.dtype != want.dtype or got.shape != want.shape:
            problem = f"{got.dtype} {got.shape}, NumPy {want.dtype} {want.shape}"
        elif not is_same(got, want, tolerance):
            problem = f"{got.tolist()}, NumPy {want.tolist()}"
        elif layout and want.size and steps(got) != steps(want):
            problem = f"strides {got.strides}, NumPy {want.strides}"
        self.check(problem is None, lambda: f"{what}: {problem}"[:1000])

    # --- arrays at random ---

    def shape(self, least=0, most=4):
        ndim = int(self.random.integers(least, most + 1))
        return tuple(int(n) for n in self.random.choice([0, 1, 2, 3, 5], ndim,
                                                        p=[.05, .2, .25, .25, .25]))

    def values(self, dtype, shape):
        """Small whole numbers, whose sums and products are exact."""
        x = np.asarray(self.random.integers(0 if dtype.kind in "bu" else -4, 5, shape))
        if dtype.kind == "b":
            x = np.asarray(x > 2)
        if dtype.kind == "c":
            x = np.asarray(x + 1j * self.random.integers(-4, 5, shape))
        return x.astype(dtype)

    def laid_out(self, x):
        """The same values in some other layout."""
        kind = int(self.random.integers(0, 6)) if x.ndim else 6
        if kind == 0:
            return np.asfortranarray(x)
        if kind == 1:
            order = self.random.permutation(x.ndim)
            return np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
        if kind == 2:
            return np.repeat(x, 2, axis=-1)[..., ::2]
        if kind == 3:
            back = (slice(None, None, -1),) * x.ndim
            return np.ascontiguousarray(x[back])[back]
        return x.copy()

    def array(self, dtype, shape):
        return self.laid_out(self.values(dtype, shape))

    def dtype(self):
        return DTYPES[self.random.integers(len(DTYPES))]

    def chance(self, p):
        return self.random.random() < p

    # --- types that meet ---

    def promotion(self):
        """Every row, with every pair of types, and with C numbers on either side."""
        for name, arity, numpy_name in operation_rows():
            function = np.round if name == "round" else getattr(np, numpy_name)
            self.operands(name, arity, function)

    def operands(self, name, arity, function):
        samples = [self.sample(t) for t in DTYPES]
        if arity == 1:
            choices = [(x,) for x in samples]
        elif arity == 2:
            choices = [*itertools.product(samples, samples),
                       *itertools.product(samples, NUMBERS),
                       *itertools.product(NUMBERS, samples)]
        elif name == "where":
            pairs = [*itertools.product(samples, samples),
                     *itertools.product(samples, NUMBERS)]
            choices = [(samples[0], x, y) for x, y in pairs]
        else:
            choices = [*itertools.product(samples, samples, samples[::3])]
        for args in choices:
            if self.differs_on_purpose(name, args):
                continue
            with self.v, np.errstate(all="ignore"):
                self.same(f"{name}{describe(args)}", lambda: self.v.op(name, *args),
                          lambda: with_singles(function, args),
                          1e-5 if name in MATH or is_complex(args) else 0, layout=False)

    def sample(self, dtype):
        if dtype.kind == "b":
            return np.array([False, True, True, False, True])
        if dtype.kind in "iu":
            i = np.iinfo(dtype)
            return np.array([0, 1, i.max, i.min, 5], dtype)
        return np.array([0, 1.5, -2, np.nan, np.inf] if dtype.kind == "f" else
                        [0, 1.5 + 2j, -2j, 1, -3], dtype)

    @staticmethod
    def differs_on_purpose(name, args):
        """What vproc.h says is different, and where NumPy does not know a number's value."""
        types = [np.asarray(a).dtype for a in args]
        beyond = any(a == 2 ** 63 for a in args if isinstance(a, int))
        if name == "power":
            # Integers to a negative power have a value here. Beyond all numbers, the signs of
            # infinite parts are those of an angle that is lost.
            if is_complex(args):
                size = [np.abs(np.asarray(a).astype(complex)) for a in args]
                return any((s > 40).any() or (s == 1e-300).any() for s in size)
            whole = all(t.kind in "iub" for t in types)
            return whole and bool((np.asarray(args[1]) < 0).any())
        if name in COMPARISONS or name in LOGICAL:
            # NumPy wants a number that int64 holds, unless it compares integers.
            return beyond and (name in LOGICAL or any(t.kind == "b" for t in types))
        if name == "where":
            # NumPy wraps an integer that does not fit, without a word.
            t = types[1]
            return isinstance(args[2], int) and t.kind in "biu" and not (
                np.iinfo(t if t.kind != "b" else "i8").min <= args[2] <=
                np.iinfo(t if t.kind != "b" else "i8").max)
        return name == "reciprocal" and types[0].kind in "iu"  # of 0

    # --- reductions ---

    def reductions(self, dtype):
        x = self.array(dtype, self.shape())
        axes = None
        if x.ndim and self.chance(0.7):
            count = int(self.random.integers(1, x.ndim + 1))
            axes = self.random.choice(x.ndim, count, replace=False)
            axes = tuple(int(a) - x.ndim * self.chance(0.3) for a in axes)
        if self.chance(0.03):
            axes = (x.ndim,)
        keep = self.chance(0.4)
        want = None if self.chance(0.5) else self.dtype()
        where = f"{dtype} {x.shape} {x.strides} axes {axes} keepdims {keep} dtype {want}"
        for name in ("sum", "prod", "mean", "var", "std"):
            if name == "prod" and x.dtype.kind in "fc" and x.size > 40:
                continue  # may overflow, depending on the order
            if want is not None and self.has_no_value(name, x, want, axes, keep):
                continue
            self.same(f"{name} {where}", lambda: self.v.reduce(name, x, axes, want, keep),
                      lambda: getattr(np, name)(x, axis=axes, dtype=want, keepdims=keep),
                      1e-5, layout=False)
        for name in ("min", "max", "any", "all", "count_nonzero"):
            if x.shape.count(0) > 1:
                continue  # NumPy looks for the least of nothing even if there are no results
            self.same(f"{name} {where}", lambda: self.v.reduce(name, x, axes, None, keep),
                      lambda: getattr(np, name)(x, axis=axes, keepdims=keep), layout=False)
        axis = axes[0] if axes else None
        for name in ("argmin", "argmax"):
            if axes and x.ndim == 0 or x.shape.count(0) > 1:
                continue  # the same, and NumPy takes 0 for an axis of a number
            self.same(f"{name} {where} ({axis})",
                      lambda: self.v.reduce(name, x, axis, None, keep),
                      lambda: getattr(np, name)(x, axis=axis, keepdims=keep), layout=False)

        if want is None and not (axes and len(set(a % max(x.ndim, 1) for a in axes)) > 2):
            self.same(f"norm {where}", lambda: self.v.reduce("norm", x, axes, None, keep),
                      lambda: norm(x, axes, keep), 1e-5, layout=False)

    def products(self, dtype):
        """Shapes that fit, most of the time."""
        other, r = self.dtype(), self.random
        a, b = (list(self.shape(most=3)) for _ in "ab")
        for name, axis in (("dot", -2), ("inner", -1), ("vdot", None), ("outer", None),
                           ("matmul", -2)):
            at = axis if axis and len(b) >= -axis else -1
            if a and b and self.chance(0.9):
                b[at] = a[-1]
            x = self.array(dtype, a)
            y = self.array(other, a if name == "vdot" and self.chance(0.9) else b)
            if self.chance(0.1):
                y = self.values(other, ())
            self.same(f"{name} {x.dtype} {x.shape} {describe([y])}",
                      lambda: self.v.product(name, x, y),
                      lambda: getattr(np, name)(x, y), 1e-5, layout=False)

    @staticmethod
    def has_no_value(name, x, want, axes, keep):
        """Where NumPy's result depends on the CPU, or on how it writes its results: fractions
        below 0 as unsigned integers, nothing divided by nothing as an integer, and deviations
        as integers, which it has only as numbers of their own."""
        if want.kind in "fc":
            return False
        if want.kind == "u" and x.dtype.kind in "fc":
            return True
        if name in ("sum", "prod"):
            return False
        return 0 in x.shape or name == "std" and (keep or axes is not None and
                                                  len(axes) < x.ndim)

    def scans(self, dtype):
        x = self.array(dtype, self.shape(least=1))
        axis = int(self.random.integers(-x.ndim, x.ndim))
        where = f"{dtype} {x.shape} {x.strides} axis {axis}"
        for name, numpy_name in along_rows():
            also = {"kind": "stable"} if "sort" in name else {}
            function = operator.attrgetter(numpy_name)(np)
            self.same(f"{name} {where}", lambda: self.v.along(name, x, axis),
                      lambda: function(x, axis=axis, **also),
                      1e-5 if name == "cumprod" else 0, layout=name != "argsort")

    # --- selections ---

    def items(self, shape):
        """A selection of an array of this shape, now and then a wrong one."""
        items, axis, dots, r = [], 0, False, self.random
        while axis < len(shape) and len(items) < 8:
            n, kind = shape[axis], int(r.integers(0, 13))
            used = 1
            if kind == 0:
                items.append(None)
                used = 0
            elif kind == 1 and not dots:
                items.append(Ellipsis)
                dots, used = True, int(r.integers(0, len(shape) - axis + 1))
            elif kind <= 3:
                off = int(self.chance(0.05))
                items.append(int(r.integers(-n - off, n + off)) if n + off else 0)
            elif kind <= 6:
                part = [None if self.chance(0.4) else int(r.integers(-7, 8)) for _ in "abc"]
                if part[2] == 0 and self.chance(0.9):
                    part[2] = -1
                items.append(slice(*part))
            elif kind == 7:
                items.append(slice(None))
            elif kind <= 9:
                items.append(self.index_array(n))
            elif kind <= 11:
                used = int(r.integers(1, min(3, len(shape) - axis) + 1))
                items.append(np.asarray(r.random(shape[axis:axis + used]) < 0.5))
            else:
                items.append(np.array(self.chance(0.7)))
                used = 0
            axis += used
            if self.chance(0.1):
                break
        if self.chance(0.03):
            items.append(0)
        return tuple(items) or (Ellipsis,)

    def index_array(self, n):
        shape = [(), (1,), (3,), (2, 1), (2, 3), (0,)][self.random.integers(6)]
        dtype = DTYPES[self.random.integers(1, 9)]
        off = int(self.chance(0.03))
        if dtype.kind == "u" or n + off == 0:
            return np.asarray(self.random.integers(0, max(n + off, 1), shape)).astype(dtype)
        return np.asarray(self.random.integers(-n - off, n + off, shape)).astype(dtype)

    def selections(self, dtype):
        x = self.array(dtype, self.shape())
        items = self.items(x.shape)
        if looks_beyond_nothing(x, items) or fits_nothing(x, items):
            return
        where = f"{dtype} {x.shape} {describe(items)}"
        self.same(f"get {where}", lambda: self.v.get(x, items), lambda: x[items],
                  layout=False)
        try:
            shape = x[items].shape
        except (IndexError, ValueError):
            shape = ()
        value = self.value_for(shape)
        self.same(f"put {where} from {value.dtype} {value.shape}",
                  lambda: self.put(x, items, value), lambda: numpy_put(x, items, value),
                  layout=False)

    def value_for(self, shape):
        """Something that broadcasts to a shape, now and then not."""
        shape = tuple(1 if self.chance(0.2) else n for n in shape)
        shape = shape[int(self.random.integers(0, len(shape) + 1)):]
        if self.chance(0.1):
            shape = (1, *shape)
        if self.chance(0.05):
            shape = (*shape, 7)
        dtype = self.dtype()
        x = self.random.integers(0, 2 if dtype.kind == "b" else 100, shape)
        return self.laid_out(np.asarray(x).astype(dtype))

    def put(self, x, items, value):
        a = self.v.let(x)
        self.v.put(a, items, value)
        return a

    # --- in place ---

    def in_place(self):
        """Every type that meets an array in place, and numbers."""
        samples = [self.sample(t) for t in DTYPES]
        for (row, name), a in itertools.product(in_place_rows(), samples):
            function = getattr(np, row)
            for x in (*samples, *NUMBERS):
                if self.differs_on_purpose(row, (a, x)):
                    continue
                with self.v:
                    self.same(f"{name}{describe((a, x))}",
                              lambda: self.updated(row, a, ..., x),
                              lambda: numpy_update(function, a, ..., x),
                              1e-5 if row in MATH or is_complex((a, x)) else 0, layout=False)

    def in_place_parts(self, dtype):
        x = self.array(dtype, self.shape())
        items = self.items(x.shape)
        if looks_beyond_nothing(x, items) or fits_nothing(x, items):
            return
        try:
            shape = x[items].shape
        except (IndexError, ValueError):
            shape = ()
        value = self.value_for(shape)
        if value.ndim > len(shape):
            return  # where nothing is selected by arrays NumPy's put drops such axes
        self.same(f"iadd {dtype} {x.shape} {describe(items)} of {value.dtype} {value.shape}",
                  lambda: self.updated("add", x, items, value),
                  lambda: numpy_update(np.add, x, items, value), layout=False)

    def updated(self, row, x, items, value):
        a = self.v.let(x)
        self.v.in_place(row, a, items, value)
        return a

    def empty_selections(self):
        """An index out of bounds is one also where nothing is selected."""
        x, none = np.zeros((3, 3)), np.zeros(0, int)
        repeated = np.broadcast_to(np.array([7]), (0,))
        for items in ((none, 7), (none, np.array(7)), (np.array(-4), none), (none, none),
                      (none, np.array(2)), (repeated, 0), (0, repeated), (none, repeated),
                      (np.array([7, 8]), slice(0, 0)), (slice(0, 0), np.array([7])),
                      (np.zeros((2, 0), int), np.array(7)), (np.zeros(3, bool), np.array(7)),
                      (np.array(False), np.array(7)), (np.array(False), np.array(1))):
            self.same(f"get {describe(items)}", lambda: self.v.get(x, items),
                      lambda: x[items], layout=False)
            self.same(f"put {describe(items)}", lambda: self.put(x, items, np.ones(1)),
                      lambda: numpy_put(x, items, np.ones(1)), layout=False)
        for shape in ((3, 0), (0, 3)):
            x = np.zeros(shape)
            self.same(f"take of {shape}", lambda: self.v.take(x, np.array([9]), 0),
                      lambda: np.take(x, np.array([9]), 0), layout=False)

    # --- layouts and shapes ---

    def layouts(self, dtype):
        """Results keep their operands' layout, as NumPy's do."""
        x = self.array(dtype, self.shape())
        y = self.array(self.dtype(), x.shape)
        # Part of x itself: where layouts contradict each other, NumPy's choice is its own.
        lead = int(self.random.integers(0, x.ndim + 1))
        part = (0,) * lead + tuple(slice(0, 1) if self.chance(0.5) else slice(None)
                                   for _ in x.shape[lead:])
        z = np.asarray(x[part]) if x.size else x
        c = self.array(np.dtype(bool), x.shape)
        where = f"{dtype} {x.shape} {x.strides}"
        op = self.v.op
        self.same(f"positive {where}", lambda: op("conj", x), lambda: np.conj(x))
        self.same(f"cast {where}", lambda: self.v.let(self.v.cast(x, "c16")),
                  lambda: x.astype("c16"))
        self.same(f"copy {where}", lambda: self.v.let(x), lambda: x.copy("K"))
        self.same(f"add {where} {y.strides}", lambda: op("add", x, y), lambda: x + y)
        self.same(f"add {where} 1", lambda: op("add", x, 1), lambda: x + 1)
        self.same(f"multiply {where} {z.shape} {z.strides}",
                  lambda: op("multiply", x, z), lambda: x * z)
        self.same(f"where {where} {z.shape} {z.strides} {c.strides}",
                  lambda: op("where", c, x, z), lambda: np.where(c, x, z))
        self.same(f"add of three {where} {y.strides}",
                  lambda: op("add", op("add", x, x), x), lambda: x + x + x)

    def shapes(self, dtype):
        x = self.array(dtype, self.shape(least=1))
        where = f"{dtype} {x.shape} {x.strides}"
        axes = tuple(int(a) for a in self.random.permutation(x.ndim))
        some = axes[:int(self.random.integers(1, x.ndim + 1))]
        axis = int(self.random.integers(-x.ndim, x.ndim))
        wider = (2, *(3 if n == 1 else n for n in x.shape))
        by_axes, v = self.v.by_axes, self.v
        for what, mine, theirs in (
                (f"permute {axes}", lambda: by_axes("permute", x, axes),
                 lambda: x.transpose(axes)),
                ("transpose", lambda: by_axes("permute", x, None), lambda: x.T),
                (f"flip {some}", lambda: by_axes("flip", x, some), lambda: np.flip(x, some)),
                (f"squeeze {some}", lambda: by_axes("squeeze", x, some),
                 lambda: np.squeeze(x, some)),
                ("squeeze", lambda: by_axes("squeeze", x, None), lambda: np.squeeze(x)),
                (f"expand {axis}", lambda: v.expand(x, axis),
                 lambda: np.expand_dims(x, axis)),
                (f"broadcast {wider}", lambda: v.by_shape("broadcast", x, wider),
                 lambda: np.broadcast_to(x, wider)),
                ("reshape", lambda: v.by_shape("reshape", x, (-1,)),
                 lambda: x.reshape(-1))):
            self.same(f"{what} {where}", mine, theirs, layout=False)
        others = [x, self.array(self.dtype(), x.shape)]
        self.same(f"concatenate {axis} {where}", lambda: v.join(others, axis, False),
                  lambda: np.concatenate(others, axis), layout=False)
        self.same(f"stack {axis} {where}", lambda: v.join(others, axis, True),
                  lambda: np.stack(others, axis), layout=False)
        n = x.shape[axis]
        if n:
            at = self.random.integers(-n, n, 4)
            self.same(f"take {at} {axis} {where}", lambda: v.take(x, at, axis),
                      lambda: np.take(x, at, axis), layout=False)

    def rolls(self, dtype):
        """Rolled operands, of which a segment reads several at once, some of them broadcast."""
        x = self.array(dtype, self.shape(least=1, most=3))
        where = f"{dtype} {x.shape} {x.strides}"
        axis, shift = self.roll_of(x)
        self.same(f"roll {shift} {axis} {where}", lambda: self.v.roll(x, shift, axis),
                  lambda: np.roll(x, shift, axis), layout=False)
        moves = [self.roll_of(x) for _ in range(4)]
        part = tuple(slice(0, 1) if self.chance(0.3) else slice(None) for _ in x.shape)
        y = np.ascontiguousarray(x[part]) if x.size else x
        v = self.v
        self.same(f"rolled {moves} {y.shape} {where}",
                  lambda: self.rolled(v.roll, v.op, x, y, moves),
                  lambda: self.rolled(np.roll, lambda f, *a: getattr(np, f)(*a), x, y, moves),
                  layout=False)
        self.same(f"sum of rolled {where}", lambda: v.reduce("sum", v.roll(x, shift, axis), 0),
                  lambda: np.roll(x, shift, axis).sum(0), 1e-5, layout=False)

    def roll_of(self, x):
        n = max(1, x.ndim)
        off = int(self.chance(0.02))
        return (int(self.random.integers(-n - off, n + off)),
                int(self.random.choice([-1, 1, 0, 2, 5, -17, 1000])))

    @staticmethod
    def rolled(roll, op, x, y, moves):
        a, b, c, d = ((shift, axis) for axis, shift in moves)
        stencil = op("maximum", op("add", roll(x, *a), roll(roll(x, *b), *c)), x)
        return op("add", roll(op("multiply", stencil, roll(y, *d)), *a), roll(y, *b))

    # --- arrays from numbers ---

    def numbers(self):
        """Integers that their type does not hold are refused where NumPy refuses them."""
        types = [None, *(t for t in DTYPES if t.kind in "iuf")]
        ranges = [(0, 300, 100), (0, 300, 200), (-3, 3, 1), (3, -3, -1), (200, 210, 1),
                  (127, 129, 1), (126, 129, 1), (127, 128, 1), (300, 100, 1), (0, 1, 500),
                  (0, 2 ** 40, 2 ** 39), (0, 2 ** 62, 2 ** 61), (5, -1, -1), (-1, 2, 1),
                  (0.0, 300.0, 100.0), (0.0, 300.0, 200.0), (200.0, 202.0, 1.0),
                  (-1.5, 3.0, 1.0), (0.5, 3.0, 0.5)]
        for t, numbers in itertools.product(types, ranges):
            # NumPy's way with a fraction as a step of integers is its own.
            if t is not None and t.kind != "f" and any(n != int(n) for n in numbers):
                continue
            self.same(f"arange {t} {numbers}", lambda: self.v.arange(t, *numbers),
                      lambda: np.arange(*numbers, dtype=t))
        for t, number in itertools.product(DTYPES[1:], NUMBERS[:15]):
            self.same(f"full {t} {number}", lambda: self.v.full(t, (2,), number),
                      lambda: np.full(2, number, t))


def numpy_put(x, items, value):
    """x with part of it written. NumPy refuses leading axes of length 1 for one mask alone,
    though not for its positions, and for integers alone, though not beside an ellipsis."""
    y = x.copy()
    if all(isinstance(i, int) or isinstance(i, np.ndarray) and i.ndim == 0 for i in items):
        items = (*items, Ellipsis)
    mask = items[0]
    if len(items) == 1 and isinstance(mask, np.ndarray) and mask.dtype == bool and mask.ndim \
            and mask.shape == x.shape[:mask.ndim]:
        items = np.nonzero(mask)
    y[items] = value
    return y


def norm(x, axes, keep):
    """NumPy's names one axis, or two, or none."""
    if axes and len(axes) == 1:
        axes = axes[0]
    if x.dtype.kind in "biu":
        x = x.astype(float)
    return np.linalg.norm(x, axis=axes, keepdims=keep)


def numpy_update(function, x, items, value):
    """x with part of it updated in place, by NumPy's rule for what it becomes."""
    y = x.copy()
    part = np.asarray(y[items])
    made = part.copy()
    function(made, value, out=made, casting="same_kind")
    y[items] = made
    return y


def looks_beyond_nothing(x, items):
    """Whether an index that may be out of bounds is in an array that an empty one beside it
    broadcasts away: an error here, but none in NumPy, which has one only for single numbers
    and for arrays it looks into."""
    arrays = [i for i in items if isinstance(i, np.ndarray)]
    numbers = [i.astype(int) for i in arrays if i.dtype != bool and i.ndim and i.size]
    nothing = any(i.size == 0 or i.dtype == bool and not i.any() for i in arrays)
    least = min(x.shape, default=0)
    return nothing and any(i.max() >= least or i.min() < -least for i in numbers)


def fits_nothing(x, items):
    """Whether an empty mask meets an empty array: NumPy takes some that do not fit."""
    return x.size == 0 and any(isinstance(i, np.ndarray) and i.dtype == bool and i.size == 0
                               for i in items)


def with_singles(function, args):
    """NumPy's result; vproc has no float16, its math functions give float32 instead."""
    x = np.asarray(function(*args))
    if x.dtype != np.float16:
        return x
    return function(*(np.asarray(a).astype(np.float32) for a in args))


def is_complex(args):
    return any(np.asarray(a).dtype.kind == "c" for a in args)


def is_same(got, want, tolerance):
    if want.dtype.kind not in "fc":
        return np.array_equal(got, want)
    with np.errstate(all="ignore"):
        if tolerance:
            return np.allclose(got, want, tolerance, tolerance, equal_nan=True)
        equal = (got == want) | (np.isnan(got) & np.isnan(want))
        if want.dtype.kind == "f":
            equal &= (np.signbit(got) == np.signbit(want)) | np.isnan(want)
    return bool(equal.all())


def steps(x):
    return [s for s, n in zip(x.strides, x.shape) if n > 1]


def describe(args):
    return [f"{a.dtype}{list(a.shape)}" + (f"={a.tolist()}" if a.size < 7 else "")
            if isinstance(a, np.ndarray) else a for a in args]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    c = Checker(options.lib or find_library(), options.seed)
    c.promotion()
    c.in_place()
    with c.v:
        c.empty_selections()
        c.numbers()
    for _, dtype in itertools.product(range(options.rounds), DTYPES):
        with c.v:
            c.reductions(dtype)
            c.scans(dtype)
            c.products(dtype)
            c.selections(dtype)
            c.selections(dtype)
            c.in_place_parts(dtype)
            c.layouts(dtype)
            c.shapes(dtype)
            c.rolls(dtype)
    print(f"{c.passed} passed, {c.failed} failed")
    return 1 if c.failed else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        sys.exit(main())
