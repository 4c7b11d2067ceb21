"""The judgement on a server, and its words: what gate, probe and matrix say of one server comes from here.

Order of two streams and their sharing (order.py), order of several (sequence.py), a late urgent resource (late.py),
and where the order is lost (layers.py). All thresholds are in thresholds.py. Pure.
"""
