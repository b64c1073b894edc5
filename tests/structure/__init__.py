"""What keeps the speed: counts of what is done, never times."""
