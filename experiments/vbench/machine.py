# SPDX-License-Identifier: Apache-2.0
"""The machine and what is installed on it, as far as figures depend on it."""

import json
import os
import subprocess

from .build import compiler_version, package_version

SHARED_CORE_NS = 50  # below this the two virtual cores are one physical core's threads


def ask(command):
    """What `vproc info` knows, and what it has to complain about."""
    done = subprocess.run([command, "info", "--json"], check=True, text=True,
                          capture_output=True)
    return json.loads(done.stdout), done.stderr.splitlines()


def placement(facts):
    """Virtual cores move about while one measures, so it is said when they were together."""
    times = [when for key, when in (("handover_ns", "at the beginning"),
                                    ("handover_end_ns", "at the end"))
             if 0 < facts.get(key, 0) < SHARED_CORE_NS]
    if not times:
        return ""
    return (f"note: {' and '.join(times)} the first two virtual cores shared one physical core; "
            "two threads cannot be twice as fast as one there")


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
    """The hand-over at the end of a run need not be the one at its beginning."""
    facts["handover_end_ns"] = ask(command)[0]["handover_ns"]
    facts["placement"] = placement(facts)


def settle_threads(facts):
    """Peers are told a number of threads where vproc is: the one it really uses, whatever
    VP_THREADS says."""
    if "VP_THREADS" in os.environ:
        os.environ["VP_THREADS"] = str(facts["threads"])
