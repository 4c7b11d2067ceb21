"""Draws figures. Each is a Vega-Lite declaration, from which interactive HTML, SVG and PNG are made."""
