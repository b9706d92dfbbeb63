# SPDX-License-Identifier: Apache-2.0
"""NumPy's side of bench-net, which starts it: for every byte on standard input it answers
with the nanoseconds of one of a chain of 1000 additions, as a double.

The result gets memory that is there, which is the quickest way NumPy has to say it.
"""

import struct
import sys
import time

import numpy as np

from aligned import aligned

LENGTH = 1000
b, c = (aligned(np.ones(100), "f8") for _ in range(2))

while sys.stdin.buffer.read(1):
    start = time.perf_counter()
    for _ in range(LENGTH):
        np.add(c, b, out=c)
    each = (time.perf_counter() - start) / LENGTH * 1e9
    sys.stdout.buffer.write(struct.pack("d", each))
    sys.stdout.buffer.flush()
