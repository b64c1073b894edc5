"""From an answer to a score: matchers, the LLM judge, and the verdicts that are kept. No Dagster."""
