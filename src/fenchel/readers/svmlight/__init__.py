"""The svmlight format: parsing, reading, writing."""
