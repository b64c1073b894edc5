"""`report.html`: one file that opens anywhere, offline."""
