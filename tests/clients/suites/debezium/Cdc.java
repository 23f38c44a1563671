import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/**
 * Follows the schema `cdc` of a server, first by a snapshot and then by its binary log, and keeps what the changes add up to. When the
 * table `marks` has a row with the number that it was started with, and all before it has come, it writes the tables as
 * lines "table: column|column|..." and ends. A change may come twice, after a lost connection; none may be missing.
 */
public class Cdc {
  static final Map<String, TreeMap<String, String>> tables = new TreeMap<>();
  static final ObjectMapper mapper = new ObjectMapper();
  static final CountDownLatch marked = new CountDownLatch(1);
  static long changes, snapshot;

  static void take(ChangeEvent<String, String> event, String mark) throws Exception {
    String[] topic = event.destination().split("\\.");
    if (topic.length != 3 || event.value() == null) return;
    JsonNode value = mapper.readTree(event.value()), after = value.get("after");
    String op = value.get("op").asText(), key = event.key();
    if (op.equals("t")) {
      tables.getOrDefault(topic[2], new TreeMap<>()).clear();
      return;
    }
    TreeMap<String, String> rows = tables.computeIfAbsent(topic[2], t -> new TreeMap<>());
    if (op.equals("r")) snapshot++; else changes++;
    if (op.equals("d")) { rows.remove(key); return; }
    StringJoiner line = new StringJoiner("|");
    after.forEach(column -> line.add(column.isNull() ? "NULL" : column.asText()));
    rows.put(key, line.toString());
    if (topic[2].equals("marks") && after.get("id").asText().equals(mark)) marked.countDown();
  }

  public static void main(String[] args) throws Exception {
    String port = args[0], dir = args[1], mark = args[2];
    Properties p = new Properties();
    p.setProperty("name", "cdc");
    p.setProperty("connector.class", "io.debezium.connector.mysql.MySqlConnector");
    p.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
    p.setProperty("offset.storage.file.filename", dir + "/offsets");
    p.setProperty("offset.flush.interval.ms", "100");
    p.setProperty("database.hostname", "127.0.0.1");
    p.setProperty("database.port", port);
    p.setProperty("database.user", "debezium");
    p.setProperty("database.password", "secret");
    p.setProperty("database.server.id", "85744");
    p.setProperty("database.include.list", "cdc");
    p.setProperty("topic.prefix", "t");
    p.setProperty("decimal.handling.mode", "string");
    p.setProperty("skipped.operations", "none");
    p.setProperty("key.converter.schemas.enable", "false");
    p.setProperty("value.converter.schemas.enable", "false");
    p.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
    p.setProperty("schema.history.internal.file.filename", dir + "/history");
    // A lost connection is noticed once in a while only.
    p.setProperty("connect.keep.alive.interval.ms", "1000");
    p.setProperty("retriable.restart.connector.wait.ms", "200");
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(300);
    boolean came = false;
    // A server that is away when a connection is made ends the engine: it goes on from its offsets.
    for (int runs = 0; !came && System.nanoTime() < end; runs++) {
      CountDownLatch over = new CountDownLatch(1);
      DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class).using(p)
        .using((ok, message, error) -> { System.err.println("ended: " + ok + " " + message); over.countDown(); })
        .notifying(event -> {
          try { take(event, mark); } catch (Exception e) { e.printStackTrace(); System.exit(4); }
        }).build();
      ExecutorService executor = Executors.newSingleThreadExecutor();
      executor.execute(engine);
      while (!came && over.getCount() > 0 && System.nanoTime() < end) came = marked.await(100, TimeUnit.MILLISECONDS);
      try {
        engine.close();
      } catch (IllegalStateException e) {
        // It has ended by itself.
      }
      executor.shutdown();
      executor.awaitTermination(20, TimeUnit.SECONDS);
      Thread.sleep(500);
    }
    List<String> lines = new ArrayList<>();
    tables.forEach((table, rows) -> rows.values().forEach(row -> lines.add(table + ": " + row)));
    Collections.sort(lines);
    Files.write(Path.of(dir, "rows"), lines);
    System.err.println("snapshot rows " + snapshot + ", changes " + changes + (came ? "" : ", the mark has not come"));
    System.exit(came ? 0 : 5);
  }
}
