import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;

/** What JDBC offers, of whichever driver Main names. */
class Jdbc {
  static final String TYPES = "CREATE TABLE types (b BIT(5), bool BOOL, t TINYINT, u TINYINT UNSIGNED, s SMALLINT, m MEDIUMINT, i INT, g BIGINT, n BIGINT UNSIGNED, d DECIMAL(10,3), f FLOAT, o DOUBLE, da DATE, ti TIME(3), dt DATETIME(6), "
    + "ts TIMESTAMP(2) NULL, y YEAR, c CHAR(3), v VARCHAR(20), bi BINARY(3), vb VARBINARY(9), bl BLOB, te TEXT, e ENUM('a','b'), se SET('x','y'), j JSON)";

  static Connection open(String options) throws SQLException { return DriverManager.getConnection(Main.url + options, "root", ""); }

  static void with(String options, Body body) throws Exception {
    try (Connection c = open(options); Statement s = c.createStatement()) { body.run(c, s); }
  }

  interface Body { void run(Connection c, Statement s) throws Exception; }

  static void same(Object a, Object b) { Main.same(a, b); }

  static int count(ResultSet r) throws SQLException {
    int n = 0;
    for (; r.next(); n++) for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) r.getObject(i);
    return n;
  }

  /** The values of some columns: rows are apart by ";", columns by ",". */
  static String rows(ResultSet r, String... columns) throws SQLException {
    StringJoiner all = new StringJoiner(";");
    while (r.next()) {
      StringJoiner row = new StringJoiner(",");
      for (String column : columns) row.add(r.getString(column));
      all.add(row.toString());
    }
    return all.toString();
  }

  static void checks(boolean mariadb) {
    Main.check("jdbc_metadata", () -> with("", (c, s) -> {
      s.execute("DROP TABLE IF EXISTS child, parent");
      s.execute("CREATE TABLE parent (a INT, b VARCHAR(10) NOT NULL DEFAULT 'x', c DECIMAL(9,2) NULL COMMENT 'money', d INT AS (a + 1), PRIMARY KEY (a, b), UNIQUE KEY uc (c), KEY kb (b(3))) DEFAULT CHARSET utf8mb4");
      s.execute("CREATE TABLE child (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, pa INT, pb VARCHAR(10), at TIMESTAMP(3) NULL, e ENUM('a','b'), CONSTRAINT fk1 FOREIGN KEY (pa, pb) REFERENCES parent (a, b) ON DELETE CASCADE ON UPDATE SET NULL) DEFAULT CHARSET utf8mb4");
      s.execute("CREATE OR REPLACE VIEW seen AS SELECT a FROM parent");
      DatabaseMetaData m = c.getMetaData();
      same(rows(m.getTables("hibernate", null, "%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE").replace("BASE TABLE", "TABLE").contains("child,TABLE;parent,TABLE"), true);
      same(rows(m.getTables("hibernate", null, "s__n", new String[] {"VIEW"}), "TABLE_NAME", "TABLE_TYPE"), "seen,VIEW");
      same(rows(m.getColumns("hibernate", null, "parent", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "NULLABLE", "REMARKS", "ORDINAL_POSITION", "IS_NULLABLE", "IS_AUTOINCREMENT", "IS_GENERATEDCOLUMN"),
        "a,4,INT,10,0,,1,NO,NO,NO;b,12,VARCHAR,10,0,,2,NO,NO,NO;c,3,DECIMAL,9,1,money,3,YES,NO,NO;d,4,INT,10,1,,4,YES,NO,YES");
      same(rows(m.getColumns("hibernate", null, "child", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "IS_AUTOINCREMENT"), "id,-5,BIGINT UNSIGNED,YES;pa,4,INT,NO;pb,12,VARCHAR,NO;at,93,TIMESTAMP,NO;e," + (Main.driver.equals("mysql") ? 1 : 12) + ",ENUM,NO");
      same(rows(m.getPrimaryKeys("hibernate", null, "parent"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"), "a,1,PRIMARY;b,2,PRIMARY");
      same(rows(m.getImportedKeys("hibernate", null, "child"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE", "FK_NAME"), "parent,a,pa,1,2,0,fk1;parent,b,pb,2,2,0,fk1");
      // Connector/J names a key once for each unique constraint of the table that it refers to.
      same(new LinkedHashSet<>(List.of(rows(m.getExportedKeys("hibernate", null, "parent"), "FKTABLE_NAME", "FKCOLUMN_NAME").split(";"))), new LinkedHashSet<>(List.of("child,pa", "child,pb")));
      count(m.getCrossReference("hibernate", null, "parent", "hibernate", null, "child"));
      same(rows(m.getIndexInfo("hibernate", null, "parent", false, false), "NON_UNIQUE", "INDEX_NAME", "ORDINAL_POSITION", "COLUMN_NAME").replace("true", "1").replace("false", "0"), "0,PRIMARY,1,a;0,PRIMARY,2,b;0,uc,1,c;1,kb,1,b");
      same(rows(m.getIndexInfo("hibernate", null, "parent", true, false), "INDEX_NAME"), "PRIMARY;PRIMARY;uc");
      same(count(m.getCatalogs()) > 3, true);
      same(count(m.getTypeInfo()) > 10, true);
      same(rows(m.getTableTypes(), "TABLE_TYPE").contains("VIEW"), true);
      same(rows(m.getBestRowIdentifier("hibernate", null, "child", 0, true), "COLUMN_NAME"), "id");
      same(m.getSQLKeywords().isEmpty(), false);
      count(m.getProcedures("hibernate", null, "%")); count(m.getFunctions("hibernate", null, "%")); count(m.getFunctionColumns("hibernate", null, "%", "%")); count(m.getProcedureColumns("hibernate", null, "%", "%"));
      count(m.getVersionColumns("hibernate", null, "child")); count(m.getTablePrivileges("hibernate", null, "%")); count(m.getColumnPrivileges("hibernate", null, "parent", "%")); count(m.getSchemas()); count(m.getClientInfoProperties());
      same(m.supportsTransactionIsolationLevel(8), true); same(m.getUserName().startsWith("root"), true);
      ResultSetMetaData r = s.executeQuery("SELECT p.a, c.id AS x, p.c + 1 y, e FROM parent p JOIN child c").getMetaData();
      same(r.getTableName(2), "child"); same(r.getColumnName(2), "id"); same(r.getColumnLabel(2), "x"); same(r.isAutoIncrement(2), true); same(r.isSigned(2), false); same(r.getColumnTypeName(4).replace("CHAR", "ENUM"), "ENUM"); same(r.getScale(3), 2);
      s.execute("DROP VIEW seen"); s.execute("DROP TABLE child, parent");
    }));
    Main.check("jdbc_metadata_information_schema", () -> with(Main.driver.equals("mysql") ? "&useInformationSchema=true" : "", (c, s) -> {
      s.execute("DROP TABLE IF EXISTS ref, meta");
      s.execute("CREATE TABLE meta (a INT PRIMARY KEY, b VARCHAR(10), KEY kb (b))"); s.execute("CREATE TABLE ref (x INT, CONSTRAINT rx FOREIGN KEY (x) REFERENCES meta (a))");
      DatabaseMetaData m = c.getMetaData();
      same(rows(m.getTables("hibernate", null, "meta", null), "TABLE_NAME"), "meta"); same(rows(m.getColumns("hibernate", null, "meta", "%"), "COLUMN_NAME"), "a;b"); same(rows(m.getPrimaryKeys("hibernate", null, "meta"), "COLUMN_NAME"), "a");
      same(rows(m.getImportedKeys("hibernate", null, "ref"), "FK_NAME"), "rx"); same(rows(m.getIndexInfo("hibernate", null, "meta", false, false), "INDEX_NAME"), "PRIMARY;kb"); count(m.getProcedures("hibernate", null, "%"));
      s.execute("DROP TABLE ref, meta");
    }));
    for (String mode : List.of("text", "prepared")) {
      String options = mode.equals("text") ? "" : "&useServerPrepStmts=true&cachePrepStmts=true";
      Main.check("jdbc_types_" + mode, () -> with(options, (c, s) -> {
        s.execute("DROP TABLE IF EXISTS types"); s.execute(TYPES);
        Object[] values = {new byte[] {5}, true, -3, 200, -300, 70000, -5, Long.MIN_VALUE, new BigDecimal("18446744073709551615"), new BigDecimal("1234567.891"), 1.5f, 0.1, LocalDate.of(2024, 2, 29), Time.valueOf("10:11:12"),
          LocalDateTime.of(2025, 1, 2, 3, 4, 5, 123456000), Timestamp.valueOf("2025-06-07 08:09:10.11"), 2024, "abc", "日本", new byte[] {1, 2, 3}, new byte[] {0, -1}, new byte[3000], "t".repeat(3000), "b", "x,y", "{\"k\": [1, true]}"};
        String sql = "INSERT INTO types VALUES (" + "?,".repeat(25) + "?)";
        try (PreparedStatement p = c.prepareStatement(sql)) {
          for (int i = 0; i < 26; i++) p.setObject(i + 1, values[i]);
          same(p.executeUpdate(), 1);
          for (int i = 0; i < 26; i++) p.setNull(i + 1, Types.VARCHAR);
          same(p.executeUpdate(), 1);
        }
        try (PreparedStatement p = c.prepareStatement("SELECT * FROM types ORDER BY i IS NULL, i"); ResultSet r = p.executeQuery()) {
          r.next();
          same(r.getBytes("b")[0], (byte) 5); same(r.getBoolean("bool"), true); same(r.getInt("t"), -3); same(r.getInt("u"), 200); same(r.getShort("s"), (short) -300); same(r.getInt("m"), 70000); same(r.getLong("g"), Long.MIN_VALUE);
          same(r.getBigDecimal("n"), values[8]); same(r.getBigDecimal("d"), values[9]); same(r.getFloat("f"), 1.5f); same(r.getDouble("o"), 0.1); same(r.getObject("da", LocalDate.class), values[12]); same(r.getTime("ti"), values[13]);
          same(r.getObject("dt", LocalDateTime.class), values[14]); same(r.getTimestamp("ts"), values[15]); same(r.getInt("y"), 2024); same(r.getString("c"), "abc"); same(r.getString("v"), "日本");
          same(Arrays.equals(r.getBytes("bi"), (byte[]) values[19]), true); same(Arrays.equals(r.getBytes("vb"), (byte[]) values[20]), true); same(r.getBytes("bl").length, 3000); same(r.getString("te"), values[22]);
          same(r.getString("e"), "b"); same(r.getString("se"), "x,y"); same(r.getString("j"), values[25]);
          for (int i = 1; i <= 26; i++) { r.getObject(i); r.getString(i); }
          r.next();
          for (int i = 1; i <= 26; i++) same(r.getObject(i), null);
        }
        s.execute("DROP TABLE types");
      }));
      Main.check("jdbc_generated_keys_" + mode, () -> with(options, (c, s) -> {
        s.execute("DROP TABLE IF EXISTS gen"); s.execute("CREATE TABLE gen (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10) UNIQUE)");
        s.executeUpdate("INSERT INTO gen (v) VALUES ('a'), ('b')", Statement.RETURN_GENERATED_KEYS);
        try (ResultSet k = s.getGeneratedKeys()) { k.next(); same(k.getInt(1), 1); }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO gen (v) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
          for (int i = 0; i < 300; i++) { p.setString(1, "r" + i); p.addBatch(); }
          same(p.executeBatch().length, 300);
          try (ResultSet k = p.getGeneratedKeys()) { same(count(k), 300); }
        }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO gen (v) VALUES (?) ON DUPLICATE KEY UPDATE v = CONCAT(v, '!')")) { for (String v : List.of("a", "new")) { p.setString(1, v); p.addBatch(); } p.executeBatch(); }
        try (PreparedStatement p = c.prepareStatement("UPDATE gen SET v = ? WHERE id = ?")) { for (int i = 1; i <= 30; i++) { p.setString(1, "u" + i); p.setInt(2, i); p.addBatch(); } same(p.executeBatch().length, 30); }
        try (PreparedStatement p = c.prepareStatement("DELETE FROM gen WHERE id = ?")) { for (int i = 1; i <= 10; i++) { p.setInt(1, i); p.addBatch(); } p.executeLargeBatch(); }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO gen (v) VALUES (?)")) {
          for (String v : List.of("z1", "u20", "z2")) { p.setString(1, v); p.addBatch(); }
          try { p.executeBatch(); throw new AssertionError("inserted"); } catch (BatchUpdateException e) { same(e.getErrorCode(), 1062); }
        }
        for (String q : List.of("INSERT INTO gen (v) VALUES ('m1')", "UPDATE gen SET v = 'm2' WHERE v = 'm1'", "DELETE FROM gen WHERE v = 'm2'")) s.addBatch(q);
        same(Arrays.toString(s.executeBatch()), "[1, 1, 1]");
        s.execute("DROP TABLE gen");
      }));
      Main.check("jdbc_cursor_" + mode, () -> {
        String sql = "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i, i / 2, NOW(6), CAST(i AS CHAR), REPEAT('x', i) FROM n";
        for (int fetch : new int[] {10, Integer.MIN_VALUE}) {
          if (fetch < 0 && Main.driver.equals("mariadb")) fetch = 1;
          try (Connection c = open(options + (Main.driver.equals("mysql") ? "&useCursorFetch=" + (fetch > 0) : "")); PreparedStatement p = c.prepareStatement(sql)) {
            p.setInt(1, 500); p.setFetchSize(fetch);
            try (ResultSet r = p.executeQuery()) { same(count(r), 500); }
            try (ResultSet r = p.executeQuery()) { r.next(); same(r.getInt(1), 1); }
            same(c.isValid(1), true);
          }
        }
      });
    }
    Main.check("jdbc_transactions", () -> with("", (c, s) -> {
      s.execute("DROP TABLE IF EXISTS tx"); s.execute("CREATE TABLE tx (id INT PRIMARY KEY, v INT)");
      c.setAutoCommit(false);
      for (int level : new int[] {1, 2, 4, 8}) { c.setTransactionIsolation(level); same(c.getTransactionIsolation(), level); }
      c.setTransactionIsolation(4);
      s.execute("INSERT INTO tx VALUES (1, 1)");
      Savepoint p = c.setSavepoint("p");
      s.execute("INSERT INTO tx VALUES (2, 2)");
      c.rollback(p);
      Savepoint q = c.setSavepoint(); c.releaseSavepoint(q);
      c.commit();
      s.execute("INSERT INTO tx VALUES (3, 3)");
      c.rollback();
      try (ResultSet r = s.executeQuery("SELECT * FROM tx")) { same(count(r), 1); }
      c.commit();
      c.setReadOnly(true);
      // MariaDB's driver keeps this to itself.
      if (Main.driver.equals("mysql")) try { s.execute("INSERT INTO tx VALUES (4, 4)"); throw new AssertionError("inserted"); } catch (SQLException e) { }
      c.rollback(); c.setReadOnly(false); c.setAutoCommit(true);
      s.execute("DROP TABLE tx");
    }));
    Main.check("jdbc_updatable", () -> with("", (c, s) -> {
      s.execute("DROP TABLE IF EXISTS up"); s.execute("CREATE TABLE up (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(10))"); s.execute("INSERT INTO up (v) VALUES ('a'), ('b')");
      try (Statement u = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE); ResultSet r = u.executeQuery("SELECT id, v FROM up")) {
        r.last(); same(r.getRow(), 2); r.updateString(2, "z"); r.updateRow();
        r.moveToInsertRow(); r.updateString(2, "new"); r.insertRow();
        r.absolute(1); r.deleteRow();
      }
      same(rows(s.executeQuery("SELECT v FROM up ORDER BY id"), "v"), "z;new");
      s.execute("DROP TABLE up");
    }));
    Main.check("jdbc_multi_queries", () -> with(Main.driver.equals("mysql") ? "&allowMultiQueries=true" : "", (c, s) -> {
      same(s.execute("SELECT 1; SELECT 2, 3; SET @a = 1; SELECT @a"), true);
      int sets = 0, counts = 0;
      for (boolean rows = true;; rows = s.getMoreResults()) { if (rows) { sets++; s.getResultSet().next(); } else if (s.getUpdateCount() < 0) break; else counts++; }
      same(sets + "," + counts, "3,1");
      s.execute("DROP TABLE IF EXISTS multi; CREATE TABLE multi (a INT PRIMARY KEY)");
      try (PreparedStatement p = c.prepareStatement("INSERT INTO multi VALUES (?); UPDATE multi SET a = a + 100 WHERE a = ?")) { for (int i = 0; i < 50; i++) { p.setInt(1, i); p.setInt(2, i); p.addBatch(); } p.executeBatch(); }
      same(rows(s.executeQuery("SELECT COUNT(*) n FROM multi WHERE a >= 100"), "n"), "50");
      s.execute("DROP TABLE multi");
    }));
    for (String mode : List.of("text", "prepared", "compressed")) Main.check("jdbc_rewritten_batches_" + mode, () -> {
      String more = mode.equals("prepared") ? "&useServerPrepStmts=true&cachePrepStmts=true" : mode.equals("compressed") ? "&useCompression=true" : "";
      String options = more + (Main.driver.equals("mysql") ? "&rewriteBatchedStatements=true&trackSessionState=true&allowMultiQueries=true" : "&useBulkStmts=true");
      with(options, (c, s) -> {
        s.execute("DROP TABLE IF EXISTS batches"); s.execute("CREATE TABLE batches (id INT PRIMARY KEY AUTO_INCREMENT, k INT UNIQUE, v VARCHAR(2000))");
        for (int n : new int[] {1, 2, 3, 4, 5, 50, 301}) {
          String[] statements = {"INSERT INTO batches (k, v) VALUES (?, ?)", "INSERT INTO batches (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = CONCAT(VALUES(v), 'x')", "UPDATE batches SET k = k + 0 * ?, v = ? WHERE k <= 10", "DELETE FROM batches WHERE k = ? AND LENGTH(?) >= 0"};
          for (String sql : statements) try (PreparedStatement p = c.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            for (int i = 0; i < n; i++) { p.setInt(1, i); p.setString(2, "v".repeat(i % 7 * 250)); p.addBatch(); }
            same(p.executeBatch().length, n);
            if (sql.endsWith("VALUES (?, ?)") && Main.driver.equals("mysql")) try (ResultSet k = p.getGeneratedKeys()) { same(count(k), n); }
            c.setAutoCommit(!c.getAutoCommit());
          }
          same(rows(s.executeQuery("SELECT COUNT(*) n FROM batches"), "n"), "0");
          for (int i = 0; i < n; i++) s.addBatch(i % 2 == 0 ? "INSERT INTO batches (k) VALUES (" + i + ")" : "DELETE FROM batches");
          same(s.executeBatch().length, n);
          s.execute("DELETE FROM batches");
        }
        c.setAutoCommit(true);
        s.execute("DROP TABLE batches");
      });
    });
    Main.check("jdbc_long_data", () -> with("&useServerPrepStmts=true", (c, s) -> {
      s.execute("DROP TABLE IF EXISTS big"); s.execute("CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB, t LONGTEXT)");
      byte[] bytes = new byte[3_000_000];
      new Random(1).nextBytes(bytes);
      try (PreparedStatement p = c.prepareStatement("INSERT INTO big VALUES (?, ?, ?)")) {
        p.setInt(1, 1); p.setBinaryStream(2, new java.io.ByteArrayInputStream(bytes)); p.setCharacterStream(3, new java.io.StringReader("日".repeat(100000))); p.executeUpdate();
      }
      try (ResultSet r = s.executeQuery("SELECT b, t FROM big")) { r.next(); same(Arrays.equals(r.getBytes(1), bytes), true); same(r.getString(2).length(), 100000); }
      s.execute("DROP TABLE big");
    }));
    Main.check("jdbc_timeout_and_cancel", () -> with("", (c, s) -> {
      s.setQueryTimeout(1);
      long begin = System.nanoTime();
      try { s.executeQuery("SELECT COUNT(*) FROM information_schema.COLUMNS a, information_schema.COLUMNS b, information_schema.COLUMNS d WHERE a.COLUMN_NAME <> b.COLUMN_NAME AND b.TABLE_NAME <> d.TABLE_NAME AND SLEEP(0.01) = 0"); throw new AssertionError("ended"); } catch (SQLException e) { }
      same(System.nanoTime() - begin < 5_000_000_000L, true);
      s.setQueryTimeout(0);
      same(c.isValid(1), true);
      same(rows(s.executeQuery("SELECT 1 a"), "a"), "1");
    }));
    Main.check("jdbc_errors", () -> with("", (c, s) -> {
      s.execute("DROP TABLE IF EXISTS err"); s.execute("CREATE TABLE err (a INT PRIMARY KEY, b VARCHAR(3) NOT NULL)"); s.execute("INSERT INTO err VALUES (1, 'x')");
      Map<String, Class<?>> expected = new LinkedHashMap<>();
      expected.put("INSERT INTO err VALUES (1, 'y')", SQLIntegrityConstraintViolationException.class);
      expected.put("SELEC", SQLSyntaxErrorException.class);
      expected.put("SELECT nope FROM err", SQLSyntaxErrorException.class);
      expected.put("SELECT * FROM nope", SQLSyntaxErrorException.class);
      expected.put("INSERT INTO err VALUES (2, NULL)", SQLIntegrityConstraintViolationException.class);
      expected.put("INSERT INTO err VALUES (2, 'long text')", DataTruncation.class);
      for (var it : expected.entrySet()) {
        try { s.execute(it.getKey()); throw new AssertionError(it.getKey()); } catch (SQLException e) { if (Main.driver.equals("mysql") || it.getValue() != DataTruncation.class) same(it.getValue().isInstance(e), true); }
      }
      s.execute("SELECT CAST('x' AS SIGNED)");
      same(s.getWarnings() != null, true);
      s.execute("DROP TABLE err");
    }));
    Main.check("jdbc_session", () -> with("&sessionVariables=sql_mode='ANSI_QUOTES',group_concat_max_len=4096" + (Main.driver.equals("mysql") ? "&connectionTimeZone=UTC&forceConnectionTimeZoneToSession=true&characterEncoding=UTF-8&cacheServerConfiguration=true&useLocalSessionState=true&elideSetAutoCommits=true" : ""), (c, s) -> {
      same(rows(s.executeQuery("SELECT @@group_concat_max_len a"), "a"), "4096");
      c.setCatalog("mysql"); same(c.getCatalog(), "mysql"); c.setCatalog("hibernate");
      same(rows(s.executeQuery("SELECT \"a\" FROM (SELECT 1 AS a) t"), "a"), "1");
      if (Main.driver.equals("mysql")) { c.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).resetServerState(); c.unwrap(com.mysql.cj.jdbc.JdbcConnection.class).changeUser("root", ""); }
      same(c.isValid(1), true);
      try (CallableStatement call = null) { }
      c.setNetworkTimeout(Runnable::run, 5000); same(c.getNetworkTimeout(), 5000);
      c.setClientInfo("ApplicationName", "suite");
    }));
    Main.check("jdbc_compression_and_tls", () -> {
      try (Connection c = DriverManager.getConnection(Main.url.replace("useSSL=false", "useCompression=true"), "root", ""); Statement s = c.createStatement()) { same(rows(s.executeQuery("SELECT LENGTH(REPEAT('x', 100000)) a"), "a"), "100000"); }
      if (!mariadb) try (Connection c = DriverManager.getConnection(Main.url.replace("useSSL=false", Main.driver.equals("mysql") ? "sslMode=REQUIRED" : "sslMode=trust"), "root", ""); Statement s = c.createStatement()) { same(rows(s.executeQuery("SHOW STATUS LIKE 'Ssl_version'"), "Value").startsWith("TLSv1."), true); }
    });
    Main.check("jdbc_local_infile", () -> with("&allowLoadLocalInfile=true&allowLocalInfile=true", (c, s) -> {
      s.execute("SET GLOBAL local_infile = 1"); s.execute("DROP TABLE IF EXISTS load_t"); s.execute("CREATE TABLE load_t (a INT, b VARCHAR(10))");
      java.nio.file.Path file = java.nio.file.Files.createTempFile("suite", ".csv");
      java.nio.file.Files.writeString(file, "1,a\n2,b\n");
      same(s.executeUpdate("LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE load_t FIELDS TERMINATED BY ','"), 2);
      java.nio.file.Files.delete(file);
      s.execute("DROP TABLE load_t");
    }));
    if (Main.driver.equals("mysql")) Main.check("jdbc_xa", () -> {
      var d = new com.mysql.cj.jdbc.MysqlXADataSource();
      d.setUrl(Main.url); d.setUser("root");
      var x = d.getXAConnection();
      try (Connection c = x.getConnection(); Statement s = c.createStatement()) {
        s.execute("DROP TABLE IF EXISTS xat"); s.execute("CREATE TABLE xat (a INT)");
        var id = new com.mysql.cj.jdbc.MysqlXid(new byte[] {1}, new byte[] {2}, 1);
        x.getXAResource().start(id, 0); s.execute("INSERT INTO xat VALUES (1)"); x.getXAResource().end(id, javax.transaction.xa.XAResource.TMSUCCESS); x.getXAResource().prepare(id);
        same(x.getXAResource().recover(javax.transaction.xa.XAResource.TMSTARTRSCAN | javax.transaction.xa.XAResource.TMENDRSCAN).length, 1);
        x.getXAResource().commit(id, false);
        s.execute("DROP TABLE xat");
      }
    });
  }
}
