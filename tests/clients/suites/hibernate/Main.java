import jakarta.persistence.*;
import jakarta.persistence.criteria.*;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.hibernate.Hibernate;
import org.hibernate.LockMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** "ok NAME" or "not ok NAME: why" for each check and driver, "done" at the end. */
public class Main {
  interface Check { void run() throws Exception; }

  static String driver, url, dialect;
  static SessionFactory factory;
  static long author;

  static void check(String name, Check c) {
    try {
      c.run();
      System.out.println("ok " + driver + "." + name);
    } catch (Throwable e) {
      Throwable root = e;
      while (root.getCause() != null) root = root.getCause();
      System.out.println("not ok " + driver + "." + name + ": " + String.valueOf(e).replace('\n', ' ') + " | " + String.valueOf(root).replace('\n', ' ')
        + " | " + Arrays.stream(e.getStackTrace()).filter(f -> List.of("Main", "Jdbc").contains(f.getClassName()) && !f.getMethodName().equals("same")).findFirst().orElse(null));
    }
  }

  static void same(Object a, Object b) {
    if (!Objects.equals(a, b)) throw new AssertionError(a + " is not " + b);
  }

  static Configuration configuration(String ddl) {
    Configuration c = new Configuration()
      .setProperty("hibernate.connection.url", url)
      .setProperty("hibernate.connection.username", "root")
      .setProperty("hibernate.connection.password", "")
      .setProperty("hibernate.hbm2ddl.auto", ddl)
      // CREATE drops first what is not there.
      .setProperty("hibernate.hbm2ddl.halt_on_error", String.valueOf(!ddl.equals("create")))
      .setProperty("hibernate.jdbc.batch_size", "20")
      .setProperty("hibernate.order_inserts", "true")
      .setProperty("hibernate.order_updates", "true");
    // Left to itself, Hibernate goes by the driver's name: it would ask MySQL for sequences through MariaDB's.
    c.setProperty("hibernate.dialect", dialect);
    for (Class<?> k : List.of(Author.class, Book.class, Comic.class, Tag.class, Shape.class, Circle.class)) c.addAnnotatedClass(k);
    return c;
  }

  static SessionFactory open(String ddl) { return configuration(ddl).buildSessionFactory(); }

  static <T> T in(java.util.function.Function<Session, T> f) { return factory.fromTransaction(f::apply); }

  public static void main(String[] args) throws Exception {
    java.util.logging.LogManager.getLogManager().reset();
    for (String d : List.of("mysql", "mariadb")) {
      driver = d;
      url = "jdbc:" + d + "://127.0.0.1:" + args[0] + "/hibernate?allowPublicKeyRetrieval=true&useSSL=false"
        + (d.equals("mysql") ? "&rewriteBatchedStatements=true" : "&allowMultiQueries=true");
      dialect = args[1].contains("MariaDB") ? "org.hibernate.dialect.MariaDBDialect" : d.equals("mysql") ? "org.hibernate.dialect.MySQLDialect" : "MixedCaseDialect";
      check("schema", () -> factory = open("create"));
      if (factory != null) {
        checks();
        check("drop", () -> { factory.getSchemaManager().dropMappedObjects(true); factory.close(); });
      }
      factory = null;
      Jdbc.checks(args[1].contains("MariaDB"));
    }
    System.out.println("done");
  }

  static Author author(String name, String mail) {
    Author a = new Author();
    a.name = name;
    a.mail = mail;
    return a;
  }

  static Author only(Session s) { return s.find(Author.class, author); }

  static long count(Session s, String what) { return s.createQuery("select count(x) from " + what + " x", Long.class).getSingleResult(); }

