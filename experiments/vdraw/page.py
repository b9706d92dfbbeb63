# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page: machine, tables, figures and what to see in them. Everything is
in the file itself; there are no scripts, and nothing is loaded from anywhere."""

import re
from html import escape

from vresults import table

from .figures import completed, dict_of, is_number, list_of, text_of
from .svg import printable

STYLE = """
body { max-width: 1060px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff;
       font: 15px/1.5 Helvetica, Arial, 'DejaVu Sans', sans-serif; }
h1 { font-size: 26px; margin-bottom: 0.2em; }
h2 { font-size: 19px; margin: 2.2em 0 0.4em; border-bottom: 1px solid #ccc; }
figure { margin: 1.2em 0; }
figure svg { width: 100%; height: auto; }
figcaption { font-size: 13.5px; color: #444; max-width: 860px; }
table { border-collapse: collapse; font-size: 12.5px; margin: 0.8em 0; }
th, td { padding: 2px 8px; text-align: right; border-bottom: 1px solid #e4e4e4;
         white-space: nowrap; }
th { border-bottom: 1px solid #888; font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
table.facts td, table.flags td, table.flags th { text-align: left; white-space: normal; }
tr.ours td { font-weight: 700; }
.wide { overflow-x: auto; }
pre { font-size: 12px; overflow-x: auto; }
ul { font-size: 13.5px; }
@media print { body { margin: 0; font-size: 12px; max-width: none; }
  figure, table { break-inside: avoid; } figcaption, ul { font-size: 10.5px; }
  h1 { font-size: 20px; } h2 { font-size: 14px; break-after: avoid; }
  .wide { overflow: visible; }
  table { font-size: 9.5px; } th, td { padding: 1px 4px; } }
"""


def page(machine, sections):
    """sections: [(title, [markup])]; markup is HTML already."""
    body = "\n".join(f"<section><h2>{text(title)}</h2>\n" + "\n".join(parts) + "</section>"
                     for title, parts in sections)
    return ("<!DOCTYPE html>\n"
            '<html lang="en"><head><meta charset="utf-8"/>\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
            f"<title>vproc bench</title><style>{STYLE}</style></head><body>\n"
            "<h1>vproc: the experiments and their peers</h1>\n"
            + machine_table(machine) + body + "</body></html>\n")


def text(value):
    return escape(printable(value))


def figure(picture, caption, number):
    """A picture with its caption: sentences. Names within the picture are made its own, since
    all pictures share the page."""
    markup = str(picture)
    markup = re.sub(r'\bid="([\w-]+)"', rf'id="f{number}-\1"', markup)
    markup = re.sub(r"url\(#([\w-]+)\)", rf"url(#f{number}-\1)", markup)
    words = " ".join(text(sentence) for sentence in caption if sentence)
    return f"<figure>{markup}<figcaption>{words}</figcaption></figure>"


def bytes_text(count):
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count:g} bytes"


def machine_table(machine):
    machine = dict_of(machine)
    rows = []

    def row(name, value):
        if value not in ("", None):
            rows.append(f"<tr><td>{text(name)}</td><td>{text(value)}</td></tr>")

    row("processor", text_of(machine.get("cpu")))
    row("cores", machine.get("cores"))
    row("threads in use", machine.get("threads"))
    row("instruction set", machine.get("isa"))
    caches = [bytes_text(c) for c in list_of(machine.get("caches")) if is_number(c)]
    row("caches", ", ".join(f"L{k + 1} {c}" for k, c in enumerate(caches)))
    if is_number(machine.get("memory")):
        row("memory", bytes_text(machine["memory"]))
    if is_number(machine.get("handover_ns")):
        row("hand-over between cores", f"{machine['handover_ns']:.0f} ns")
    if is_number(machine.get("handover_end_ns")):
        row("the same at the end", f"{machine['handover_end_ns']:.0f} ns")
    together = [f"{machine[key]:.2f}" for key in ("together", "together_end")
                if is_number(machine.get(key))]
    row("two cores over one", " at the beginning, ".join(together)
        + " at the end" * (len(together) == 2))
    row("placement", text_of(machine.get("placement")).replace("note: ", ""))
    row("compiler of kernels", machine.get("compiler"))
    libraries = [text_of(machine.get(key)) for key in ("blas", "fftw")]
    row("libraries", ", ".join(name for name in libraries if name))
    devices = [text_of(dict_of(d).get("name")) for d in list_of(machine.get("devices"))]
    row("devices", ", ".join(devices))
    versions = dict_of(machine.get("versions"))
    row("versions", ", ".join(f"{k} {v}" for k, v in versions.items()))
    return f'<table class="facts">{"".join(rows)}</table>\n' if rows else ""


def result_table(experiment):
    """The table of the terminal, as HTML."""
    rows = [f"<tr>{''.join(f'<th>{text(h)}</th>' for h in table.HEAD)}</tr>"]
    for cells in table.rows_of(completed(experiment)):
        ours = ' class="ours"' if cells[0] == "vproc" else ""
        rows.append(f"<tr{ours}>{''.join(f'<td>{text(c)}</td>' for c in cells)}</tr>")
    if len(rows) == 1:
        return ""
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def flags_table(series):
    """What each series was built or started with; those with nothing are not listed."""
    by_flags = {}
    for s in series:
        if s.flags:
            by_flags.setdefault(s.flags, []).append(s.name)
    if not by_flags:
        return ""
    rows = "".join(f"<tr><td>{text(', '.join(names))}</td><td><code>{text(flags)}</code></td></tr>"
                   for flags, names in by_flags.items())
    return f'<table class="flags"><tr><th>series</th><th>flags or settings</th></tr>{rows}</table>'


def notes(lines):
    if not lines:
        return ""
    return "<ul>" + "".join(f"<li>{text(line)}</li>" for line in lines) + "</ul>"


def listing(lines):
    return f"<pre>{text_lines(lines)}</pre>"


def text_lines(lines):
    return "\n".join(text(text_of(line)) for line in lines)
