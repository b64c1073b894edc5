"""An agent that does sums."""
