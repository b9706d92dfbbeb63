# SPDX-License-Identifier: Apache-2.0
"""The dependency graph of a program as it was executed, in layers from the data at the top to
the result at the bottom: the paper's figure 1. Rectangles are data, rounded boxes instructions.

The layout is the usual one for layered graphs (Sugiyama, Tagawa and Toda, 1981): layers by the
longest way from a source, edges that pass a layer get a place in it, and each layer is ordered
by the mean position of its neighbours.
"""

from . import svg
from .figures import dict_of, is_time, list_of, text_of
from .naming import numbered

WIDTH, TOP, BOX_HEIGHT, LAYER, MOST_NODES = 1040, 92, 40, 78, 60
TITLES = {"sync": ("as the program says", "every instruction by itself, VP_SYNC=1"),
          "net": ("as it ran on the net", "element-wise chains fused into one kernel")}
SWEEPS = 8
FILLS = {"kernel": "#fdebd9", "library": "#d9ebf7", "input": "#f2f2f2", "result": "#f2f2f2"}


def bytes_text(count):
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count:g} bytes"


def usable(graph):
    """(nodes, edges) that can be drawn, or None. An edge back to where it came from, or to an
    earlier instruction, cannot come out of a trace and is left out."""
    graph = dict_of(graph)
    nodes = [dict_of(n) for n in list_of(graph.get("nodes"))]
    edges = {}
    for e in list_of(graph.get("edges")):
        if (isinstance(e, list) and len(e) == 3 and all(isinstance(v, int) for v in e[:2])
                and all(0 <= v < len(nodes) for v in e[:2]) and e[0] != e[1]):
            if edges.get((e[0], e[1])) != "data":
                edges[(e[0], e[1])] = text_of(e[2])
    if not 0 < len(nodes) <= MOST_NODES or is_cyclic(len(nodes), edges):
        return None
    return nodes, edges


def is_cyclic(count, edges):
    degree = [0] * count
    for _, b in edges:
        degree[b] += 1
    free = [n for n in range(count) if not degree[n]]
    for n in free:
        for a, b in edges:
            if a == n:
                degree[b] -= 1
                if not degree[b]:
                    free.append(b)
    return len(free) < count


def layers_of(count, edges):
    """The layer of each node: data directly above who needs it first, all else below the last
    of its predecessors."""
    level = [0] * count
    for _ in range(count):
        for a, b in edges:
            level[b] = max(level[b], level[a] + 1)
    for n in range(count):
        if not any(b == n for _, b in edges):
            below = [level[b] for a, b in edges if a == n]
            level[n] = min(below) - 1 if below else 0
    return level


def layout(nodes, edges):
    """[[item]] per layer and {edge: [items it passes]}; an item is a node's number or a pair
    (edge, layer) that keeps a place free for a line."""
    level = layers_of(len(nodes), edges)
    layers = [[] for _ in range(max(level) + 1)]
    for n in range(len(nodes)):
        layers[level[n]].append(n)
    routes = {}
    for e in edges:
        passing = [(e, k) for k in range(level[e[0]] + 1, level[e[1]])]
        for p in passing:
            layers[p[1]].append(p)
        routes[e] = [e[0], *passing, e[1]]
    neighbours = {}
    for route in routes.values():
        for a, b in zip(route, route[1:]):
            neighbours.setdefault(b, {}).setdefault("up", []).append(a)
            neighbours.setdefault(a, {}).setdefault("down", []).append(b)
    for sweep in range(SWEEPS):
        way = "up" if sweep % 2 == 0 else "down"
        order = layers[1:] if way == "up" else layers[-2::-1]
        place = {item: position(layer, item) for layer in layers for item in layer}
        for layer in order:
            layer.sort(key=lambda item: mean_place(neighbours.get(item, {}).get(way), place,
                                                   place[item]))
            for item in layer:
                place[item] = position(layer, item)
    return layers, routes


def position(layer, item):
    return (layer.index(item) + 0.5) / len(layer)


def mean_place(items, place, otherwise):
    return sum(place[i] for i in items) / len(items) if items else otherwise


