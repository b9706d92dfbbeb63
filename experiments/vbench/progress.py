# SPDX-License-Identifier: Apache-2.0
"""Says on stderr what is running and how long it will take: a bar on a terminal, elsewhere a
line per experiment."""

import sys
import time

BAR, LABEL, WHAT = 16, 19, 24  # together a line of a small terminal


class Progress:
    def __init__(self, stream=sys.stderr):
        self.stream = stream
        self.live = stream.isatty()
        self.total = self.done = 0.0
        self.label = ""

    def begin(self, label, total_ms):
        """A new experiment of about so many milliseconds."""
        self.label, self.total, self.done = label, max(total_ms, 1.0), 0.0
        if not self.live:
            print(f"{label}: about {total_ms / 1000:.0f} s", file=self.stream, flush=True)

    def step(self, what, ms):
        self.done += ms
        if not self.live:
            return
        share = min(self.done / self.total, 1.0)
        bar = "#" * int(share * BAR)
        left = (self.total - self.done) / 1000
        when = f"{left:5.0f} s left" if left >= 0.5 else " nearly done"
        self.write(f"{self.label:<{LABEL}} [{bar:<{BAR}}] {what[:WHAT]:<{WHAT}} {when}")

    def reach(self, what, ms):
        """So much is done in all."""
        self.step(what, ms - self.done)

    def follow(self, what, process):
        """Until a process ends the bar moves with the clock: all that is known of its work is
        about how long it takes."""
        before = time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            self.step(what, (now - before) * 1e3)
            before = now

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
