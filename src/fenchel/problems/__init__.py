"""A problem: data, loss, regularizer, weights and intercept, validated once. One class for each family of losses.

May import data, losses and regularizers; everything that solves, certifies or predicts works on problems.
"""
