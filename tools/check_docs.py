#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages say can be compared with the source: the settings of the README and of the manual
page, its commands, the folders of docs/layout.md, the files that pages name, and links to files."""

import re
import sys
from pathlib import Path

from check_includes import ORDER

ROOT = Path(__file__).resolve().parent.parent
MANUAL = ROOT / "docs" / "vproc.1"
NAME = re.compile(r"\bVP_[A-Z_]+\b")


def read(name):
    return (ROOT / name).read_text()


def settings():
    """The variables that src/base/config.c reads, with the names that a value may have."""
    text = read("src/base/config.c")
    found = {name: set() for name in NAME.findall(" ".join(re.findall(r'"[^"\n]*"', text)))}
    for names, variable in re.findall(
            r'names\[\] = \{([^}]*)\};.*?value_of\("(\w+)"\)', text, re.S):
        found[variable] |= set(re.findall(r'"(\w+)"', names))
    return found


def known_settings():
    """Those that src/base/config.c tells misspelt ones from."""
    text = read("src/base/config.c")
    table = text.split("known[] = {")[1].split("}")[0]
    reads = re.findall(r'(?:value_of|read_flag)\("(VP_\w+)"', text)
    return set(NAME.findall(table)), set(reads)


def readme_settings():
    """The same as README.md has them, with all that stands in the row."""
    rows = re.findall(r"^\| `(VP_\w+)[^`]*` \|.*$", read("README.md"), re.M)
    return {name: next(line for line in read("README.md").splitlines()
                       if re.match(rf"\| `{name}\b", line)) for name in rows}


def manual_settings():
    """The same as the manual page has them, with all that stands below."""
    text = MANUAL.read_text().split(".SH ENVIRONMENT")[1].split("\n.SH ")[0]
    paragraphs = re.split(r"^\.TP\n", text, flags=re.M)[1:]
    return {NAME.findall(p)[0]: p for p in paragraphs}


def check_settings():
    known, reads = known_settings()
    for name in sorted(known ^ reads):
        yield f"src/base/config.c: {name} is {'known' if name in known else 'read'} and not " \
              f"{'read' if name in known else 'known'}"
    want = settings()
    for where, have in (("README.md", readme_settings()), ("docs/vproc.1", manual_settings())):
        for name in sorted(want.keys() - have.keys()):
            yield f"{where}: {name} is read by src/base/config.c and not described"
        for name in sorted(have.keys() - want.keys()):
            yield f"{where}: {name} is described and not read by src/base/config.c"
        for name in sorted(want.keys() & have.keys()):
            for value in sorted(want[name]):
                if not re.search(rf"\b{value}\b", have[name]):
                    yield f"{where}: {name} may be {value}, which its description does not say"


def check_commands():
    table = read("src/cli/main.c").split("commands[] = {")[1].split("\n};")[0]
    want = set(re.findall(r'\{"(\w+)",', table))
    text = MANUAL.read_text().split(".SH COMMANDS")[1].split("\n.SH ")[0]
    have = set(re.findall(r"^\.SS (\w+)", text, re.M))
    for name in sorted(want ^ have):
        yield f"docs/vproc.1: the command {name} is only {'described' if name in have else 'there'}"


def check_folders():
    rows = re.findall(r"^\| `([\w/]+)/` \|", read("docs/layout.md"), re.M)
    have = [folder for folder in rows if folder in ORDER]
    if have != ORDER:
        yield (f"docs/layout.md: the folders are {', '.join(have)}; tools/check_includes.py has "
               f"{', '.join(ORDER)}")
    for folder in rows:
        if not (ROOT / folder).is_dir():
            yield f"docs/layout.md: there is no folder {folder}"


def check_files():
    """Every file that a page names in `…` is there, at that path or at the end of another."""
    there = [path.relative_to(ROOT).as_posix()
             for folder in (ROOT / name for name in ("include", "src", "tests", "bench",
                                                     "experiments", "examples", "tools", "docs"))
             for path in folder.rglob("*") if path.is_file()]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name in re.findall(r"`([\w/.-]+\.(?:c|h|def|inc|py|sh|1))`", page.read_text()):
            if not any(("/" + path).endswith("/" + name) for path in there):
                yield f"{page.relative_to(ROOT)}: there is no file {name}"


def check_links():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: the link {target} leads nowhere"


def main():
    mistakes = [mistake for check in (check_settings, check_commands, check_folders, check_files,
                                      check_links) for mistake in check()]
    print("\n".join(mistakes or [f"docs: {len(settings())} settings, folders, files and links "
                                 "are those of the source"]))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
