"""One file a change of the schema, in their order."""
