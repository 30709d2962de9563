"""Fitted models: prediction, and saving to and loading from model files with all checks.

May import problems, losses, structured models and `files`; estimators, the command line and the report use models.
"""
