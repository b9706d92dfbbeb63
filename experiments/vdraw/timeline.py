# SPDX-License-Identifier: Apache-2.0
"""Who ran what when, as the paper's figures 2 and 3: one instruction at a time above, the same
program on the net below, on one time axis. The first evaluation is in full colour; what comes
after it is pale, and fills what the first leaves idle."""

import math
import re

from . import svg
from .figures import LONGEST, dict_of, is_number, is_time, list_of, text_of
from .naming import numbered
from .scale import time_text

WIDTH, LEFT, RIGHT, TOP = 1040, 110, 30, 66
ROW, PANEL_HEAD, PANEL_GAP = 36, 40, 26
PALETTE = (svg.BLUE, svg.ORANGE, svg.GREEN, svg.PURPLE, svg.SKY, svg.VERMILLION, svg.YELLOW,
           svg.GREY)
DARK = {svg.BLUE, svg.GREEN, svg.VERMILLION, svg.GREY}
TITLES = {"sync": "one instruction at a time (VP_SYNC=1), as in the paper's Figure 2",
          "net": "on the net, as in the paper's Figure 3"}


def usable(panel):
    """A panel with everything in it that can be drawn, or None."""
    panel = dict_of(panel)
    threads = [text_of(t) for t in list_of(panel.get("threads"))]
    instructions = [dict_of(i) for i in list_of(panel.get("instructions"))]
    boxes = [b for b in list_of(panel.get("boxes")) if is_box(b, len(threads), len(instructions))]
    waits = [w for w in list_of(panel.get("waits"))
             if isinstance(w, list) and len(w) == 3 and is_box(w + [0], len(threads), 1)]
    if not boxes:
        return None
    end = panel.get("end_us")
    last = max([b[2] for b in boxes] + ([end] if is_time(end) else []))
    issued = panel.get("issued_us")
    return {"threads": threads, "instructions": instructions, "boxes": boxes, "waits": waits,
            "end": last, "issued": issued if is_time(issued) and issued <= last else None}


def is_box(box, threads, instructions):
    return (isinstance(box, list) and len(box) == 4
            and all(map(is_number, box))
            and 0 <= box[0] < threads and 0 <= box[3] < instructions
            and int(box[0]) == box[0] and int(box[3]) == box[3]
            and 0 <= box[1] <= box[2] <= LONGEST)


def draw(timeline):
    """The figure, or None when there is nothing to draw."""
    timeline = dict_of(timeline)
    panels = [(mode, usable(timeline.get(mode))) for mode in TITLES]
    panels = [(mode, p) for mode, p in panels if p]
    if not panels:
        return None
    threads = max(len(p["threads"]) for _, p in panels)
    rows = {mode: rows_of(p, threads) for mode, p in panels}
    names = label_instructions(panels)
    colours = colours_of(names)
    legend = legend_rows(colours)
    panels_height = sum(PANEL_HEAD + len(r) * ROW + PANEL_GAP for r in rows.values())
    height = TOP + panels_height + 40 + legend * 18 + 30
    size = timeline.get("size")
    title = "F, who runs what when" + (f" (size {size})" if is_time(size) else "")
    picture = svg.Picture(WIDTH, height, title)
    picture.text(24, 26, title, size=15, font_weight="bold")
    picture.text(24, 46, "Full colour: the first evaluation. Pale: the one after it.", size=12,
                 fill=svg.FAINT)
    picture.define("wait", '<pattern id="wait" width="5" height="5" '
                   'patternUnits="userSpaceOnUse"><path d="M0 5L5 0" stroke="#c4c4c4" '
                   'stroke-width="0.8"/></pattern>')
    scale = (WIDTH - LEFT - RIGHT) / (max(p["end"] for _, p in panels) * 1.02 or 1)
    top = TOP
    for mode, panel in panels:
        draw_panel(picture, mode, panel, rows[mode], names[mode], colours, scale, top)
        top += PANEL_HEAD + len(rows[mode]) * ROW + PANEL_GAP
    draw_axis(picture, scale, top - 8)
    draw_legend(picture, colours, top + 40)
    return picture


