package roomkeeper.bench;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

/**
 * The records of {@code bench/streams/records}, read and written field by field in the order of their schemas, as the code
 * that Avro generates does. Coders and buffers are reused; use one instance per thread.
 */
final class Avro {
  private final ByteArrayOutputStream buffer = new ByteArrayOutputStream(512);
  private BinaryDecoder decoder;
  private BinaryEncoder encoder;

  /** {@code Event.avsc}. */
  record Event(
      String eventId, String meetingId, String status, long happenedAtMs, String topic, String hostEmail, String joinUrl, String agenda) {}

  /** {@code Status.avsc}. */
  record Status(String eventId, String status, long happenedAtMs, String topic, String hostEmail, String joinUrl, String agenda) {}

  Event event(byte[] value) {
    try {
      decoder = DecoderFactory.get().binaryDecoder(value, decoder);
      return new Event(
          decoder.readString(), decoder.readString(), decoder.readString(), decoder.readLong(),
          decoder.readString(), decoder.readString(), decoder.readString(), decoder.readString());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  Status status(byte[] value) {
    try {
      decoder = DecoderFactory.get().binaryDecoder(value, decoder);
      return new Status(
          decoder.readString(), decoder.readString(), decoder.readLong(),
          decoder.readString(), decoder.readString(), decoder.readString(), decoder.readString());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  byte[] bytes(Status status) {
    try {
      start();
      encoder.writeString(status.eventId());
      encoder.writeString(status.status());
      encoder.writeLong(status.happenedAtMs());
      encoder.writeString(status.topic());
      encoder.writeString(status.hostEmail());
      encoder.writeString(status.joinUrl());
      encoder.writeString(status.agenda());
      return end();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** {@code Answer.avsc}: what the event did, and the state after it. */
  byte[] answer(Event cause, Status after, boolean applied) {
    try {
      start();
      encoder.writeString(cause.eventId());
      encoder.writeString(cause.meetingId());
      encoder.writeString(after.status());
      encoder.writeLong(after.happenedAtMs());
      encoder.writeBoolean(applied);
      return end();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private void start() {
    buffer.reset();
    encoder = EncoderFactory.get().binaryEncoder(buffer, encoder);
  }

  private byte[] end() throws IOException {
    encoder.flush();
    return buffer.toByteArray();
  }
}
