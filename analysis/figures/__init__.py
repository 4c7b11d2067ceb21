"""Pictures, each one Vega-Lite declaration: interactive HTML, SVG and PNG come from it."""
