"""Matches regular expressions in a process of its own, for `regexes.py`. Run as a script; standard library only.

One JSON request a line: `{"patterns": […], "ignore_case": true, "text": "…"}`; one JSON reply a line: `[index, found]`
of the first pattern that is found in the text, or `null`.
"""

import json
import re
import sys


def main() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        flags = re.IGNORECASE if request["ignore_case"] else 0
        found = None
        for index, pattern in enumerate(request["patterns"]):
            match = re.search(pattern, request["text"], flags)
            if match is not None:
                found = [index, match[0][:200]]
                break
        sys.stdout.buffer.write(json.dumps(found).encode("ascii") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
