"""The steps of an evaluation as plain code: one module a step, each one call for an asset or a test."""
