"""Readers and writers of files: svmlight, tables, columns."""
