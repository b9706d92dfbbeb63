# SPDX-License-Identifier: Apache-2.0
"""Makes a series into a command that can be started: finds vproc's own programs, compiles the
peers in C and Fortran for this machine, and finds or makes a Python that has the rest.

What cannot be had is a Missing with a sentence that says so; the series is left out.
"""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent
COMPILERS = {"c": "gcc", "fortran": "gfortran"}
PACKAGES = ("numpy", "numba", "jax")


class Missing(Exception):
    pass


class Builder:
    def __init__(self, programs, work, tell):
        self.programs = Path(programs).resolve()  # where vproc's own programs are
        self.work = Path(work).resolve()  # where peers are compiled
        self.tell = tell
        self.work.mkdir(parents=True, exist_ok=True)

    def command(self, series):
        if series.kind == "vproc":
            return [str(self.own(series.program))]
        if series.kind == "python":
            module, program = series.program.split()
            return [self.python(module.split("_")[0]), str(SOURCES / "python" / "driver.py"),
                    module, program]
        return [str(self.compiled(series))]

    def own(self, program):
        path = self.programs / f"vproc-{program}"
        if not path.exists():
            raise Missing(f"{path.name} is not built")
        return path

    # --- compiled peers ---------------------------------------------------------------

    def sources(self, series):
        if series.kind == "c":
            return [SOURCES / "c" / f"{series.program}.c", SOURCES / "driver.c"]
        return [SOURCES / "fortran" / "support.f90", SOURCES / "fortran" / f"{series.program}.f90",
                SOURCES / "fortran" / "result.c", SOURCES / "driver.c"]

    def compiled(self, series):
        """Compiled again only when a source, a flag or the compiler changed."""
        compiler = shutil.which(COMPILERS[series.kind])
        if not compiler:
            raise Missing(f"{COMPILERS[series.kind]} is not installed")
        sources = self.sources(series)
        key = hashlib.sha256(repr((compiler_version(compiler), series)).encode())
        for path in sources + sorted(SOURCES.glob("*.h")) + sorted(SOURCES.glob("c/*.h")):
            key.update(path.read_bytes())
        program = self.work / f"{series.name}-{series.program}-{key.hexdigest()[:12]}"
        if program.exists():
            return program
        self.tell(f"compiling {series.name} of {series.program}")
        folder = self.work / (program.name + ".tmp")
        folder.mkdir(exist_ok=True)
        cpp = ["-cpp"] if series.kind == "fortran" else []
        command = [compiler, *cpp, *series.flags, *map(str, sources), "-o", str(folder / "program"),
                   *series.libraries, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(folder)
            raise Missing(first_error(done.stderr, series))
        os.replace(folder / "program", program)
        shutil.rmtree(folder)
        return program

    # --- Python -------------------------------------------------------------------------

    @functools.lru_cache(maxsize=None)
    def environment(self):
        """The folder of a virtual environment with the Python peers, made when it is not
        there; None when it cannot be made."""
        folder = self.work / "python-env"
        python = folder / "bin" / "python"
        if (folder / "complete").exists():
            return python
        self.tell(f"installing {', '.join(PACKAGES)} for the Python peers")
        try:
            subprocess.run([sys.executable, "-I", "-m", "venv", str(folder)], check=True,
                           capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError):
            return None
        # One by one: who asks for one that could not be had is told so.
        if all([install(python, package) for package in PACKAGES]):
            (folder / "complete").touch()
        return python

    @functools.lru_cache(maxsize=None)
    def python(self, package):
        for python in (self.environment(), sys.executable, "/usr/bin/python3"):
            if python and has_package(str(python), package):
                return str(python)
        raise Missing(f"{package} is not installed and could not be fetched")


@functools.lru_cache(maxsize=None)
def compiler_version(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True,
                          text=True).stdout.partition("\n")[0]


@functools.lru_cache(maxsize=None)
def install(python, package):
    """Whether pip could."""
    try:
        subprocess.run([str(python), "-I", "-m", "pip", "install", "-q", "--retries", "1",
                        "--timeout", "10", package],
                       check=True, capture_output=True, timeout=600)
    except (subprocess.SubprocessError, OSError):
        return False
    return True


def ask_python(python, test):
    """Runs a line of Python where the peers' programs are, so that it finds what they find and
    nothing that happens to be in the person's own folder."""
    return subprocess.run([python, "-c", test], capture_output=True, text=True,
                          cwd=SOURCES / "python")


def has_package(python, package):
    test = f"import importlib.util as u; raise SystemExit(u.find_spec('{package}') is None)"
    try:
        return ask_python(python, test).returncode == 0
    except OSError:
        return False


def package_version(python, package):
    test = f"import importlib.metadata as m; print(m.version('{package}'))"
    return ask_python(python, test).stdout.strip()


def first_error(text, series):
    library = re.search(r"cannot find -l(\w+)", text)
    if library:
        return f"lib{library[1]} is not installed"
    header = re.search(r"fatal error: (\S+\.h): No such file", text)
    if header:
        return f"{header[1]} is not installed"
    for line in text.splitlines():
        if "rror" in line or "cannot find" in line:
            return f"it does not compile here: {line.strip()}"
    return f"{COMPILERS[series.kind]} failed"