  static void checks() {
    check("validate", () -> open("validate").close());
    check("update_changes_nothing", () -> open("update").close());
    check("update_adds_column", () -> {
      in(s -> { s.createNativeMutationQuery("ALTER TABLE author DROP COLUMN ratio").executeUpdate(); return null; });
      try { open("validate").close(); throw new AssertionError("validated"); } catch (org.hibernate.tool.schema.spi.SchemaManagementException e) { }
      open("update").close();
      open("validate").close();
    });
    check("round_trip", () -> {
      Author a = author("Ann 日本", "a@x");
      a.price = new BigDecimal("12.3456"); a.letter = 'q'; a.small = -7; a.single = 1.5f; a.ratio = 0.1;
      a.born = LocalDate.of(2024, 2, 29); a.at = LocalDateTime.of(2026, 1, 2, 3, 4, 5, 678901000);
      a.instant = Instant.parse("2026-01-02T03:04:05.123456Z"); a.time = LocalTime.of(1, 2, 3); a.lasting = Duration.ofHours(30);
      a.uid = UUID.randomUUID(); a.raw = new byte[] {0, 1, -1}; a.body = "x".repeat(100000); a.photo = new byte[70000];
      a.extra = Map.of("a", 1, "b", List.of("x", true), "c", "日");
      a.address = new Address(); a.address.street = "s";
      a.nicknames.addAll(List.of("n", "m")); a.steps.addAll(List.of("1", "2", "3")); a.marks.putAll(Map.of("x", 1, "y", 2));
      in(s -> { s.persist(a); return null; });
      author = a.id;
      Author b = in(s -> { Author r = s.find(Author.class, a.id); Hibernate.initialize(r.nicknames); Hibernate.initialize(r.steps); Hibernate.initialize(r.marks); return r; });
      same(b.name, a.name); same(b.level, Level.LOW); same(b.place, Level.HIGH); same(b.price, a.price); same(b.letter, 'q'); same(b.small, (short) -7);
      same(b.single, 1.5f); same(b.ratio, 0.1); same(b.active, true); same(b.born, a.born); same(b.at, a.at); same(b.instant, a.instant); same(b.time, a.time);
      same(b.lasting, a.lasting); same(b.uid, a.uid); same(b.body, a.body); same(b.photo.length, 70000); same(Arrays.equals(b.raw, a.raw), true);
      same(b.extra, a.extra); same(b.address.street, "s"); same(b.nicknames, a.nicknames); same(b.steps, a.steps); same(b.marks, a.marks);
    });
    check("relations", () -> in(s -> {
      Author a = s.createQuery("from Author where mail = 'a@x'", Author.class).getSingleResult();
      Tag t = new Tag("t"), u = new Tag("u");
      s.persist(t); s.persist(u);
      for (int i = 0; i < 50; i++) {
        Book k = i % 5 == 0 ? new Comic() : new Book();
        if (k instanceof Comic c) c.artist = "art";
        k.title = "b" + i; k.pages = i; k.author = a; k.tags.add(i % 2 == 0 ? t : u);
        a.books.add(k);
        s.persist(k);
      }
      return null;
    }));
    check("lazy", () -> {
      Author a = in(s -> only(s));
      same(Hibernate.isInitialized(a.books), false);
      try { a.books.size(); throw new AssertionError("loaded"); } catch (org.hibernate.LazyInitializationException e) { }
      in(s -> { same(only(s).books.size(), 50); same(Hibernate.isInitialized(s.createQuery("from Book", Book.class).setMaxResults(1).getSingleResult().author), true); return null; });
      same(in(s -> s.createQuery("select distinct a from Author a left join fetch a.books b left join fetch b.tags", Author.class).getSingleResult()).books.size(), 50);
    });
    check("collections", () -> {
      in(s -> { Author a = only(s); a.steps.remove(0); a.steps.add("4"); a.marks.put("x", 5); a.nicknames.clear(); return null; });
      in(s -> { Author a = only(s); same(List.copyOf(a.steps), List.of("2", "3", "4")); same(a.marks.get("x"), 5); same(a.nicknames.size(), 0); a.nicknames.addAll(List.of("n", "m")); return null; });
    });
    check("hql", () -> in(s -> {
      same(s.createQuery("select count(b) from Book b join b.tags t where t.label = :l and b.pages between 10 and 19", Long.class).setParameter("l", "t").getSingleResult(), 5L);
      same(s.createQuery("select a.name, sum(b.pages) from Author a join a.books b group by a.name having sum(b.pages) > 10", Object[].class).getSingleResult()[1], 1225L);
      same(s.createQuery("from Author a where exists (select 1 from a.books b where b.pages = 49) and a.name like '%日%' and size(a.nicknames) = 2", Author.class).getResultList().size(), 1);
      same(s.createQuery("select extract(year from a.born) + 0, upper(concat(a.name, '!')), coalesce(a.price, 0), cast(a.id as string), current_date from Author a", Object[].class).getResultList().size(), 1);
      same(s.createQuery("select b.title from Book b where b.pages in (:p) order by b.title", String.class).setParameterList("p", List.of(1, 2, 3)).getResultList(), List.of("b1", "b2", "b3"));
      same(s.createQuery("select case when b.pages < 10 then 'low' else 'high' end, count(*) from Book b group by case when b.pages < 10 then 'low' else 'high' end order by 2", Object[].class).getResultList().get(0)[1], 10L);
      same(s.createQuery("select key(m), value(m) from Author a join a.marks m order by key(m)", Object[].class).getResultList().size(), 2);
      same(s.createQuery("select listagg(b.title, ',') within group (order by b.pages) from Book b where b.pages < 3", String.class).getSingleResult(), "b0,b1,b2");
      same(s.createQuery("select b.pages from Book b where b.pages > all (select c.pages from Comic c)", Integer.class).getResultList().size(), 4);
      return null;
    }));
    check("functions", () -> in(s -> {
      Object[] r = s.createQuery("select lower('AB'), length('日本'), locate('b', 'abc'), substring('abcdef', 2, 3), trim(both 'x' from 'xax'), replace('aba', 'a', 'c'), left('abc', 2), right('abc', 2), lpad('a', 3, '-'),"
        + " repeat('a', 3), abs(-3), sqrt(16.0), mod(7, 3), round(1.256, 2), floor(1.5), ceiling(1.5), power(2, 3), sign(-2), greatest(1, 3), least(1, 3), nullif(1, 1), ifnull(null, 4), local_datetime, cast('5' as Integer),"
        + " a.born + 1 day, (a.at - a.at) by second, format(a.at as 'yyyy-MM-dd HH:mm'), truncate(a.at, month), extract(week from a.born), bitand(6, 3), ln(1.0), exp(0.0) from Author a", Object[].class).getSingleResult();
      same(r[0], "ab"); same(((Number) r[1]).intValue(), 2); same(r[3], "bcd"); same(r[8], "--a"); same(((Number) r[19]).intValue(), 1); same(r[24], LocalDate.of(2024, 3, 1)); same(r[26], "2026-01-02 03:04");
      same(r[27], LocalDateTime.of(2026, 1, 1, 0, 0)); same(((Number) r[29]).intValue(), 2);
      return null;
    }));
    check("windows", () -> in(s -> {
      same(s.createQuery("select b.title, row_number() over (order by b.pages desc) from Book b order by b.pages desc", Object[].class).setMaxResults(1).getSingleResult()[0], "b49");
      same(s.createQuery("select sum(b.pages) over (order by b.pages rows between 1 preceding and current row) s from Book b order by b.pages", Long.class).setMaxResults(3).getResultList(), List.of(0L, 1L, 3L));
      same(s.createQuery("select rank() over (partition by mod(b.pages, 5) order by b.pages), lag(b.pages) over (order by b.pages), first_value(b.pages) over (order by b.pages) from Book b", Object[].class).getResultList().size(), 50);
      return null;
    }));
    check("cte", () -> in(s -> {
      same(s.createQuery("with many as (select b.pages p from Book b where b.pages > 40) select count(m.p) from many m", Long.class).getSingleResult(), 9L);
      same(s.createQuery("with r as (select b.pages p from Book b where b.pages = 0 union all select b.pages p from Book b join r x on b.pages = x.p + 10) select y.p from r y order by y.p", Integer.class).getResultList(), List.of(0, 10, 20, 30, 40));
      same(s.createQuery("select x.t from (select b.title t, b.pages p from Book b order by b.pages limit 5) x where x.p > 2 order by x.p", String.class).getResultList(), List.of("b3", "b4"));
      same(s.createQuery("select a.name, l.p from Author a join lateral (select b.pages p from Book b where b.author = a order by b.pages desc limit 2) l", Object[].class).getResultList().size(), 2);
      return null;
    }));
    check("set_operations", () -> in(s -> {
      same(s.createQuery("select b.pages from Book b where b.pages < 3 union select b.pages from Book b where b.pages between 2 and 4", Integer.class).getResultList().size(), 5);
      same(s.createQuery("select b.pages from Book b where b.pages < 5 intersect select b.pages from Book b where b.pages > 2", Integer.class).getResultList().size(), 2);
      same(s.createQuery("select b.pages from Book b where b.pages < 5 except select b.pages from Book b where b.pages > 2", Integer.class).getResultList().size(), 3);
      return null;
    }));
    check("pagination", () -> in(s -> {
      same(s.createQuery("from Book b where type(b) = Comic order by b.pages desc", Book.class).setFirstResult(2).setMaxResults(3).getResultList().stream().map(b -> b.pages).toList(), List.of(35, 30, 25));
      same(s.createQuery("from Book b order by b.pages limit 2 offset 48", Book.class).getResultList().size(), 2);
      same(s.createQuery("from Book b order by b.pages", Book.class).setFirstResult(45).getResultList().size(), 5);
      try (var scroll = s.createQuery("from Book b order by b.pages", Book.class).setFetchSize(7).scroll()) { scroll.last(); same(scroll.getRowNumber() >= 49, true); }
      try (var stream = s.createQuery("from Book b", Book.class).setFetchSize(7).getResultStream()) { same(stream.count(), 50L); }
      return null;
    }));
    check("criteria", () -> in(s -> {
      CriteriaBuilder cb = s.getCriteriaBuilder();
      CriteriaQuery<Object[]> q = cb.createQuery(Object[].class);
      Root<Book> b = q.from(Book.class);
      Join<Book, Author> a = b.join("author");
      q.multiselect(a.get("name"), cb.count(b), cb.avg(b.get("pages")), cb.max(b.<Integer>get("pages")))
        .where(cb.and(cb.like(b.get("title"), "b1%"), cb.greaterThan(b.get("pages"), 5), cb.isNotNull(a.get("mail"))))
        .groupBy(a.get("name")).having(cb.gt(cb.count(b), 1));
      Object[] row = s.createQuery(q).getSingleResult();
      same(row[1], 10L); same(row[2], 14.5);
      CriteriaUpdate<Tag> u = cb.createCriteriaUpdate(Tag.class);
      Root<Tag> t = u.from(Tag.class);
      same(s.createMutationQuery(u.set(t.<String>get("label"), cb.concat(t.get("label"), "!")).where(cb.equal(t.get("label"), "u"))).executeUpdate(), 1);
      CriteriaQuery<Book> sub = cb.createQuery(Book.class);
      Root<Book> outer = sub.from(Book.class);
      Subquery<Integer> max = sub.subquery(Integer.class);
      max.select(cb.max(max.from(Book.class).<Integer>get("pages")));
      same(s.createQuery(sub.where(cb.equal(outer.get("pages"), max))).getSingleResult().title, "b49");
      return null;
    }));
    check("single_table", () -> {
      in(s -> { Shape p = new Shape(); p.key = new ShapeKey("p", 1); p.size = 3; s.persist(p); Circle c = new Circle(); c.key = new ShapeKey("p", 2); c.radius = 2.5; s.persist(c); return null; });
      in(s -> {
        same(s.find(Shape.class, new ShapeKey("p", 2)).getClass(), Circle.class);
        same(s.createQuery("from Shape x where x.key in (:k)", Shape.class).setParameterList("k", List.of(new ShapeKey("p", 1), new ShapeKey("q", 1))).getResultList().size(), 1);
        same(s.createQuery("select treat(x as Circle).radius from Shape x", Double.class).getResultList().size(), 1);
        return null;
      });
    });
    check("batch", () -> {
      in(s -> { for (int i = 0; i < 500; i++) s.persist(new Tag("batch" + i)); return null; });
      in(s -> { for (Tag t : s.createQuery("from Tag where label like 'batch%'", Tag.class).getResultList()) t.label = t.label + "x"; return null; });
      same(in(s -> s.createQuery("select count(t) from Tag t where t.label like 'batch%x'", Long.class).getSingleResult()), 500L);
      in(s -> { for (Tag t : s.createQuery("from Tag where label like 'batch%'", Tag.class).getResultList()) s.remove(t); return null; });
      same(in(s -> count(s, "Tag")), 2L);
    });
    check("stateless", () -> {
      try (var s = factory.openStatelessSession()) {
        s.beginTransaction();
        s.setJdbcBatchSize(1);
        Tag t = new Tag("stateless");
        s.insert(t); t.label = "changed"; s.update(t); same(s.get(Tag.class, t.id).label, "changed"); s.upsert(t); s.delete(t);
        s.getTransaction().commit();
      }
    });
    check("insert_select", () -> in(s -> {
      same(s.createMutationQuery("insert into Shape (key.plane, key.number, size) select 'b', b.pages, b.pages from Book b where b.pages < 5").executeUpdate(), 5);
      same(s.createMutationQuery("insert into Shape (key.plane, key.number, size) values ('v', 1, 1), ('v', 2, 2)").executeUpdate(), 2);
      same(s.createMutationQuery("insert into Shape (key.plane, key.number, size) values ('v', 1, 9) on conflict do update set size = excluded.size + 1").executeUpdate() > 0, true);
      same(s.createQuery("select size from Shape where key.plane = 'v' and key.number = 1", Integer.class).getSingleResult(), 10);
      return null;
    }));
    check("bulk", () -> in(s -> {
      same(s.createMutationQuery("update Book b set b.pages = b.pages + 1 where b.pages < 10").executeUpdate(), 10);
      same(s.createMutationQuery("update Comic c set c.artist = 'other', c.pages = c.pages where c.pages > 20").executeUpdate() > 3, true);
      same(s.createMutationQuery("delete from Comic c where c.pages > 40").executeUpdate(), 1);
      return null;
    }));
    check("lock_modes", () -> in(s -> {
      for (LockModeType m : List.of(LockModeType.PESSIMISTIC_WRITE, LockModeType.PESSIMISTIC_READ, LockModeType.PESSIMISTIC_FORCE_INCREMENT, LockModeType.OPTIMISTIC)) {
        s.clear();
        s.createQuery("from Author", Author.class).setLockMode(m).getResultList();
      }
      s.createQuery("from Tag", Tag.class).setHibernateLockMode(LockMode.UPGRADE_SKIPLOCKED).getResultList();
      s.createQuery("from Tag", Tag.class).setHibernateLockMode(LockMode.UPGRADE_NOWAIT).getResultList();
      s.createQuery("select b from Book b join b.author a", Book.class).setLockMode("b", LockMode.PESSIMISTIC_WRITE).getResultList();
      return null;
    }));
    check("lock_conflict", () -> in(s -> {
      s.find(Author.class, author, LockModeType.PESSIMISTIC_WRITE);
      try (Session t = factory.openSession()) {
        t.beginTransaction();
        same(t.createQuery("from Author", Author.class).setHibernateLockMode(LockMode.UPGRADE_SKIPLOCKED).getResultList().size(), 0);
        try { t.createQuery("from Author", Author.class).setHibernateLockMode(LockMode.UPGRADE_NOWAIT).getResultList(); throw new AssertionError("locked"); } catch (PessimisticLockException | LockTimeoutException e) { }
        t.getTransaction().rollback();
      }
      return null;
    }));
    check("optimistic_lock", () -> {
      Author stale = in(s -> { Author a = only(s); s.detach(a); return a; });
      in(s -> { only(s).name = "new"; return null; });
      try {
        in(s -> { s.lock(stale, LockMode.OPTIMISTIC); return null; });
        throw new AssertionError("locked");
      } catch (OptimisticLockException | org.hibernate.dialect.lock.OptimisticEntityLockException e) { }
      same(in(s -> s.createMutationQuery("update versioned Author a set a.mail = a.mail where a.version = :v").setParameter("v", stale.version).executeUpdate()), 0);
    });
    check("constraint_name", () -> {
      try { in(s -> { s.persist(author("B", "a@x")); return null; }); throw new AssertionError("persisted"); } catch (org.hibernate.exception.ConstraintViolationException e) { same(e.getConstraintName().replaceAll(".*\\.", ""), "mails"); }
      try { in(s -> s.createMutationQuery("update Author a set a.name = null").executeUpdate()); throw new AssertionError("updated"); } catch (org.hibernate.exception.ConstraintViolationException e) { }
      try { in(s -> s.createNativeMutationQuery("INSERT INTO book (id, pages, author_id) VALUES (9999, 1, 9999)").executeUpdate()); throw new AssertionError("inserted"); } catch (org.hibernate.exception.ConstraintViolationException e) { }
    });
    check("rollback", () -> {
      try (Session s = factory.openSession()) { s.beginTransaction(); s.persist(author("R", null)); s.flush(); s.getTransaction().rollback(); }
      same(in(s -> count(s, "Author")), 1L);
    });
    check("native", () -> {
      same(in(s -> ((Number) s.createNativeQuery("SELECT COUNT(*) FROM book WHERE pages > ?", Object.class).setParameter(1, 0).getSingleResult()).intValue() > 40), true);
      same(in(s -> s.createNativeQuery("SELECT * FROM tag ORDER BY label", Tag.class).getResultList()).size(), 2);
    });
    check("orphans", () -> in(s -> { only(s).books.clear(); s.flush(); same(count(s, "Book"), 0L); return null; }));
  }
}
