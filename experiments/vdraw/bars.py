# SPDX-License-Identifier: Apache-2.0
"""Medians as horizontal bars: all series of an experiment, sorted, each with its ratio to
vproc; vproc without each of its mechanisms; and all experiments in one picture."""

from vresults.names import WITHOUT

from . import svg
from .curves import subject
from .families import COLOURS, NAMES, TEXT_COLOURS, family_of
from .labels import spread
from .scale import Log, around, time_label, time_text

WIDTH, NAMES_WIDTH, VALUES_WIDTH, ROW = 1040, 240, 200, 19
TOP, BOTTOM = 60, 44
# Each family has a hatch of its own, for eyes and printers without colour.
HATCHES = {"c": "M0 6L6 0", "fortran": "M0 0L6 6", "python": "M3 0L3 6", "other": "M0 3L6 3"}


def fill_of(picture, family):
    """Solid for vproc, hatched in the family's colour for the others."""
    if family not in HATCHES:
        return COLOURS[family]
    name = f"hatch-{family}"
    colour = COLOURS[family]
    picture.define(name, f'<pattern id="{name}" width="6" height="6" '
                   f'patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="{colour}" '
                   f'fill-opacity="0.45"/><path d="{HATCHES[family]}" stroke="{colour}" '
                   'stroke-width="1.4"/></pattern>')
    return f"url(#{name})"


def ratio_text(ratio):
    digits = 2 if ratio < 9.995 else 1 if ratio < 99.95 else 0
    return f"{ratio:.{digits}f} ×"


def draw(experiment):
    """All series of an experiment, fastest first; None when there is none."""
    rows = sorted(experiment.shown, key=lambda s: s.median)
    if not rows:
        return None
    reference = experiment.find("vproc")
    return bar_chart(f"Medians of {subject(experiment)}", rows, lambda s: reference,
                     "median time per evaluation (bar), best (dot); logarithmic")


def bar_chart(title, rows, reference_of, axis, left_of=None):
    """`reference_of` says for a row which series its ratio is taken to, or None."""
    height = len(rows) * ROW
    picture = svg.Picture(WIDTH, TOP + height + BOTTOM, title)
    picture.text(24, 24, title, size=15, font_weight="bold", room=WIDTH - 48)
    left, right = NAMES_WIDTH, WIDTH - VALUES_WIDTH
    x = around([v for s in rows for v in (s.median, s.best)], left, right, margin=1.6)
    with_ratio = any(reference_of(s) for s in rows)
    picture.text(right + 10, TOP - 10, "median", size=11, fill=svg.FAINT)
    if with_ratio:
        picture.text(WIDTH - 14, TOP - 10, left_of or "relative to vproc", size=11,
                     fill=svg.FAINT, anchor="end")
    for value, labelled in x.ticks():
        picture.line(x(value), TOP, x(value), TOP + height, stroke=svg.GRID,
                     width=1 if labelled else 0.4)
        if labelled:
            picture.text(x(value), TOP + height + 16, time_label(value), size=11,
                         anchor="middle")
    picture.text((left + right) / 2, TOP + height + 36, axis, size=12, anchor="middle")
    for k, s in enumerate(rows):
        draw_bar(picture, s, TOP + k * ROW, x, reference_of(s))
    main = next((s for s in rows if s.name == "vproc"), None)
    if main:
        at = x(main.median)
        picture.line(at, TOP, at, TOP + height, stroke=svg.VERMILLION, width=1,
                     stroke_dasharray="3 3")
    return picture


def draw_bar(picture, s, top, x, reference):
    family, middle = family_of(s.name), top + ROW / 2
    weight = "bold" if s.name == "vproc" else None
    colour = TEXT_COLOURS[family]
    name = s.name + ("" if s.checked else " †")
    picture.begin(tip=f"{s.name} {s.flags}".strip())
    picture.text(NAMES_WIDTH - 8, middle + 4, name, size=11.5, fill=colour, anchor="end",
                 room=NAMES_WIDTH - 20, font_weight=weight)
    picture.rect(x.start, top + 3, x(s.median) - x.start, ROW - 6,
                 fill=fill_of(picture, family), stroke=COLOURS[family], stroke_width=0.8)
    picture.add("circle", cx=float(x(s.best)), cy=float(middle), r=2.2, fill="#fff",
                stroke=svg.INK, stroke_width=0.9)
    picture.text(x.end + 10, middle + 4, time_text(s.median), size=11.5, font_weight=weight)
    if reference:
        picture.text(WIDTH - 14, middle + 4, ratio_text(s.median / reference.median), size=11.5,
                     anchor="end", font_weight=weight)
    picture.end()


