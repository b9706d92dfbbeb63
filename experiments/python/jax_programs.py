# SPDX-License-Identifier: Apache-2.0
"""The experiments in JAX on the CPU: whole functions under `jit`, in 64 bits. JAX has no views
and no in-place loops, so A3 is left out; A4 maps the columns inside one compiled function."""

import os

# Whatever the person has set: the peer is the one on the cores.
os.environ["JAX_PLATFORMS"] = "cpu"

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np

from program import CLASSES, M0, NOT_M0, SHIFT, Program
from program import a1_input, counted, fft_input, first_centers, kmeans_input


class JaxProgram(Program):
    def finish(self):
        self.r.block_until_ready()


class a1(JaxProgram):
    def prepare(self, size):
        # The last index is the fastest there, so the axes are turned round.
        a, b = a1_input()
        self.a, self.b = jnp.asarray(a.T.copy()), jnp.asarray(b.T.copy())
        self.run = jax.jit(lambda a, b: jnp.sum((M0 & (a << SHIFT)) | (NOT_M0 & b), axis=2, dtype=jnp.uint32))

    def once(self):
        self.r = self.run(self.a, self.b)

    def result(self):
        return np.asarray(self.r).ravel().astype(np.float64)


class a2(JaxProgram):
    def prepare(self, size):
        self.a = jnp.asarray(counted(size).T.copy())
        self.run = jax.jit(lambda a: jnp.sum(jnp.abs(jnp.sin(a)), axis=1))

    def once(self):
        self.r = self.run(self.a)


class a4(JaxProgram):
    def prepare(self, size):
        x = kmeans_input(size)
        self.first = jnp.asarray(first_centers(x).T.copy())
        self.x = jnp.asarray(x.T.copy())

        def nearest(centers, column):
            return jnp.argmin(jnp.sqrt(jnp.sum(jnp.square(column - centers), axis=1)))

        def step(x, centers):
            classes = jax.lax.map(lambda column: nearest(centers, column), x)
            members = classes[None, :] == jnp.arange(CLASSES)[:, None]
            count = jnp.sum(members, axis=1)
            means = (members.astype(x.dtype) @ x) / jnp.maximum(count, 1)[:, None]
            return classes, jnp.where(count[:, None] > 0, means, centers)

        self.step = jax.jit(step)

    def once(self):
        centers, classes, iterations = self.first, jnp.zeros(self.x.shape[0], dtype=jnp.int64), 0
        while True:
            old = classes
            classes, centers = self.step(self.x, centers)
            iterations += 1
            if not bool(jnp.any(classes != old)):
                break
        self.r = jnp.append(classes, iterations)


class fft(JaxProgram):
    def prepare(self, size):
        self.data1, self.data2 = (jnp.asarray(d.T.copy()) for d in fft_input(size))

        def run(data1, data2):
            r1 = jnp.abs(jnp.fft.fft(data1, axis=1))
            return jnp.sum(r1 + jnp.abs(jnp.fft.fft(data2, axis=1)), axis=0)

        self.run = jax.jit(run)

    def once(self):
        self.r = self.run(self.data1, self.data2)


class tiny(JaxProgram):
    def prepare(self, size):
        self.a, self.b = jnp.ones(size), jnp.arange(1.0, size + 1)
        self.run = jax.jit(lambda a, b: a + b)

    def once(self):
        self.r = self.run(self.a, self.b)
