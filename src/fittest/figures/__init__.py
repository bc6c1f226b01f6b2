"""Figures: one module each, with `data` (tables → tidy frame) and `draw` (tidy frame → figure).

`registry` says which there are, `drawing` draws and saves them.
"""
