"""The process that Spark runs in: Java, jobs and errors."""
