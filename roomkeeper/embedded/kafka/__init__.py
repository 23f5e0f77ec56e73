"""Apache Kafka in a process of its own: its Java, its jars (`pom.xml`), and one broker in KRaft mode."""
