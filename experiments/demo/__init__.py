"""The live demo: one local page that runs arms and shows them as they were recorded."""
