"""Small stand-ins for services that the tests cannot have."""
