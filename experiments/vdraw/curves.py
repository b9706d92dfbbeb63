# SPDX-License-Identifier: Apache-2.0
"""Time per evaluation over running time, both logarithmic, from the first evaluation on: the
manner of the paper's figures 4 to 7. Every curve and every reference line has its label at the
right end, in the order of their values, so that the column reads as a ranking."""

import math
import statistics

from . import svg
from .families import NAMES, TEXT_COLOURS, looks_of
from .labels import spread
from .scale import around, time_label, time_text

WIDTH, LEFT, TOP, BOTTOM = 1040, 84, 74, 56
MOST_LABELS = 330  # width of the column of labels at most
LABEL_HEIGHT, LABEL_SIZE, LEAD = 15.5, 11.5, 34
LEAST_HEIGHT, EXACT, BINS, MARKED = 480, 8, 70, 5


def thinned(samples, bins=BINS):
    """[(elapsed, median, min)]: the first samples as they are, because compiling shows in
    single ones, then at most one entry per slice of logarithmic time."""
    found = [(elapsed, ms, ms) for elapsed, ms in samples[:EXACT]]
    rest = samples[EXACT:]
    if not rest:
        return found
    first, last = rest[0][0], rest[-1][0]
    width = math.log(last / first) / bins if last > first else 1.0
    slices = {}
    for elapsed, ms in rest:
        slices.setdefault(int(math.log(elapsed / first) / width), []).append((elapsed, ms))
    return found + [(statistics.median(e for e, _ in s), statistics.median(m for _, m in s),
                     min(m for _, m in s)) for _, s in sorted(slices.items())]


def draw(experiment):
    """The figure, or None when no series has samples."""
    drawn = [(s, thinned(s.samples)) for s in experiment.shown if s.samples]
    if not drawn:
        return None
    looks = looks_of([s.name for s in experiment.shown])
    count = len(drawn) + len(experiment.paper)
    height = max(LEAST_HEIGHT, count * LABEL_HEIGHT + 10)
    picture = svg.Picture(WIDTH, TOP + height + BOTTOM, heading(experiment))
    right = WIDTH - label_column_width(drawn, experiment.paper)
    x = around([p[0] for _, points in drawn for p in points], LEFT, right, margin=1.1)
    y = around([v for _, points in drawn for p in points for v in p[1:]]
               + [v for both in experiment.paper.values() for v in both], TOP + height, TOP)
    draw_frame(picture, experiment, x, y)
    for least, most in experiment.paper.values():
        if least < most:
            picture.rect(LEFT, y(most), right - LEFT, y(least) - y(most), fill=svg.GREY,
                         fill_opacity=0.10)
        for ms in dict.fromkeys((least, most)):
            picture.line(LEFT, y(ms), right, y(ms), stroke=svg.GREY, width=1,
                         stroke_dasharray="6 4")
    # Ours last, on top of the others.
    for s, points in sorted(drawn, key=lambda d: looks[d[0].name].width):
        draw_curve(picture, s, points, looks[s.name], x, y)
    draw_labels(picture, drawn, looks, experiment.paper, x, y)
    return picture


def label_column_width(drawn, paper):
    words = [f"{s.name} †  {time_text(s.plateau)}" for s, _ in drawn]
    words += [f"{label}  {range_text(*both)}" for label, both in paper.items()]
    widest = max(svg.text_width(w, LABEL_SIZE) for w in words)
    return min(LEAD + 24 + widest, MOST_LABELS)


def range_text(least, most):
    """One time, or both ends where the paper gives a range."""
    return time_text(least) if least == most else f"{time_text(least)} – {time_text(most)}"


def heading(experiment):
    figure = f" (the paper's {experiment.figure})" if experiment.figure else ""
    return subject(experiment) + figure


def subject(experiment):
    return experiment.title + (f", size {experiment.size}" if experiment.size else "")


