"""Decides what a run is: which questions, how often, under which identities. Pure but for reading the dataset."""
