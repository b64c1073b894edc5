"""How fast bench-assets is: `make bench`. Each figure is measured beside what it is compared with, in the same minutes.

`harness.py` holds the words of it; each other module measures one item and is run in a process of its own.
"""
