"""What bench-assets talks to: `run` takes a question and returns the answer's text."""

from abacus import solver


class Abacus:
    """Answers one question at a time."""

    def run(self, question, style="sentence"):
        """Return the answer to `question`; with `style="terse"` the number alone."""
        value = solver.solve(question)
        if value is None:
            return "I don't know."
        number = f"{value:.6f}".rstrip("0").rstrip(".")
        return number if style == "terse" else f"The answer is {number}."

    def describe(self):
        """Say what decides the answers besides the code."""
        return {"solver": solver.NAME}


def make_agent():
    """Return the adapter: the entry point names this function."""
    return Abacus()
