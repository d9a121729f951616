"""What is computed from features: class statistics, heads, drift, calibration, scores, metrics.

NumPy and SciPy alone, for both interfaces.
"""
