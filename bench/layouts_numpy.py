# SPDX-License-Identifier: Apache-2.0
"""NumPy's side of bench-layouts, which starts it: for every byte on standard input, the
number of a row, it answers with that row's microseconds as a double.

NumPy gets memory for its results and temporaries, and where it has several ways to say a
row (einsum and vecdot do without a temporary) the fastest one counts.
"""

import struct
import sys
import time

import numpy as np

from aligned import aligned

N, M, TIMED = 1000, 100, 3


i = np.arange(N * N)
a = aligned(i % 977 * 0.25, "f8").reshape(N, N)
b = aligned(i % 1009 * 0.5, "f8").reshape(N, N)
c = aligned(i, "f8").reshape(N, N)
half = aligned(i[:N * N // 4], "f8").reshape(N // 2, N // 2)
r, r2 = aligned(i[:N], "f8"), aligned(i[:N], "f8")
f32, i32 = aligned(i % 31, "f4").reshape(N, N), aligned(i % 101, "i4").reshape(N, N)
i8, j8, k8 = (aligned(i * k % 256, "u1").view("i1").reshape(N, N) for k in (1, 7, 0))
mask = np.empty((N, N), bool)
a3, b3, c3 = (x.reshape(M, M, M) for x in (a, b, c))
out = np.empty(N), np.empty((M, M)), np.empty(M)


def multiply_add(x, y, z):
    np.multiply(x, y, out=z)
    np.add(z, x, out=z)


def turned():
    np.multiply(a, 2, out=c)
    np.add(c, b.T, out=c)


def stride():
    np.multiply(a[::2, ::2], 2, out=half)
    np.add(half, b[::2, ::2], out=half)


def broadcast(x, doubled):
    np.multiply(x, 2, out=doubled)
    np.add(a, doubled, out=c)


def product_sum(x, y, z, axes, to):
    np.multiply(x, y, out=z)
    np.add.reduce(z, axis=axes, out=to)


def mixed():
    np.multiply(f32, i32, out=c)
    np.add(c, a, out=c)


def where():
    np.less(a, b, out=mask)
    np.copyto(c, b)
    np.add(a, 1, out=c, where=mask)


# In the order of layouts.c.
ROWS = [
    [lambda: multiply_add(a, b, c)],
    [lambda: multiply_add(a.T, b.T, c.T)],
    [turned],
    [stride],
    [lambda: broadcast(r, r2)],
    [lambda: broadcast(r[:, None], r2[:, None])],
    [lambda: product_sum(a, b, c, 0, out[0]),
     lambda: np.einsum("ij,ij->j", a, b, out=out[0])],
    [lambda: product_sum(a, b, c, 1, out[0]),
     lambda: np.einsum("ij,ij->i", a, b, out=out[0]),
     lambda: np.vecdot(a, b, out=out[0])],
    [lambda: product_sum(a3, b3, c3, 1, out[1]),
     lambda: np.einsum("ijk,ijk->ik", a3, b3, out=out[1])],
    [lambda: product_sum(a3, b3, c3, (0, 2), out[2]),
     lambda: np.einsum("ijk,ijk->j", a3, b3, out=out[2])],
    [lambda: product_sum(a, b, c, None, None),
     lambda: np.vdot(a, b)],
    [mixed],
    [lambda: multiply_add(i8, j8, k8)],
    [where, lambda: np.where(a < b, a + 1, b)],
]


def timed(function):
    function()
    start = time.perf_counter()
    for _ in range(TIMED):
        function()
    return (time.perf_counter() - start) / TIMED * 1e6


while row := sys.stdin.buffer.read(1):
    best = min(timed(function) for function in ROWS[row[0]])
    sys.stdout.buffer.write(struct.pack("d", best))
    sys.stdout.buffer.flush()
