"""Read the service from Apache Spark, under one quota for all executors."""
