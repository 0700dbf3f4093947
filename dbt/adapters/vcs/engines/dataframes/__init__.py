"""What needs only Spark's DataFrames and SQL, wherever Spark runs."""
