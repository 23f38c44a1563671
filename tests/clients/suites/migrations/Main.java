import java.io.File;
import java.sql.*;
import java.util.*;
import liquibase.CatalogAndSchema;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffGeneratorFactory;
import liquibase.diff.compare.CompareControl;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.*;
import liquibase.structure.core.*;
import org.flywaydb.core.Flyway;

/** Flyway and Liquibase against the server at a port, with scripts of programs, partitions and full text: "ok NAME" or "not ok NAME: why". */
public class Main {
  interface Check { Object run() throws Exception; }

  static void check(String name, Object wanted, Check check) {
    try {
      Object got = check.run();
      System.out.println(wanted.equals(got) ? "ok " + name : "not ok " + name + ": " + got + " instead of " + wanted);
    } catch (Exception e) {
      System.out.println("not ok " + name + ": " + e);
    }
  }

  static Object one(Connection c, String sql) throws SQLException {
    try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) { return r.next() ? r.getString(1) : null; }
  }

  public static void main(String[] args) throws Exception {
    String server = "jdbc:mysql://127.0.0.1:" + args[0] + "/", options = "?allowPublicKeyRetrieval=true&sslMode=DISABLED";
    try (Connection c = DriverManager.getConnection(server + options, "migrations", "pw"); Statement s = c.createStatement()) {
      for (String sql : List.of("DROP DATABASE IF EXISTS flyway", "DROP DATABASE IF EXISTS liquibase", "CREATE DATABASE liquibase")) s.execute(sql);
    }
    flyway(server + "flyway" + options + "&createDatabaseIfNotExist=true");
    liquibase(server + "liquibase" + options);
    System.out.println("done");
  }

  static void flyway(String url) throws Exception {
    Flyway f = Flyway.configure().dataSource(url, "migrations", "pw").locations("filesystem:flyway").cleanDisabled(false).load();
    check("Flyway: migrate", 4, () -> f.migrate().migrationsExecuted);
    check("Flyway: validate", true, () -> f.validateWithResult().validationSuccessful);
    check("Flyway: migrate again", 0, () -> f.migrate().migrationsExecuted);
    try (Connection c = DriverManager.getConnection(url, "migrations", "pw"); CallableStatement s = c.prepareCall("{call add_person(?, ?)}")) {
      check("Flyway: its procedure", 4L, () -> {
        s.setString(1, "two");
        s.registerOutParameter(2, Types.BIGINT);
        s.execute();
        return s.getLong(2);
      });
      check("Flyway: its handler", -1L, () -> { s.execute(); return s.getLong(2); });
      check("Flyway: its trigger", "new one,new a,new b,new two", () -> one(c, "SELECT GROUP_CONCAT(what ORDER BY id) FROM audit"));
      check("Flyway: its view of a function", "oneone", () -> one(c, "SELECT t FROM people WHERE id = 1"));
      check("Flyway: clean", "0", () -> {
        f.clean();
        return one(c, "SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'flyway')"
          + " + (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'flyway')"
          + " + (SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'flyway')"
          + " + (SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'flyway')");
      });
    }
    check("Flyway: migrate what was cleaned", 4, () -> f.migrate().migrationsExecuted);
  }

  static void liquibase(String url) throws Exception {
    try (Connection c = DriverManager.getConnection(url, "migrations", "pw")) {
      Database d = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(c));
      Liquibase l = new Liquibase("changelog.xml", new DirectoryResourceAccessor(new File(".")), d);
      String sets = "SELECT COUNT(*) FROM DATABASECHANGELOG";
      check("Liquibase: update", "6", () -> { l.update(""); l.tag("here"); l.update(""); return one(c, sets); });
      check("Liquibase: rows from a file", "5five0.00", () -> one(c, "SELECT CONCAT(id, name, amt) FROM dept WHERE id = 5"));
      check("Liquibase: snapshot", "dept -> dept", () -> {
        DatabaseSnapshot s = SnapshotGeneratorFactory.getInstance().createSnapshot(new CatalogAndSchema("liquibase", null), d, new SnapshotControl(d));
        ForeignKey key = s.get(ForeignKey.class).iterator().next();
        return key.getForeignKeyTable().getName() + " -> " + key.getPrimaryKeyTable().getName();
      });
      check("Liquibase: diff with itself", true, () -> DiffGeneratorFactory.getInstance().compare(d, d, CompareControl.STANDARD).areEqual());
      check("Liquibase: rollback", "5", () -> { l.rollback(1, ""); return one(c, sets); });
      check("Liquibase: drop all", "0", () -> {
        l.dropAll();
        return one(c, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'liquibase' AND TABLE_NAME NOT LIKE 'DATABASECHANGE%'");
      });
    }
  }
}
