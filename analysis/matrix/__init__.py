"""Evaluates the matrix: if each server orders by each dialect, without and with a full send buffer."""
