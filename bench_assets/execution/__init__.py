"""Worker processes, attempts and the journal: asks an agent every question and loses no answer. Knows no Dagster."""
