# SPDX-License-Identifier: Apache-2.0
"""Logarithmic axes of times, with ticks that read well."""

import math
from fractions import Fraction

UNITS = ((1e-6, "ns"), (1e-3, "µs"), (1.0, "ms"), (1e3, "s"))


def time_label(ms):
    """A round time, as on a tick: 10 µs, 200 ms, 5 s."""
    for size, unit in reversed(UNITS):
        if ms >= size * 0.9999 or unit == "ns":
            return f"{float(f'{ms / size:.3g}'):g} {unit}"
    return ""


def time_text(ms):
    """A measured time, three digits."""
    for size, unit in reversed(UNITS):
        if ms >= size * 0.9995 or unit == "ns":
            value = ms / size
            digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
            return f"{value:.{digits}f} {unit}"
    return ""


class Log:
    """A logarithmic scale from `low`…`high` to `start`…`end` of the picture."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end
        self.lows, self.decades = math.log10(low), math.log10(high) - math.log10(low)

    def __call__(self, value):
        share = (math.log10(value) - self.lows) / self.decades
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self):
        """(value, whether it has a label): every decade, and 2 and 5 in between where there
        are few of them."""
        steps = (1, 2, 5) if self.decades <= 3.2 else (1,)
        found = []
        for exponent in range(math.floor(self.lows) - 1, math.ceil(self.lows + self.decades) + 1):
            for step in range(1, 10):
                value = float(step * Fraction(10) ** exponent)
                if self.low * 0.9999 <= value <= self.high * 1.0001:
                    found.append((value, step in steps))
        return found


def around(values, start, end, margin=1.25):
    """A scale with room around the values; at least one decade, so that noise does not fill
    the picture. Values must be positive and finite."""
    low, high = min(values) / margin, max(values) * margin
    if high / low < 10:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(10), middle * math.sqrt(10)
    return Log(low, high, start, end)
