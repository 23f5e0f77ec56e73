package roomkeeper.bench;

import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.Stores;

/**
 * Runs {@link StatusFold} with one thread until SIGTERM.
 *
 * <p>Arguments: bootstrap servers, application id, input topic, output topic, state folder, processing guarantee. Lines on
 * standard output mark what happens: {@code first} (event), {@code restored N} (records in all, after each batch).
 */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws InterruptedException {
    Properties config = new Properties();
    config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
    config.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
    config.put(StreamsConfig.STATE_DIR_CONFIG, arguments[4]);
    config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[5]);
    config.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    config.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
    config.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    // Only so that the next round need not wait for this one's session to end.
    config.put(StreamsConfig.consumerPrefix("internal.leave.group.on.close"), true);

    KafkaStreams streams = new KafkaStreams(topology(arguments[2], arguments[3]), config);
    streams.setGlobalStateRestoreListener(new RestoreMarks());
    CountDownLatch ended = new CountDownLatch(1);
    streams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.ERROR) {
            ended.countDown();
          }
        });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(60))));
    streams.start();
    ended.await();
    System.exit(1);
  }

  /** The product's shape: read, fold with a logged store behind Kafka Streams' record cache, answer. */
  private static Topology topology(String input, String output) {
    var store =
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(StatusFold.STORE), Serdes.String(), Serdes.ByteArray())
            .withCachingEnabled()
            .withLoggingEnabled(Map.of());
    return new Topology()
        .addSource("events", Serdes.String().deserializer(), Serdes.ByteArray().deserializer(), input)
        .addProcessor("fold", StatusFold::new, "events")
        .addStateStore(store, "fold")
        .addSink("answers", output, Serdes.String().serializer(), Serdes.ByteArray().serializer(), "fold");
  }

  static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static final class RestoreMarks implements StateRestoreListener {
    private long restored;

    @Override
    public void onRestoreStart(TopicPartition partition, String store, long start, long end) {}

    @Override
    public synchronized void onBatchRestored(TopicPartition partition, String store, long end, long count) {
      restored += count;
      say("restored " + restored);
    }

    @Override
    public void onRestoreEnd(TopicPartition partition, String store, long total) {}
  }
}
