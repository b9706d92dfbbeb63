#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One program of one experiment in Python, taking the orders that ../driver.c describes.

    driver.py MODULE PROGRAM      for example: driver.py numpy_programs a1
"""

import importlib
import sys
import time


def serve(program):
    for line in sys.stdin:
        order, *rest = line.split(maxsplit=1)
        if order == "prepare":
            program.prepare(int(rest[0]))
            answer = "prepared"
        elif order == "sample":
            times = int(rest[0])
            begin = time.perf_counter()
            program.evaluate(times)
            issued = time.perf_counter()
            program.finish()
            end = time.perf_counter()
            answer = f"sample {(end - begin) * 1e3:.6f} {(issued - begin) * 1e3:.6f}"
        elif order == "result":
            numbers = program.result()
            numbers.tofile(rest[0].strip())
            answer = f"result {numbers.size}"
        elif order == "counters":
            answer = "counters 0 0 0"
        else:
            sys.exit(f"not an order: {line}")
        print(answer, flush=True)


if __name__ == "__main__":
    serve(getattr(importlib.import_module(sys.argv[1]), sys.argv[2])())
