"""The LLM judge: what it is sent, how its endpoint is called, and how its reply is read."""