def draw_ablations(experiment):
    """vproc without one mechanism each, beside the whole; None when nothing was left out."""
    rows, references = [], {}
    for s in experiment.ablations:
        whole = experiment.find(s.name.partition(WITHOUT)[0])
        references[s.name] = whole
        if whole and whole not in rows:
            references[whole.name] = whole
            rows.append(whole)
        rows.append(s)
    if not rows:
        return None
    rows.sort(key=lambda s: (s.name.partition(WITHOUT)[0], WITHOUT in s.name, -s.median))
    return bar_chart(f"One mechanism switched off: {subject(experiment)}", rows,
                     lambda s: references[s.name],
                     "median time per evaluation (bar), best (dot); logarithmic",
                     "relative to the whole")


# --- all experiments -------------------------------------------------------------------------

STRIP, STRIP_NAMES = 58, 210
SIGNS = {"vproc": "circle", "c": "square", "fortran": "up", "python": "diamond", "other": "plus"}


def draw_summary(experiments):
    """Every series of every experiment as a mark at its ratio to vproc; None when no
    experiment has vproc and somebody else in it."""
    rows = []
    for e in experiments:
        ours = e.find("vproc")
        others = [s for s in e.shown if not s.is_vproc or s.name == "vproc-sync"]
        if ours and others:
            rows.append((e, ours, others))
    if not rows:
        return None
    height = len(rows) * STRIP
    picture = svg.Picture(WIDTH, TOP + 20 + height + BOTTOM, "All experiments, relative to vproc")
    picture.text(24, 24, picture.title, size=15, font_weight="bold")
    ratios = [s.median / ours.median for _, ours, others in rows for s in others]
    low, high = min(ratios + [1.0]) / 1.5, max(ratios + [1.0]) * 1.5
    x = Log(min(low, 0.5), max(high, 2.0), STRIP_NAMES, WIDTH - 40)
    top = TOP + 20
    draw_summary_legend(picture, rows)
    for value, labelled in x.ticks():
        picture.line(x(value), top, x(value), top + height, stroke=svg.GRID,
                     width=1 if labelled else 0.4)
        if labelled:
            picture.text(x(value), top + height + 16, f"{value:g} ×", size=11, anchor="middle")
    picture.line(x(1), top - 6, x(1), top + height, stroke=svg.VERMILLION, width=2.4)
    picture.text(x(1), top - 10, "vproc", size=12, fill=TEXT_COLOURS["vproc"], anchor="middle",
                 font_weight="bold")
    picture.text((x.start + x.end) / 2, top + height + 36,
                 "median relative to vproc's: right of the line vproc is faster; logarithmic",
                 size=12, anchor="middle")
    for k, (e, ours, others) in enumerate(rows):
        draw_strip(picture, e, ours, others, top + k * STRIP, x)
    return picture


def draw_summary_legend(picture, rows):
    at = 24
    present = {family_of(s.name) for _, _, others in rows for s in others}
    for family in [f for f in SIGNS if f in present]:
        svg.marker(picture, SIGNS[family], at + 5, 46, 3.6, COLOURS[family], family != "vproc")
        name = "vproc-sync" if family == "vproc" else NAMES[family]
        at += 14 + picture.text(at + 14, 50, name, size=11.5) + 16


def draw_strip(picture, e, ours, others, top, x):
    """One experiment: marks on a line, the fastest of each family named."""
    middle = top + 17
    picture.text(24, middle + 1, e.label, size=12.5, font_weight="bold", room=STRIP_NAMES - 40)
    picture.text(24, middle + 16, f"vproc {time_text(ours.median)}", size=11, fill=svg.FAINT,
                 room=STRIP_NAMES - 40)
    picture.line(x.start, middle, x.end, middle, stroke="#c8c8c8", width=0.8)
    best = {}
    for s in others:
        family = family_of(s.name)
        if s.checked and (family not in best or s.median < best[family].median):
            best[family] = s
        picture.begin(tip=f"{s.name}: {ratio_text(s.median / ours.median)} vproc")
        svg.marker(picture, SIGNS[family], x(s.median / ours.median), middle, 3.6,
                   COLOURS[family], family != "vproc" and s.checked)
        picture.end()
    named = sorted(best.values(), key=lambda s: s.median)
    words = [f"{s.name} {ratio_text(s.median / ours.median)}" for s in named]
    label_strip(picture, named, words, ours, middle, x)
    picture.line(24, top + STRIP - 4, WIDTH - 24, top + STRIP - 4, stroke=svg.GRID)


def label_strip(picture, named, words, ours, middle, x):
    """Names below the marks they belong to, side by side where they fit, each with a leader."""
    size = 10.5
    widths = [svg.text_width(w, size) + 14 for w in words]
    fair = (x.end - x.start) / max(len(words), 1)
    if sum(widths) > x.end - x.start:
        widths = [min(w, fair) for w in widths]
    wanted = [x(s.median / ours.median) for s in named]
    places = spread(wanted, widths, x.start, x.end)
    for s, word, width, at, mark in zip(named, words, widths, places, wanted):
        family = family_of(s.name)
        picture.line(mark, middle + 5, at, middle + 19, stroke=COLOURS[family], width=0.7)
        picture.text(at, middle + 30, word, size=size, fill=TEXT_COLOURS[family],
                     anchor="middle", room=width - 4, halo=True, class_="end-label")