def draw_frame(picture, experiment, x, y):
    """Title, legend of the families, axes and grid."""
    picture.text(LEFT - 60, 24, picture.title, size=15, font_weight="bold",
                 room=WIDTH - LEFT + 40)
    draw_legend(picture, experiment, LEFT, 50)
    for value, labelled in x.ticks():
        at = x(value)
        picture.line(at, y.end, at, y.start, stroke=svg.GRID, width=1 if labelled else 0.4)
        if labelled:
            picture.text(at, y.start + 18, time_label(value), size=11.5, anchor="middle")
    for value, labelled in y.ticks():
        at = y(value)
        picture.line(x.start, at, x.end, at, stroke=svg.GRID, width=1 if labelled else 0.4)
        if labelled:
            picture.text(x.start - 8, at + 4, time_label(value), size=11.5, anchor="end")
    picture.path([(x.start, y.end), (x.start, y.start), (x.end, y.start)], stroke=svg.FAINT)
    picture.text((x.start + x.end) / 2, y.start + 42, "running time of the process", size=12.5,
                 anchor="middle")
    middle = (y.start + y.end) / 2
    picture.text(20, middle, "time per evaluation", size=12.5, anchor="middle",
                 transform=f"rotate(-90 20 {svg.number(middle)})")


def draw_legend(picture, experiment, x, y):
    shown = {}
    for look in looks_of([s.name for s in experiment.shown]).values():
        name = NAMES[look.family]
        if look.family == "vproc" and not look.emphasis:
            name = "vproc, other settings"
        shown.setdefault(name, look)
    for name, look in shown.items():
        picture.line(x, y - 4, x + 26, y - 4, stroke=look.colour, width=look.width)
        x += 32
        x += picture.text(x, y, name, size=12) + 14
    if experiment.paper:
        picture.line(x, y - 4, x + 26, y - 4, stroke=svg.GREY, stroke_dasharray="6 4")
        picture.text(x + 32, y, "the paper's own plateaus, on its machine", size=12)


def draw_curve(picture, s, points, look, x, y):
    picture.begin(tip=f"{s.name} {s.flags}".strip(), class_="curve")
    at = [(x(e), y(m)) for e, m, _ in points]
    if len(points) > 1:
        below = [(x(e), y(low)) for e, _, low in reversed(points)]
        if any(a[1] != b[1] for a, b in zip(at, reversed(below))):
            picture.path(at + below, stroke="none", fill=look.colour, closed=True,
                         fill_opacity=0.10)
        picture.path(at, stroke=look.colour, width=look.width, stroke_dasharray=look.dash,
                     stroke_linejoin="round", stroke_opacity=1 if look.width > 1.5 else 0.85)
    size = 3.6 if look.emphasis else 2.7
    for k in marked(at):
        svg.marker(picture, look.marker, *at[k], size, look.colour, look.filled)
    picture.end()


def marked(at):
    """Which points carry the series' sign: both ends, and some about equally far apart."""
    chosen, step = {0, len(at) - 1}, (at[-1][0] - at[0][0]) / MARKED
    following = at[0][0] + step
    for k, (x, _) in enumerate(at):
        if x >= following and at[-1][0] - x > step / 2:
            chosen.add(k)
            following = x + step
    return sorted(chosen)


def draw_labels(picture, drawn, looks, paper, x, y):
    """The column at the right: where it starts on the curve, a leader, sign, name, value."""
    right = x.end
    column = right + LEAD
    room = WIDTH - column - 14 - 6
    entries = []
    for s, points in drawn:
        look = looks[s.name]
        start = (x(points[-1][0]), y(points[-1][1]))
        name = s.name + ("" if s.checked else " †")
        entries.append((y(s.plateau), start, name, time_text(s.plateau), look))
    for label, both in paper.items():
        middle = sum(map(y, both)) / 2
        entries.append((middle, (right, middle), label, range_text(*both), None))
    places = spread([e[0] for e in entries], [LABEL_HEIGHT] * len(entries), y.end - 4,
                    y.start + 4)
    for place, (_, start, name, value, look) in zip(places, entries):
        colour = look.colour if look else svg.GREY
        picture.path([start, (right + 4, start[1]), (column - 8, place), (column - 3, place)],
                     stroke=colour, width=0.7, stroke_opacity=0.6)
        if look:
            svg.marker(picture, look.marker, column + 4, place, 3.2, colour, look.filled)
        bold = bool(look and look.emphasis)
        picture.text(column + 14, place + 4, name, size=LABEL_SIZE, room=room, second=value,
                     fill=look.text_colour if look else TEXT_COLOURS["paper"],
                     font_weight="bold" if bold else None,
                     font_style=None if look else "italic", class_="end-label")
