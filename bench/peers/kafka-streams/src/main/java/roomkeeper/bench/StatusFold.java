package roomkeeper.bench;

import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;

/** Keeps each meeting's last status by event time, and answers every event with the state after it. */
final class StatusFold implements Processor<String, byte[], String, byte[]> {
  static final String STORE = "status";

  private final Avro avro = new Avro();
  private ProcessorContext<String, byte[]> context;
  private KeyValueStore<String, byte[]> store;
  private boolean started;

  @Override
  public void init(ProcessorContext<String, byte[]> context) {
    this.context = context;
    this.store = context.getStateStore(STORE);
  }

  @Override
  public void process(Record<String, byte[]> record) {
    if (!started) {
      started = true;
      Main.say("first");
    }
    Avro.Event event = avro.event(record.value());
    byte[] stored = store.get(record.key());
    Avro.Status before = stored == null ? null : avro.status(stored);
    boolean applied = before == null || isNewer(event, before);
    Avro.Status after = applied ? statusOf(event) : before;
    if (applied) {
      store.put(record.key(), avro.bytes(after));
    }
    context.forward(record.withValue(avro.answer(event, after, applied)));
  }

  private static boolean isNewer(Avro.Event event, Avro.Status before) {
    int order = Long.compare(event.happenedAtMs(), before.happenedAtMs());
    return order > 0 || (order == 0 && event.eventId().compareTo(before.eventId()) > 0);
  }

  private static Avro.Status statusOf(Avro.Event event) {
    return new Avro.Status(
        event.eventId(), event.status(), event.happenedAtMs(), event.topic(), event.hostEmail(), event.joinUrl(), event.agenda());
  }
}
