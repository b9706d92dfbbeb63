# SPDX-License-Identifier: Apache-2.0
"""Where labels go when the things they belong to are closer together than words are large."""


def spread(wanted, sizes, low, high):
    """Middles as near to the wanted ones as can be (least squares), in the same order, with
    labels of these sizes side by side within low…high. More than there is room for come
    closer, evenly.

    With what lies before each label subtracted, "side by side" means "not decreasing", so
    this is an isotonic regression: neighbours in the wrong order share their mean.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    total = sum(sizes)
    shrink = min(1.0, (high - low) / total) if total > 0 else 1.0
    before, offsets = 0.0, []
    for i in order:
        offsets.append(before + sizes[i] * shrink / 2)
        before += sizes[i] * shrink
    blocks = []  # [mean, members]
    for i, offset in zip(order, offsets):
        block = [wanted[i] - offset, 1]
        while blocks and blocks[-1][0] >= block[0]:
            mean, members = blocks.pop()
            both = members + block[1]
            block = [(mean * members + block[0] * block[1]) / both, both]
        blocks.append(block)
    found, k = [0.0] * len(wanted), 0
    for mean, members in blocks:
        mean = min(max(mean, low), high - before)
        for _ in range(members):
            found[order[k]] = mean + offsets[k]
            k += 1
    return found
