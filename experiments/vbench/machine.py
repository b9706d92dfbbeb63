# SPDX-License-Identifier: Apache-2.0
"""The machine and what is installed on it, as far as figures depend on it."""

import json
import os
import subprocess

from .build import compiler_version, package_version

# Below this, two virtual cores at work together do what one physical core's threads do. How
# quick a hand-over is does not tell: cores that share a cache need 30 ns and do 2.0.
SHARED_CORE = 1.5


def ask(command):
    """What `vproc info` knows, and what it has to complain about."""
    done = subprocess.run([command, "info", "--json"], check=True, text=True,
                          capture_output=True)
    return json.loads(done.stdout), done.stderr.splitlines()


def placement(facts):
    """Virtual cores move about while one measures, so it is said when they were together."""
    times = [f"{when} ({facts[key]:.1f} times what one does)"
             for key, when in (("together", "at the beginning"), ("together_end", "at the end"))
             if facts["cores"] > 1 and facts.get(key, 2) < SHARED_CORE]
    if not times:
        return ""
    return (f"note: {' and '.join(times)} the first two virtual cores shared one physical core, or "
            "had others' work on them; two threads cannot be twice as fast as one there")


def machine(command, builder, with_python, tell):
    """command: the vproc command itself, which knows the processor."""
    facts, complaints = ask(command)
    for line in complaints:
        tell(line)
    facts["placement"] = placement(facts)
    versions = {"vproc": facts.pop("version")}
    for compiler in ("gcc", "gfortran"):
        try:
            versions[compiler] = compiler_version(compiler).split()[-1]
        except (OSError, IndexError):
            pass
    if with_python:
        for package in ("numpy", "numba", "jax"):
            try:
                versions[package] = package_version(builder.python(package), package)
            except Exception:  # not there: its series say so
                pass
    facts["versions"] = versions
    return facts


def measure_again(command, facts):
    """How the cores are at the end of a run need not be how they were at its beginning."""
    now = ask(command)[0]
    facts["handover_end_ns"], facts["together_end"] = now["handover_ns"], now["together"]
    facts["placement"] = placement(facts)


def settle_threads(facts):
    """Peers are told a number of threads where vproc is: the one it really uses, whatever
    VP_THREADS says."""
    if "VP_THREADS" in os.environ:
        os.environ["VP_THREADS"] = str(facts["threads"])
