"""The records of every file and row that bench-assets reads or writes. No I/O here."""
