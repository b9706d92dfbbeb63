# SPDX-License-Identifier: Apache-2.0
"""The experiments in NumPy, as one writes them."""

import numpy as np

from program import CLASSES, M0, NOT_M0, SHIFT, Program
from program import a1_input, counted, fft_input, first_centers, kmeans_input


class a1(Program):
    def prepare(self, size):
        self.a, self.b = a1_input()

    def once(self):
        self.r = np.sum((M0 & (self.a << SHIFT)) | (NOT_M0 & self.b), axis=1, dtype=np.uint32)


class a2(Program):
    def prepare(self, size):
        self.a = counted(size)

    def once(self):
        self.r = np.sum(np.abs(np.sin(self.a)), axis=0)


class a2_loop(a2):
    def once(self):
        a = self.a
        self.r = b = np.zeros(a.shape[1])
        for i in range(a.shape[1]):
            b[i] = np.sum(np.abs(np.sin(a[:, i])))


class a3(a2):
    def once(self):
        a = self.a
        self.r = b = np.zeros(a.shape[1])
        for i in range(a.shape[1]):
            b[0 : i + 1] = np.sum(np.abs(np.sin(a[:, i])))


class a4(Program):
    def prepare(self, size):
        self.x = kmeans_input(size)

    def once(self):
        x = self.x
        n = x.shape[1]
        centers = first_centers(x)
        classes = np.zeros(n, dtype=np.int64)
        iterations = 0
        while True:
            old = classes.copy()
            for i in range(n):
                classes[i] = np.argmin(np.sqrt(np.sum(np.square(x[:, i : i + 1] - centers), axis=0)))
            for j in range(CLASSES):
                found = np.flatnonzero(classes == j)
                if found.size > 0:
                    centers[:, j] = np.mean(x[:, found], axis=1)
            iterations += 1
            if not np.any(classes != old):
                break
        self.r = np.append(classes, iterations)


class fft(Program):
    def prepare(self, size):
        self.data1, self.data2 = fft_input(size)

    def once(self):
        r1 = np.abs(np.fft.fft(self.data1, axis=0))
        self.r = np.sum(r1 + np.abs(np.fft.fft(self.data2, axis=0)), axis=1)


class tiny(Program):
    def prepare(self, size):
        self.a, self.b = np.ones(size), np.arange(1.0, size + 1)

    def once(self):
        self.r = self.a + self.b
