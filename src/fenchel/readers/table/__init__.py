"""Readers of tables: CSV, TSV, Parquet and data frames."""
