# SPDX-License-Identifier: Apache-2.0
"""What a run of `vproc bench` leaves behind, and all that measuring and drawing both know of
it: its file (file.py), its tables as text (table.py), and what a name in it tells (names.py).
It imports neither of them, so that each can go without the other."""
