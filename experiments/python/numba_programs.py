# SPDX-License-Identifier: Apache-2.0
"""The experiments in Numba: explicit loops, compiled for one thread and, in the classes that
end in _parallel, with `parallel=True` and prange. numba_a1 and numba_a1_parallel share a
function's text, which is compiled twice."""

import numba
import numpy as np
from numba import prange

from program import CLASSES, M0, NOT_M0, SHIFT, Program
from program import a1_input, counted, first_centers, kmeans_input


def a1_loops(a, b, r):
    for kl in prange(5 * 17):
        k, l = kl % 5, kl // 5
        other = NOT_M0 & b[0, 0, k, l]
        r[:, k, l] = 0
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                r[i, k, l] += (M0 & (a[i, j, k, l] << SHIFT)) | other


def a2_loops(a, r):
    for i in prange(a.shape[1]):
        total = 0.0
        for k in range(a.shape[0]):
            total += abs(np.sin(a[k, i]))
        r[i] = total


def a3_loops(a, r):
    for i in range(a.shape[1]):
        total = 0.0
        for k in range(a.shape[0]):
            total += abs(np.sin(a[k, i]))
        r[: i + 1] = total


def assign_columns(x, centers, classes):
    for i in prange(x.shape[1]):
        nearest = np.inf
        for j in range(centers.shape[1]):
            total = 0.0
            for r in range(x.shape[0]):
                d = x[r, i] - centers[r, j]
                total += d * d
            total = np.sqrt(total)
            if total < nearest:
                nearest = total
                classes[i] = j


def move_centers(x, centers, classes):
    for j in prange(centers.shape[1]):
        members = 0
        for i in range(x.shape[1]):
            if classes[i] == j:
                members += 1
        if members > 0:
            centers[:, j] = 0
            for i in range(x.shape[1]):
                if classes[i] == j:
                    for r in range(x.shape[0]):
                        centers[r, j] += x[r, i]
            for r in range(x.shape[0]):
                centers[r, j] /= members


def compiled(function, parallel):
    return numba.njit(parallel=parallel, fastmath=True)(function)


class a1(Program):
    parallel = False

    def prepare(self, size):
        self.a, self.b = a1_input()
        self.r = np.zeros((507, 5, 17), dtype=np.uint32, order="F")
        self.run = compiled(a1_loops, self.parallel)

    def once(self):
        self.run(self.a, self.b, self.r)


class a2(Program):
    parallel = False
    loops = staticmethod(a2_loops)

    def prepare(self, size):
        self.a = counted(size)
        self.r = np.zeros(size)
        self.run = compiled(type(self).loops, self.parallel)

    def once(self):
        self.run(self.a, self.r)


class a3(a2):
    loops = staticmethod(a3_loops)


class a4(Program):
    parallel = False

    def prepare(self, size):
        self.x = kmeans_input(size)
        self.assign = compiled(assign_columns, self.parallel)
        self.move = compiled(move_centers, self.parallel)

    def once(self):
        centers = first_centers(self.x)
        classes = np.zeros(self.x.shape[1], dtype=np.int64)
        iterations = 0
        while True:
            old = classes.copy()
            self.assign(self.x, centers, classes)
            self.move(self.x, centers, classes)
            iterations += 1
            if not np.any(classes != old):
                break
        self.r = np.append(classes, iterations)


class a1_parallel(a1):
    parallel = True


class a2_parallel(a2):
    parallel = True


class a4_parallel(a4):
    parallel = True
