"""Tables: CSV, TSV, Parquet and data frames."""
