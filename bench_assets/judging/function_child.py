"""Calls a benchmark's own matcher in a process of its own, for `functions.py`. Run as a script.

Arguments: the module, the function, the folder to look in first. One JSON request a line: `{"question", "golden",
"answer"}`; one JSON reply a line: `{"found": [label, reason] | null}` or `{"error": "…"}`. The replies go out over a
descriptor that nothing the function prints can reach.
"""

import importlib
import json
import os
import sys
from typing import Any

LABELS = ("correct", "incorrect", "not_attempted")


def main() -> None:
    """Answer until standard input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    module, name, folder = sys.argv[1:4]
    sys.path.insert(0, folder)
    function = None
    reply: dict[str, Any]
    for line in requests:
        try:
            function = function or getattr(importlib.import_module(module), name)
            reply = {"found": read(function(**json.loads(line)))}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:1000]}
        replies.write(json.dumps(reply).encode("ascii") + b"\n")
        replies.flush()


def read(found: Any) -> tuple[str, str] | None:
    """Return the label and the reason in what a matcher returned; None when it leaves the answer to others."""
    label, reason = found if isinstance(found, tuple) and len(found) == 2 else (found, "")
    if isinstance(label, bool):
        label = "correct" if label else "incorrect"
    if label is None:
        return None
    if label not in LABELS:
        raise TypeError(f"it returned {label!r}; a matcher returns True, False, None or one of {', '.join(LABELS)}")
    return label, str(reason)


if __name__ == "__main__":
    main()
