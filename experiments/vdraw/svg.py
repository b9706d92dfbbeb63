# SPDX-License-Identifier: Apache-2.0
"""Pictures as SVG text: shapes, words whose width can be estimated, and a palette.

Figures have to be drawn wherever the experiments run, so there is no plotting library here
and no font to measure with. Widths are those of DejaVu Sans, which is wider than the fonts
most viewers have; what fits by this estimate fits in the others too.
"""

from xml.sax.saxutils import escape, quoteattr

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"

# Okabe and Ito's colours, which people with any common colour blindness can tell apart.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"

INK, FAINT, GRID, GREY = "#222222", "#666666", "#e4e4e4", "#808080"

BOLD = 1.14  # how much wider bold words are

NARROW, WIDE = frozenset("fijlrtI.,:;'|!()[]{}/\\ "), frozenset("mwMWQO@%&—+<>=~×≤≥#")


def text_width(text, size):
    """How wide a word is at most, in the units of its size."""
    em = 0.0
    for c in text:
        if ord(c) > 0x2E80:  # ideographs and the like are square
            em += 1.0
        elif c in NARROW:
            em += 0.42
        elif c in WIDE:
            em += 0.92
        elif c.isupper():
            em += 0.72
        else:
            em += 0.62
    return em * size


def shortened(text, size, room):
    """The text, or as much of its beginning as there is room for, with an ellipsis."""
    text = printable(text)
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def printable(text):
    """Without characters that XML has no way to write."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def number(value):
    """A coordinate: two decimals are less than anybody sees."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def attributes(given):
    """Python names have no hyphens, and `class` is taken."""
    out = []
    for key, value in given.items():
        if value is None:
            continue
        key = key.rstrip("_").replace("_", "-")
        value = number(value) if isinstance(value, float) else str(value)
        out.append(f" {key}={quoteattr(value)}")
    return "".join(out)


class Picture:
    """An SVG document that grows by one shape per call."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, printable(title)
        self.parts, self.definitions, self.open_groups = [], {}, 0

    def add(self, element, inside=None, **given):
        body = f">{inside}</{element}>" if inside is not None else "/>"
        self.parts.append(f"<{element}{attributes(given)}{body}")

    def define(self, name, markup):
        """Something to be referred to as url(#name); the same name is the same thing."""
        self.definitions[name] = markup

    def begin(self, tip=None, **given):
        """A group; what is said in `tip` is shown when the pointer rests on it."""
        self.parts.append(f"<g{attributes(given)}>")
        if tip:
            self.parts.append(f"<title>{escape(printable(tip))}</title>")
        self.open_groups += 1

    def end(self):
        self.parts.append("</g>")
        self.open_groups -= 1

    def line(self, x1, y1, x2, y2, stroke=INK, width=1.0, **given):
        self.add("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=stroke,
                 stroke_width=width, **given)

    def rect(self, x, y, width, height, fill="none", **given):
        self.add("rect", x=float(x), y=float(y), width=float(max(width, 0)),
                 height=float(max(height, 0)), fill=fill, **given)

    def path(self, points, stroke=INK, width=1.0, fill="none", closed=False, **given):
        d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + "Z" * closed
        self.add("path", d=d, fill=fill, stroke=stroke, stroke_width=width, **given)

    def text(self, x, y, words, size=12, fill=INK, anchor="start", room=None, halo=False,
             second="", **given):
        """Words with their base line at y, then a second, short text. With `room` the words
        are cut to fit, and the whole of them is the tip; a halo keeps them legible on lines.
        Returns their width."""
        words = printable(words)
        em = size * (BOLD if given.get("font_weight") == "bold" else 1)
        gap = em * 0.6 + text_width(second, em) if second else 0
        shown = shortened(words, em, room - gap) if room is not None else words
        inside = escape(shown)
        if second:
            inside += f'<tspan dx="{number(em * 0.6)}">{escape(printable(second))}</tspan>'
        if shown != words:
            inside += f"<title>{escape(words)}</title>"
        placed = {"x": float(x), "y": float(y), "font_size": size,
                  "text_anchor": anchor if anchor != "start" else None}
        if halo:  # as words of their own, because not every viewer knows paint-order
            self.add("text", escape(shown), **placed, fill="#fff", stroke="#fff",
                     stroke_width=3, stroke_linejoin="round", class_="halo", aria_hidden="true")
        self.add("text", inside, **placed, fill=fill, **given)
        return text_width(shown, em) + gap

    def __str__(self):
        assert self.open_groups == 0
        defs = "".join(self.definitions.values())
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{number(self.width)}" '
                f'height="{number(self.height)}" viewBox="0 0 {number(self.width)} '
                f'{number(self.height)}" font-family="{FONT}" role="img">\n'
                f"<title>{escape(self.title)}</title>\n" + (f"<defs>{defs}</defs>\n" * bool(defs))
                + '<rect width="100%" height="100%" fill="#fff"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def marker(picture, shape, x, y, size, colour, filled=True):
    """One of the signs that tell series apart where colour cannot."""
    fill = colour if filled else "#fff"
    style = {"stroke": colour, "fill": fill, "width": 1.2}
    r = size
    if shape == "circle":
        picture.add("circle", cx=float(x), cy=float(y), r=float(r), fill=fill, stroke=colour,
                    stroke_width=1.2)
    elif shape == "square":
        picture.path([(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
                     closed=True, **style)
    elif shape == "up":
        picture.path([(x, y - r * 1.2), (x + r * 1.1, y + r * 0.9), (x - r * 1.1, y + r * 0.9)],
                     closed=True, **style)
    elif shape == "down":
        picture.path([(x, y + r * 1.2), (x + r * 1.1, y - r * 0.9), (x - r * 1.1, y - r * 0.9)],
                     closed=True, **style)
    elif shape == "diamond":
        picture.path([(x, y - r * 1.3), (x + r * 1.3, y), (x, y + r * 1.3), (x - r * 1.3, y)],
                     closed=True, **style)
    elif shape == "cross":
        picture.path([(x - r, y - r), (x + r, y + r)], stroke=colour, width=1.5)
        picture.path([(x - r, y + r), (x + r, y - r)], stroke=colour, width=1.5)
    elif shape == "plus":
        picture.path([(x - r * 1.2, y), (x + r * 1.2, y)], stroke=colour, width=1.5)
        picture.path([(x, y - r * 1.2), (x, y + r * 1.2)], stroke=colour, width=1.5)
