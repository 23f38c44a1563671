-- What a store fixture holds: rows of all kinds of columns and indexes, accounts, views, and changes that were rolled back.
CREATE DATABASE fixture;
USE fixture;
CREATE TABLE kinds (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
  i INT NOT NULL, t TINYINT, u BIGINT UNSIGNED, d DECIMAL(20,6), f FLOAT, g DOUBLE, b BIT(12), y YEAR,
  c CHAR(20), v VARCHAR(200) CHARACTER SET latin1, x TEXT, o BLOB, e ENUM('red','green','blue'), s SET('a','b','c','d'),
  j JSON, dt DATE, tm TIME(3), ts TIMESTAMP(6) NULL, dtm DATETIME(2),
  full_name VARCHAR(300) GENERATED ALWAYS AS (CONCAT(c, ' ', v)) STORED,
  twice INT GENERATED ALWAYS AS (i * 2) VIRTUAL,
  UNIQUE KEY (i), KEY (v(10), d DESC), KEY (twice), KEY ((LOWER(c))), KEY (e, s), KEY (dt, tm)
) COMMENT 'all kinds';
SET time_zone = '+00:00';
INSERT INTO kinds (i, t, u, d, f, g, b, y, c, v, x, o, e, s, j, dt, tm, ts, dtm)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
SELECT i, i % 100, i * 1000000007, i / 7, i / 3, i / 9e10, i & 4095, 1950 + i % 150, CONCAT('Näme ', i), REPEAT(CHAR(65 + i % 26), i % 150),
  IF(i % 100 = 0, REPEAT('long text ', 3000), CONCAT('short ', i)), IF(i % 5, UNHEX(HEX(i)), NULL), ELT(1 + i % 3, 'red', 'green', 'blue'),
  i % 16, JSON_OBJECT('n', i, 'list', JSON_ARRAY(i, 'two', NULL)), '2000-01-01' + INTERVAL i DAY, SEC_TO_TIME(i * 37),
  '2001-02-03 04:05:06.789' + INTERVAL i HOUR, '1999-12-31 23:59:59.99' + INTERVAL i MINUTE
FROM n;
UPDATE kinds SET v = CONCAT(v, '!'), d = d + 1 WHERE id % 3 = 0;
DELETE FROM kinds WHERE id % 11 = 0;
CREATE TABLE no_key (a INT, b VARCHAR(50), KEY (b)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
INSERT INTO no_key SELECT i, CONCAT('b', i % 40) FROM kinds WHERE i <= 500;
CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(30) NOT NULL DEFAULT 'nobody');
CREATE TABLE child (id INT PRIMARY KEY, parent_id INT, CHECK (id > 0), FOREIGN KEY (parent_id) REFERENCES parent (id) ON DELETE CASCADE);
INSERT INTO parent (id) VALUES (1), (2), (3);
INSERT INTO child VALUES (1, 1), (2, 1), (3, 2), (4, NULL);
ALTER TABLE parent ADD COLUMN added INT NOT NULL DEFAULT 7;
CREATE VIEW greens AS SELECT id, c, j FROM kinds WHERE e = 'green';
BEGIN; UPDATE kinds SET t = 1; DELETE FROM child; ROLLBACK;
CREATE USER reader@localhost IDENTIFIED BY 'Read-1';
GRANT SELECT ON fixture.* TO reader@localhost;
CREATE ROLE auditors;
GRANT auditors TO reader@localhost;
SET PERSIST max_connections = 77;
ANALYZE TABLE kinds;
XA START 'branch'; INSERT INTO no_key VALUES (-1, 'prepared'); XA END 'branch'; XA PREPARE 'branch';
