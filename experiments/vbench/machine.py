# SPDX-License-Identifier: Apache-2.0
"""The machine and what is installed on it, as far as figures depend on it."""

import json
import subprocess

from .build import compiler_version, package_version

SHARED_CORE_NS = 50  # below this the two virtual cores are one physical core's threads


def machine(command, builder, with_python):
    """command: the vproc command itself, which knows the processor."""
    facts = json.loads(subprocess.run([command, "info", "--json"], check=True, text=True,
                                      capture_output=True).stdout)
    facts["placement"] = ""
    if 0 < facts["handover_ns"] < SHARED_CORE_NS:
        facts["placement"] = ("note: the first two virtual cores share one physical core; "
                              "two threads cannot be twice as fast as one")
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
