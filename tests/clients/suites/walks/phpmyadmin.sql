CREATE DATABASE IF NOT EXISTS suite_pma CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
USE suite_pma;
CREATE TABLE articles (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, title VARCHAR(200), body TEXT, FULLTEXT KEY words (title, body), FULLTEXT KEY body (body));
INSERT INTO articles (title, body) VALUES ('River', 'the river and the mountain'), ('Mountain', 'mountain mountain'), ('Sea', 'a river goes to the sea'), ('数据库', '数据库 river'), ('none', NULL);
CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(30));
INSERT INTO parent VALUES (1, 'one'), (2, 'two'), (3, 'three');
CREATE TABLE child (id INT AUTO_INCREMENT PRIMARY KEY, parent INT, note VARCHAR(30), KEY parent (parent), CONSTRAINT child_parent FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
INSERT INTO child (parent, note) VALUES (1, 'a'), (1, 'b'), (2, 'c'), (NULL, 'd');
CREATE TABLE child2 (id INT PRIMARY KEY, parent INT, KEY parent (parent));
CREATE TABLE plain (a INT PRIMARY KEY, b VARCHAR(30));
INSERT INTO plain VALUES (1, 'abc'), (2, 'bcd'), (3, 'x');
CREATE TABLE kinds (id INT PRIMARY KEY, ti TINYINT, bi BIGINT UNSIGNED, de DECIMAL(10, 3), fl FLOAT, do DOUBLE, da DATE, dt DATETIME(3), ts TIMESTAMP NULL, tm TIME, ye YEAR, ch CHAR(5), vb VARBINARY(10), bl BLOB, te TEXT,
  e ENUM('a', 'b'), se SET('x', 'y'), bt BIT(5), j JSON, g INT AS (id + 1) VIRTUAL, h INT AS (id * 2) STORED, KEY h (h), UNIQUE KEY u (bi, de));
INSERT INTO kinds (id, ti, bi, de, fl, do, da, dt, ts, tm, ye, ch, vb, bl, te, e, se, bt, j) VALUES
  (1, -1, 18446744073709551615, 1.5, 1.5, 2.5, '2020-02-29', '2020-01-01 01:02:03.456', '2020-01-01 00:00:00', '-10:00:00', 2020, 'abc', x'00ff', x'0102', 'text é', 'a', 'x,y', b'10101', '{"a": 1, "b": [1, 2]}'),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE by_range (id INT NOT NULL, at DATE NOT NULL, v INT, PRIMARY KEY (id, at)) PARTITION BY RANGE (YEAR(at))
  (PARTITION p2020 VALUES LESS THAN (2021) COMMENT = 'first', PARTITION p2021 VALUES LESS THAN (2022), PARTITION pmax VALUES LESS THAN MAXVALUE);
INSERT INTO by_range VALUES (1, '2020-01-01', 1), (2, '2021-01-01', 2), (3, '2022-01-01', 3), (4, '2023-01-01', 4), (5, '2020-05-05', 5);
CREATE TABLE by_list (id INT NOT NULL, k INT) PARTITION BY LIST (k) (PARTITION p0 VALUES IN (1, 2, NULL), PARTITION p1 VALUES IN (3, 4), PARTITION p2 VALUES IN (5));
INSERT INTO by_list VALUES (1, 1), (2, 3), (3, NULL), (4, 5);
CREATE TABLE by_hash (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY HASH (id) PARTITIONS 4;
INSERT INTO by_hash VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e');
CREATE TABLE by_key (id INT PRIMARY KEY, v VARCHAR(20)) PARTITION BY KEY () PARTITIONS 3;
INSERT INTO by_key VALUES (1, 'a'), (2, 'b'), (3, 'c');
CREATE TABLE by_sub (id INT, at DATE) PARTITION BY RANGE (YEAR(at)) SUBPARTITION BY HASH (TO_DAYS(at)) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (2020), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO by_sub VALUES (1, '2019-01-01'), (2, '2020-01-01'), (3, '2021-01-02');
CREATE VIEW an_article AS SELECT id, title FROM articles;
CREATE VIEW all_kinds AS SELECT k.id, k.de, k.e, p.name FROM kinds k LEFT JOIN parent p ON p.id = k.id;
CREATE TRIGGER before_plain BEFORE INSERT ON plain FOR EACH ROW SET NEW.b = COALESCE(NEW.b, '');
CREATE FUNCTION twice (a INT) RETURNS INT DETERMINISTIC RETURN a * 2;
CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DISABLE DO DELETE FROM by_hash WHERE id < 0;
DELIMITER $$
CREATE PROCEDURE add_article (IN t VARCHAR(200), IN b TEXT) BEGIN INSERT INTO articles (title, body) VALUES (t, b); SELECT LAST_INSERT_ID() > 0; END$$
CREATE PROCEDURE two_results () BEGIN SELECT 1 a; SELECT 2 b, 3 c; END$$
DELIMITER ;
