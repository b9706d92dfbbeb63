# SPDX-License-Identifier: Apache-2.0
"""The JSON file of a run: the machine's facts and the experiments. One experiment is an object
of its own; several share the machine."""

import json
from pathlib import Path

MOST_DIGITS = 300  # of a whole number in a file: what a float can hold


def write_json(path, facts, experiments):
    if len(experiments) == 1:
        whole = {"machine": facts, **experiments[0]}
    else:
        whole = {"machine": facts, "experiments": experiments}
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(whole, indent=1) + "\n")


def whole_number(digits):
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"it has a number of {len(digits)} digits")
    return int(digits)


def read_json(path):
    """The machine's facts and the experiments; ValueError says what kind of file it is not."""
    whole = json.loads(Path(path).read_text(), parse_int=whole_number)
    if not isinstance(whole, dict):
        raise ValueError("it is not a file that --json wrote")
    if "experiments" not in whole and "series" not in whole:
        raise ValueError("it has no experiments")
    return whole.get("machine", {}), whole.get("experiments", [whole])
