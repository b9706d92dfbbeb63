# SPDX-License-Identifier: Apache-2.0
"""Names of instructions in the pictures of program F."""

import collections

from vresults.names import JOIN


def numbered(names):
    """The names of one evaluation's instructions; operations that occur more than once in it
    are numbered, wherever they were fused to, so that abs 2 is the same in every picture."""
    counts = collections.Counter(op for name in names for op in name.split(JOIN))
    seen, found = collections.Counter(), []
    for name in names:
        parts = []
        for op in name.split(JOIN):
            seen[op] += 1
            parts.append(f"{op} {seen[op]}" if counts[op] > 1 else op)
        found.append(JOIN.join(parts))
    return found
