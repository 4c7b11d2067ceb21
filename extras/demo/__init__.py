"""The live demo: a local web page that runs arms and plays films of their page loads."""
