"""Where runs are kept: objects in a folder or an S3 bucket, rows in Postgres, and the finished bundle of a run."""
