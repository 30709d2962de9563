"""A problem is data, loss, regularizer, weights and intercept, validated once; a class for each family of losses."""
