# SPDX-License-Identifier: Apache-2.0
"""What is to be seen in a figure, in sentences made from its own figures."""

from .bars import ratio_text
from .figures import dict_of
from .scale import time_text
from .timeline import first_evaluation, usable


def times_as(ratio, other):
    """How a time compares, ratio being the other's divided by ours."""
    if 0.95 <= ratio <= 1.05:
        return f"about as fast as {other}"
    if ratio > 1:
        return f"{ratio_text(ratio)} as fast as {other}"
    return f"{ratio_text(1 / ratio)} slower than {other}".replace(" × slower", " times slower")


def fastest(series):
    return min(series, key=lambda s: s.plateau, default=None)


def curves(experiment):
    yield ("Every curve begins with its first evaluation, compilation included, and is drawn "
           "over the running time of its own process; the label has the plateau, the median of "
           "the later half.")
    ours = experiment.find("vproc")
    if ours:
        yield f"vproc starts at {time_text(ours.first)} and ends at {time_text(ours.plateau)}."
        peer = fastest([s for s in experiment.shown if not s.is_vproc and s.checked])
        if peer:
            yield (f"The fastest peer is {peer.name} with {time_text(peer.plateau)}: vproc is "
                   f"{times_as(peer.plateau / ours.plateau, peer.name)}.")
        sync = experiment.find("vproc-sync")
        if sync:
            yield ("The same program one instruction at a time takes "
                   f"{time_text(sync.plateau)}.")
    if any(len(s.samples) > 80 for s in experiment.shown):
        yield ("Where samples are dense the line is their median and the shade below it reaches "
               "to the fastest of them.")
    if experiment.paper:
        yield ("Dashed grey lines are the plateaus of the paper (A Virtual Processor brings back "
               "the Free Lunch), measured on another machine; they show its ratios, not a time to "
               "beat.")
        if any(least < most for least, most in experiment.paper.values()):
            yield "A grey band is where the paper's text and figures give a range."
    if any(not s.checked for s in experiment.shown):
        yield "† marks a series whose result is not valid or differs."


def bars(experiment):
    yield ("The median over the whole run but the first sample, and beside it the ratio to "
           "vproc's: more than 1 means slower than vproc. The dot is the best sample.")
    ours = experiment.find("vproc")
    peers = [s for s in experiment.shown if not s.is_vproc and s.checked]
    if ours and peers:
        slower = sum(s.median > ours.median for s in peers)
        yield f"{slower} of {len(peers)} valid peers are slower than vproc."


def ablations(experiment):
    yield ("Each bar is vproc with one mechanism switched off. The longer it is, the more that "
           "mechanism pays in this program; a ratio near 1 means that it does not matter here.")
    slowest = max(experiment.ablations, key=lambda s: s.median)
    yield f"The longest is {slowest.name} with {time_text(slowest.median)}."


def summary():
    yield ("One line per experiment: every series but vproc's own settings at its ratio to "
           "vproc's median. The fastest valid one of each family is named; an empty square is "
           "a series whose result is not valid.")


def graph():
    yield ("Nodes are instructions with the kind of code that ran, the size of their result and "
           "the threads that ran them, taken from a real run's trace; edges are its "
           "dependencies. Left every instruction is by itself, right the net has fused what is "
           "computed element by element.")


def timeline(given):
    yield ("Both halves are real runs on one time axis, the least disturbed of several each. "
           "Ticks at the top of the caller's row are instructions being given in; E is where "
           "the caller is through with the first evaluation, End where its result is there.")
    ends = {}
    for mode in ("sync", "net"):
        panel = usable(dict_of(given).get(mode))
        if panel:
            ends[mode] = (first_evaluation(panel)[1], panel["end"])
    if len(ends) == 2 and all(e[1] > 0 for e in ends.values()):
        yield (f"Both evaluations together take {time_text(ends['sync'][1] / 1e3)} one "
               f"instruction at a time and {time_text(ends['net'][1] / 1e3)} on the net.")
    yield ("Time in which the system took a core away shows as long boxes: the machine was not "
           "this program's alone.")