def draw(graph):
    """The figure, both forms side by side; None when there is neither."""
    graph = dict_of(graph)
    panels = [(mode, usable(graph.get(mode))) for mode in TITLES]
    panels = [(mode, p) for mode, p in panels if p]
    if not panels:
        return None
    arranged = [(mode, p, layout(*p)) for mode, p in panels]
    deepest = max(len(layers) for _, _, (layers, _) in arranged)
    size = graph.get("size")
    title = "F, who depends on whom" + (f" (size {size})" if is_time(size) else "")
    picture = svg.Picture(WIDTH, TOP + deepest * LAYER + 34, title)
    picture.text(24, 26, title, size=15, font_weight="bold")
    picture.define("arrow", '<marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" '
                   'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8Z" '
                   f'fill="{svg.INK}"/></marker>')
    width = (WIDTH - 48) / len(arranged)
    for k, (mode, (nodes, edges), (layers, routes)) in enumerate(arranged):
        left = 24 + k * width
        picture.text(left + width / 2, 54, TITLES[mode][0], size=13, anchor="middle",
                     font_weight="bold", room=width - 10)
        picture.text(left + width / 2, 71, TITLES[mode][1], size=11.5, anchor="middle",
                     fill=svg.FAINT, room=width - 10)
        draw_panel(picture, nodes, edges, layers, routes, left + 8, width - 16)
    draw_legend(picture, TOP + deepest * LAYER + 16)
    return picture


def draw_panel(picture, nodes, edges, layers, routes, left, width):
    widest = max(len(layer) for layer in layers)
    box = min(210.0, width / widest - 14)
    centre = {}
    for k, layer in enumerate(layers):
        for item in layer:
            centre[item] = (left + position(layer, item) * width, TOP + k * LAYER + 20)
    for e, route in routes.items():
        draw_edge(picture, [centre[i] for i in route], edges[e])
    names = numbered([text_of(n.get("name")) or "?" for n in nodes])
    for n, node in enumerate(nodes):
        draw_node(picture, node, names[n], *centre[n], box)


def draw_edge(picture, points, kind):
    """A smooth line from the lower side of the first box to the upper side of the last,
    straight down where it passes a layer."""
    half = BOX_HEIGHT / 2
    (x0, y0), (x1, y1) = points[0], points[-1]
    stops = [(x0, y0 + half)]
    for x, y in points[1:-1]:
        stops += [(x, y - half), (x, y + half)]
    stops.append((x1, y1 - half - 2))
    d = f"M{svg.number(stops[0][0])} {svg.number(stops[0][1])}"
    for k in range(1, len(stops)):
        (ax, ay), (bx, by) = stops[k - 1], stops[k]
        middle = svg.number((ay + by) / 2)
        d += (f"C{svg.number(ax)} {middle} {svg.number(bx)} {middle} "
              f"{svg.number(bx)} {svg.number(by)}")
    picture.add("path", d=d, fill="none", stroke=svg.INK, stroke_width=1.2, class_="edge",
                stroke_dasharray=None if kind == "data" else "5 3", marker_end="url(#arrow)")


def draw_node(picture, node, name, x, y, width):
    kind = text_of(node.get("kind"))
    size = node.get("bytes")
    details = []
    if kind in ("kernel", "library"):
        details.append(kind)
    if is_time(size):
        details.append(bytes_text(size))
    threads = [text_of(t) for t in list_of(node.get("threads"))]
    if threads:
        details.append(", ".join(threads))
    picture.begin(tip=f"{name}: {', '.join(details)}", class_="node")
    picture.rect(x - width / 2, y - BOX_HEIGHT / 2, width, BOX_HEIGHT,
                 fill=FILLS.get(kind, "#fff"), stroke=svg.INK,
                 stroke_width=1.6 if kind in ("input", "result") else 1,
                 rx=0 if kind in ("input", "result") else 18)
    line = y - 3 if details else y + 4
    picture.text(x, line, name, size=12.5, anchor="middle", font_weight="bold", room=width - 12)
    if details:
        picture.text(x, y + 12, ", ".join(details), size=10, anchor="middle", fill=svg.FAINT,
                     room=width - 14)
    picture.end()


def draw_legend(picture, y):
    x = 32
    for kind, words in (("kernel", "kernel"), ("library", "library function"), ("input", "data")):
        picture.rect(x, y - 9, 18, 12, fill=FILLS[kind], stroke=svg.INK, stroke_width=0.8,
                     rx=0 if kind == "input" else 5)
        x += 24 + picture.text(x + 24, y, words, size=11) + 18
    picture.line(x, y - 4, x + 22, y - 4, width=1.2)
    x += 28 + picture.text(x + 28, y, "data flows", size=11) + 18
    picture.line(x, y - 4, x + 22, y - 4, width=1.2, stroke_dasharray="5 3")
    picture.text(x + 28, y, "order only: written after it was read", size=11)
