#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/configure.sh: what was missing when a folder was configured is found once packages have
come, and the folder's options, compiler and contents are the same as before.

    check_configure.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIGURE = Path(__file__).resolve().parents[2] / "tools" / "configure.sh"
PROJECT = """project('later', 'c')
cc = meson.get_compiler('c')
later = cc.find_library('m', has_headers: 'later.h', required: false,
    header_args: '-I' + meson.current_source_dir())
configure_file(output: 'state', configuration: {
    'FOUND': later.found(), 'WANTED': get_option('wanted'), 'CC': cc.cmd_array()[-1]})
"""
passed = failed = 0


def check(what, good, shown=""):
    global passed, failed
    if good:
        passed += 1
        return
    failed += 1
    print(f"FAILED: {what}\n{shown}")


def configure(folder, *options, **environment):
    """Whether Meson ran, and what it wrote of the state."""
    done = subprocess.run([CONFIGURE, "build", *options], cwd=folder, capture_output=True,
                          text=True, env={**os.environ, **environment})
    check("its status", done.returncode == 0, done.stdout + done.stderr)
    return "Project name" in done.stdout, (folder / "build" / "state").read_text()


def check_project(folder):
    (folder / "meson.build").write_text(PROJECT)
    (folder / "meson_options.txt").write_text("option('wanted', type: 'string', value: 'little')")
    compiler = shutil.which("gcc")
    ran, state = configure(folder, "-Dwanted=much", CC=compiler)
    check("configured", ran and "undef FOUND" in state, state)
    (folder / "build" / "kept").write_text("")

    (folder / "later.h").write_text("")
    ran, same = configure(folder, "-Dwanted=little", CC="")
    check("nothing has changed", not ran and same == state, same)

    os.utime(folder / "build" / "configured", (0, 0))  # every package is newer
    ran, state = configure(folder, "-Dwanted=little", CC="")
    check("found", ran and "define FOUND" in state, state)
    check("its options", "WANTED much" in state, state)
    check("its compiler", f"CC {compiler}\n" in state, state)
    check("its contents", (folder / "build" / "kept").exists())
    ran, state = configure(folder)
    check("once is enough", not ran)

    (folder / "build" / "configured").unlink()
    ran, state = configure(folder)
    check("a person's own folder", not ran)


with tempfile.TemporaryDirectory() as folder:
    check_project(Path(folder))
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