def rows_of(panel, threads):
    """{thread: its name} of those that have a row: the caller and who ran anything. The others
    share one, under None."""
    busy = {int(b[0]) for b in panel["boxes"]} | {0}
    rows = {t: panel["threads"][t] for t in sorted(busy)}
    idle = threads - len(rows)
    if idle:
        rows[None] = f"{idle} idle"
    return rows


def label_instructions(panels):
    """{mode: [name of each instruction]}, numbered within each evaluation."""
    found = {}
    for mode, panel in panels:
        of_turn = {}
        for k, i in enumerate(panel["instructions"]):
            of_turn.setdefault(text_of(i.get("evaluation")), []).append(k)
        names = [text_of(i.get("name")) or "?" for i in panel["instructions"]]
        for members in of_turn.values():
            for k, name in zip(members, numbered([names[m] for m in members])):
                names[k] = name
        found[mode] = names
    return found


def colours_of(names):
    """A colour for each name, the same in all panels; what was fused has the colour of one of
    its parts."""
    colours, used = {}, 0
    for name in dict.fromkeys(n for of_mode in names.values() for n in of_mode):
        part = next((other for other in colours if words_of(other) <= words_of(name)), None)
        colours[name] = colours[part] if part else PALETTE[used % len(PALETTE)]
        used += part is None
    return colours


def words_of(name):
    """The operations of a name, and its number: {"abs", "fft", "2"} of "abs(fft) 2"."""
    return set(re.findall(r"\w+", name))


def draw_panel(picture, mode, panel, rows, names, colours, scale, top):
    def x(us):
        return LEFT + us * scale

    width = picture.text(24, top + 14, TITLES[mode], size=13, font_weight="bold")
    picture.text(24 + width + 14, top + 14, second_evaluation(panel), size=12, fill=svg.FAINT)
    first_row = top + PANEL_HEAD
    bottom = first_row + len(rows) * ROW
    row_of = {thread: k for k, thread in enumerate(rows)}
    for k, name in enumerate(rows.values()):
        y = first_row + k * ROW
        picture.text(LEFT - 10, y + ROW / 2 + 4, name, size=12, anchor="end", room=LEFT - 34)
        picture.rect(LEFT, y + 4, WIDTH - LEFT - RIGHT, ROW - 8, fill="#f6f6f6")
    for thread, start, end in panel["waits"]:
        if thread not in row_of:
            continue
        picture.rect(x(start), first_row + row_of[thread] * ROW + 4, (end - start) * scale, ROW - 8,
                     fill="url(#wait)")
    for box in sorted(panel["boxes"], key=lambda b: b[1] - b[2]):  # long ones below short ones
        draw_box(picture, panel, box, names, colours, x, first_row + row_of[box[0]] * ROW)
    for i in panel["instructions"]:
        if issued_at(panel, i) is not None:
            at = x(issued_at(panel, i))
            picture.line(at, first_row + 1, at, first_row + 6, width=0.8)
    draw_marks(picture, panel, x, first_row, bottom)


def draw_box(picture, panel, box, names, colours, x, row_top):
    start, end, index = box[1], box[2], int(box[3])
    first = panel["instructions"][index].get("evaluation") == 0
    colour = colours[names[index]]
    left, width = x(start), max(x(end) - x(start), 0.6)
    top = row_top + 6
    picture.begin(tip=f"{names[index]}: {time_text(max((end - start) / 1e3, 1e-6))}",
                  class_="box")
    picture.rect(left, top, width, ROW - 12, fill="#fff")
    picture.rect(left, top, width, ROW - 12, fill=colour, fill_opacity=1 if first else 0.22,
                 stroke=colour if not first else svg.INK, stroke_width=0.7,
                 stroke_dasharray=None if first else "3 2")
    if width > 16 and svg.text_width(names[index], 10.5) < width - 4:
        dark = first and colour in DARK
        picture.text(left + width / 2, top + (ROW - 12) / 2 + 4, names[index], size=10.5,
                     fill="#fff" if dark else svg.INK, anchor="middle")
    picture.end()


def issued_at(panel, instruction):
    """When it was given in, or None when the file does not say a time of this picture."""
    at = instruction.get("issued_us")
    return at if is_number(at) and 0 <= at <= panel["end"] else None


