"""bench-assets: is this version of our agent better, and can we trust the number?"""

__version__ = "0.1.0"
