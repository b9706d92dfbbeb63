# SPDX-License-Identifier: Apache-2.0
"""Names of results that are put together from others, and taken apart where they are shown."""

WITHOUT = "-without-"  # between a series and the mechanism of vproc that is switched off in it
JOIN = " + "  # between operations that were fused into one instruction
