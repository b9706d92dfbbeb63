# SPDX-License-Identifier: Apache-2.0
"""What programs in Python have in common: inputs, and results as float64 in column order."""

import numpy as np


class Program:
    def prepare(self, size):
        raise NotImplementedError

    def once(self):
        """One evaluation; leaves its result in self.r."""
        raise NotImplementedError

    def evaluate(self, times):
        for _ in range(times):
            self.once()

    def finish(self):
        pass

    def result(self):
        return np.asarray(self.r).ravel(order="F").astype(np.float64)


M0 = np.uint32(1142251548)
NOT_M0 = np.uint32(~1142251548 & 0xFFFFFFFF)
SHIFT = np.uint32(17)
CLASSES = 50


def a1_input():
    count = np.arange(507 * 10 * 5 * 17, dtype=np.uint64)
    a = (1507 + 200 * count).astype(np.uint32).reshape((507, 10, 5, 17), order="F")
    b = (1507 + np.arange(5 * 17)).astype(np.uint32).reshape((1, 1, 5, 17), order="F")
    return a, b


def counted(n):
    """1, 2, 3, … in column order: the matrix of A2 and A3."""
    return np.arange(1, n * n + 1, dtype=np.float64).reshape((n, n), order="F")


def kmeans_input(n):
    r, c = np.meshgrid(np.arange(401.0), np.arange(401.0), indexing="ij")
    t = np.rint(
        1000 + 400 * np.sin(0.013 * r + 0.021 * c) + 250 * np.sin(0.031 * r - 0.017 * c + 1)
        + 120 * np.sin(0.07 * c + 0.05 * r + 2) + 60 * np.sin(0.11 * r) * np.sin(0.13 * c + 0.5))
    times = -(-n // 401)
    x = np.tile(t, (times, times))[:n, :n] * np.sin(0.1 * np.arange(1, n + 1))[:, None]
    return np.asfortranarray(x)


def first_centers(x):
    n = x.shape[1]
    return np.asfortranarray(x[:, np.linspace(0, n - 2, CLASSES).astype(np.int64)])


def fft_input(n):
    count = np.arange(n * n, dtype=np.float64).reshape((n, n), order="F")
    return np.sin(count), np.cos(3 * count)
