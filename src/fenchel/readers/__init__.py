"""Readers and writers of data files: svmlight, tables (CSV, TSV, Parquet) and CoNLL columns.

May import `data`, whose rows they produce, and nothing of problems or solvers.
"""
