# SPDX-License-Identifier: Apache-2.0
"""How a series looks. Its family has a colour; within the family dash and marker tell the
members apart, so that nothing hangs on colour alone. vproc's own series are drawn thicker, and
the main one, `vproc`, is the thickest and has a colour to itself."""

from dataclasses import dataclass

from . import svg

DASHES = (None, "7 3", "2 2.5", "9 3 2 3", "4 2", "12 4", "1.5 1.5 6 1.5", "5 2 1 2 1 2")
MARKERS = ("circle", "square", "up", "diamond", "down", "cross", "plus")

NAMES = {"vproc": "vproc", "c": "C", "fortran": "Fortran", "python": "Python", "paper": "paper",
         "other": "other"}
COLOURS = {"vproc": svg.VERMILLION, "c": svg.BLUE, "fortran": svg.GREEN, "python": svg.PURPLE,
           "other": svg.INK, "paper": svg.GREY,
           "vproc-other": svg.ORANGE}
# Words in the family's colour: as dark as small type on white needs.
TEXT_COLOURS = {"vproc": "#b34700", "c": "#005a8e", "fortran": "#00664a", "python": "#a04f7d",
                "other": svg.INK, "paper": "#6b6b6b", "vproc-other": "#8f6200"}
PREFIXES = (("vproc", "vproc"), ("gfortran", "fortran"), ("fortran", "fortran"),
            ("numpy", "python"), ("numba", "python"), ("jax", "python"), ("cupy", "python"),
            ("torch", "python"), ("c", "c"), ("fftw", "c"), ("mkl", "c"))


@dataclass(frozen=True)
class Look:
    family: str
    colour: str
    text_colour: str
    dash: object
    marker: str
    filled: bool
    width: float
    emphasis: bool


def family_of(name):
    for prefix, family in PREFIXES:
        if name == prefix or name.startswith(prefix + "-"):
            return family
    return "other"


def looks_of(names):
    """A look for each name, in the order given; the same names always look the same."""
    found, members = {}, {}
    for name in names:
        family = family_of(name)
        index = members.get(family, 0)
        members[family] = index + 1
        main = name == "vproc"
        shade = "vproc-other" if family == "vproc" and not main else family
        found[name] = Look(
            family=family, colour=COLOURS[shade], text_colour=TEXT_COLOURS[shade],
            dash=DASHES[index % len(DASHES)], marker=MARKERS[index % len(MARKERS)],
            filled=index < len(MARKERS), emphasis=main,
            width=3.4 if main else 2.0 if family == "vproc" else 1.3)
    return found