def second_evaluation(panel):
    """What is true of the one after the first, in words."""
    issued = [issued_at(panel, i) for i in panel["instructions"] if i.get("evaluation") == 1]
    issued = [at for at in issued if at is not None]
    end = first_evaluation(panel)[1]
    if end is None or not issued:
        return ""
    return ("The second evaluation is given in "
            + ("before the first is done." if min(issued) < end else "when the first is done."))


def first_evaluation(panel):
    """When its last instruction was given in, and when its last piece was done."""
    issued, end = [], []
    for k, i in enumerate(panel["instructions"]):
        if i.get("evaluation") == 0:
            issued += [issued_at(panel, i)] if issued_at(panel, i) is not None else []
            end += [b[2] for b in panel["boxes"] if b[3] == k]
    return max(issued, default=None), max(end, default=None)


def draw_marks(picture, panel, x, top, bottom):
    """E: the caller is through with the first evaluation. End: its result is there."""
    through, end = first_evaluation(panel)
    # One instruction at a time the caller is through when its last instruction is.
    if through is not None and end is not None and panel["issued"] is not None \
            and panel["issued"] >= end:
        through = end
    if end is not None:
        at = x(end)
        picture.line(at, top - 6, at, bottom, width=2.6)
        picture.path([(at - 5, top - 12), (at + 5, top - 12), (at, top - 3)], fill=svg.INK,
                     closed=True)
        anchor = "end" if at > WIDTH - 160 else "start"
        shift = -9 if anchor == "end" else 9
        picture.text(at + shift, top - 5, f"End, {time_text(max(end / 1e3, 1e-6))}", size=11.5,
                     font_weight="bold", anchor=anchor)
    if through is not None:
        at = x(through)
        # Beside the other mark where the two coincide.
        off = -16 if end is not None and abs(at - x(end)) < 20 and through >= end else 0
        picture.line(at, top - 6, at, top + ROW, width=1)
        picture.add("circle", cx=float(at + off), cy=float(top - 12), r=8.0, fill="#fff",
                    stroke=svg.INK, stroke_width=1.3)
        picture.text(at + off, top - 8, "E", size=11, anchor="middle", font_weight="bold")
    done = x(panel["end"])
    picture.line(done, top, done, bottom, stroke=svg.FAINT, width=1, stroke_dasharray="4 3")


def draw_axis(picture, scale, y):
    """Linear time, in steps of 1, 2 or 5."""
    span = (WIDTH - LEFT - RIGHT) / scale
    step = 10 ** math.floor(math.log10(span / 4))
    step *= next((m for m in (1, 2, 5, 10) if span / (step * m) <= 10), 10)
    picture.line(LEFT, y, WIDTH - RIGHT, y, stroke=svg.FAINT)
    for k in range(int(span / step) + 1):
        at = LEFT + k * step * scale
        picture.line(at, y, at, y + 4, stroke=svg.FAINT)
        label = "0" if k == 0 else axis_label(k * step)
        picture.text(at, y + 17, label, size=11, anchor="middle")
    picture.text(24, y + 17, "time", size=12)


def axis_label(us):
    return f"{us / 1e3:.6g} ms" if us >= 1000 else f"{us:.6g} µs"


def legend_rows(colours):
    return len(legend_places(colours)[1])


def legend_places(colours):
    """[(name, x, row)] and the rows."""
    x, row, places, rows = LEFT, 0, [], {0}
    for name in list(colours) + ["caller waits", "dashed line: everything is done"]:
        width = 24 + min(svg.text_width(name, 11), 300) + 18
        if x + width > WIDTH - RIGHT and x > LEFT:
            x, row = LEFT, row + 1
            rows.add(row)
        places.append((name, x, row))
        x += width
    return places, rows


def draw_legend(picture, colours, y):
    for name, x, row in legend_places(colours)[0]:
        at = y + row * 18
        if name in colours:
            picture.rect(x, at - 9, 16, 11, fill=colours[name], stroke=svg.INK, stroke_width=0.6)
        elif name == "caller waits":
            picture.rect(x, at - 9, 16, 11, fill="url(#wait)", stroke="#c4c4c4",
                         stroke_width=0.6)
        else:
            picture.line(x + 8, at - 11, x + 8, at + 3, stroke=svg.FAINT, stroke_dasharray="4 3")
        picture.text(x + 22, at, name, size=11, room=300)
