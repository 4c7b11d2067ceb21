"""Draws figures. A figure is a Vega-Lite declaration, from which interactive HTML, SVG and PNG are made."""
