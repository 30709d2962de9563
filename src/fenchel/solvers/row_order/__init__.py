"""Orders in which an epoch visits the rows."""
