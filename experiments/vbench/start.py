# SPDX-License-Identifier: Apache-2.0
"""How the command `vproc` starts vbench: by the path of this file and with Python's -I, so that
nothing in the person's own folder or PYTHONPATH takes the place of a module."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
runpy.run_module("vbench", run_name="__main__", alter_sys=True)
