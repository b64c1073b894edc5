"""Verdicts in the results' store: lines, the segments that hold them, and who writes them."""
