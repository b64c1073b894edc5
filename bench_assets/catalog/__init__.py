"""What a project has: its folders and settings, benchmarks, agents and candidates. Reads files, starts nothing."""
