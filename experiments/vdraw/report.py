# SPDX-License-Identifier: Apache-2.0
"""Draws everything that a run, or a file of one, has to show, and the page around it."""

import re
from pathlib import Path

from . import bars, captions, curves, graph, page, timeline
from .figures import dict_of, experiment_from, list_of


class Folder:
    """Where pictures go. No two get the same name, and each has a number on the page."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.written, self.used = [], set()

    def write(self, name, content):
        stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "figure"
        unique, k = stem, 2
        while unique in self.used:
            unique, k = f"{stem}-{k}", k + 1
        self.used.add(unique)
        return self.save(f"{unique}.svg", content)

    def save(self, name, content):
        path = self.path / name
        path.write_text(content, encoding="utf-8")
        self.written.append(path)
        return path

    def figure(self, name, picture, caption):
        """Writes a picture and returns its markup; nothing for None."""
        if picture is None:
            return []
        self.write(name, str(picture))
        return [page.figure(picture, caption, len(self.written))]


def draw_all(folder, machine_facts, experiments):
    """Writes the figures and report.html; returns the paths."""
    folder = Folder(folder)
    given = [dict_of(e) for e in list_of(experiments)]
    known = [experiment_from(e) for e in given]
    sections = []
    measured = [e for e, raw in zip(known, given) if "lines" not in raw]
    overview = folder.figure("summary", bars.draw_summary(measured), captions.summary())
    if overview:
        sections.append(("All experiments", overview))
    for one, raw in zip(known, given):
        title = one.title + (f", size {one.size}" if one.size else "")
        sections.append((title, experiment_parts(folder, one, raw)))
    folder.save("report.html", page.page(machine_facts, sections))
    return folder.written


def experiment_parts(folder, one, raw):
    if "lines" in raw:  # a part of the processor, whose own program says it all
        return [page.listing(list_of(raw["lines"])), page.notes(left_out(one))]
    parts = folder.figure(f"{one.label} curves", curves.draw(one), captions.curves(one))
    parts += folder.figure(f"{one.label} medians", bars.draw(one), captions.bars(one))
    if one.ablations:
        parts += folder.figure(f"{one.label} without", bars.draw_ablations(one),
                               captions.ablations(one))
    parts += folder.figure(f"{one.label} dependencies", graph.draw(raw.get("graph")),
                           captions.graph())
    parts += folder.figure(f"{one.label} threads", timeline.draw(raw.get("timeline")),
                           captions.timeline(raw.get("timeline")))
    parts += [page.result_table(raw), page.flags_table(one.series), page.notes(left_out(one))]
    return parts or ["<p>Nothing was measured.</p>"]


def left_out(one):
    lines = [f"{s.name}: {s.check}" for s in one.series if not s.checked and s.check]
    lines += [f"left out: {name}: {why}" for name, why in one.left_out.items()]
    return lines + one.trouble
