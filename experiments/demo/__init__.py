"""The live demo: a local web page that runs arms and plays what they recorded."""
