import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;

enum Level { LOW, HIGH }

@Embeddable
class Address {
  String street;
  @Column(length = 10) String zip;
}

@Entity
@Table(name = "author", indexes = @Index(columnList = "level,name"), uniqueConstraints = @UniqueConstraint(name = "mails", columnNames = "mail"))
class Author {
  @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
  @Version int version;
  @Column(nullable = false, length = 60) String name;
  String mail;
  @Enumerated(EnumType.STRING) Level level = Level.LOW;
  @Enumerated(EnumType.ORDINAL) Level place = Level.HIGH;
  @Column(precision = 12, scale = 4) BigDecimal price;
  boolean active = true;
  Character letter;
  Short small;
  Float single;
  Double ratio;
  LocalDate born;
  @Column(precision = 6) LocalDateTime at;
  Instant instant;
  LocalTime time;
  Duration lasting;
  UUID uid;
  byte[] raw;
  @Lob String body;
  @Lob byte[] photo;
  @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> extra;
  @Embedded Address address;
  @ElementCollection Set<String> nicknames = new HashSet<>();
  @ElementCollection @OrderColumn List<String> steps = new ArrayList<>();
  @ElementCollection Map<String, Integer> marks = new HashMap<>();
  @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true) List<Book> books = new ArrayList<>();
}

@Entity
@Table(name = "book")
@Inheritance(strategy = InheritanceType.JOINED)
class Book {
  @Id @GeneratedValue(strategy = GenerationType.TABLE) Long id;
  String title;
  int pages;
  @ManyToOne(fetch = FetchType.LAZY, optional = false) Author author;
  @ManyToMany Set<Tag> tags = new HashSet<>();
}

@Entity
@Table(name = "comic")
class Comic extends Book {
  String artist;
}

@Entity
@Table(name = "tag")
class Tag {
  @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
  @Column(unique = true) String label;
  Tag() {}
  Tag(String label) { this.label = label; }
}

@Entity
@Table(name = "shape")
@Inheritance(strategy = InheritanceType.SINGLE_TABLE)
class Shape {
  @EmbeddedId ShapeKey key;
  Integer size;
}

@Entity
class Circle extends Shape {
  Double radius;
}

@Embeddable
class ShapeKey implements java.io.Serializable {
  String plane;
  int number;
  ShapeKey() {}
  ShapeKey(String plane, int number) { this.plane = plane; this.number = number; }
  @Override public boolean equals(Object o) { return o instanceof ShapeKey k && k.plane.equals(plane) && k.number == number; }
  @Override public int hashCode() { return plane.hashCode() + number; }
}
