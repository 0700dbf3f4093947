"""The process that Spark runs in: Java, its jobs, its errors."""
