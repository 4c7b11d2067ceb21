"""Tests of the gate: expectations, judgement, reports."""
