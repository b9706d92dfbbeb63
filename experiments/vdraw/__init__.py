# SPDX-License-Identifier: Apache-2.0
"""Draws what a run has to show: pictures of its curves, medians, dependencies and threads, and
a page around them. It takes results as their file has them (vresults), knows nothing of how
they were measured, and is asked through this one function; all else here is its own affair."""

from .report import draw_all

__all__ = ["draw_all"]
