# SPDX-License-Identifier: Apache-2.0
"""Says on stderr what is running and how long it will take: a bar on a terminal, elsewhere a
line per experiment."""

import sys
import time

WIDTH = 24


class Progress:
    def __init__(self, stream=sys.stderr):
        self.stream = stream
        self.live = stream.isatty()
        self.total = self.done = 0.0
        self.label = ""
        self.began = time.monotonic()

    def begin(self, label, total_ms):
        """A new experiment of about so many milliseconds."""
        self.label, self.total, self.done = label, max(total_ms, 1.0), 0.0
        self.began = time.monotonic()
        if not self.live:
            print(f"{label}: about {total_ms / 1000:.0f} s", file=self.stream, flush=True)

    def step(self, what, ms):
        self.done += ms
        if not self.live:
            return
        share = min(self.done / self.total, 1.0)
        bar = "#" * int(share * WIDTH)
        left = (self.total - self.done) / 1000
        self.write(f"{self.label:<10} [{bar:<{WIDTH}}] {what:<28} {max(left, 0):5.0f} s left")

    def tell(self, line):
        """A line that stays."""
        if self.live:
            self.write("")
        print(line, file=self.stream, flush=True)

    def end(self):
        if self.live:
            self.write("")

    def write(self, text):
        self.stream.write("\r\033[K" + text)
        self.stream.flush()
