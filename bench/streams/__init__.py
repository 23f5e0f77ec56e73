"""Events per second through a stateful fold: ours, stock Faust, Quix Streams and Kafka Streams on one broker."""
