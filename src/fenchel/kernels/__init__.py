"""The compiled loops that several solvers share. They work on one block of rows, without input, output or stopping tests.

May import data, losses and mirror maps; loops that only one solver needs are in the folder of that solver.
"""
