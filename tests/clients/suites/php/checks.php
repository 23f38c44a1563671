<?php
// What blogs and wikis in PHP send, through mysqli and PDO: "ok NAME" or "not ok NAME: why" for each check, "done" at the end.
mysqli_report(MYSQLI_REPORT_OFF);
[$port, $socket] = [(int) $argv[1], $argv[2]];

function same($a, $b) { if ($a !== $b) throw new Exception(json_encode($a) . ' is not ' . json_encode($b)); }

function check(string $name, callable $c) {
    try { $c(); echo "ok php.$name\n"; } catch (Throwable $e) { echo "not ok php.$name: ", str_replace("\n", ' ', $e->getMessage()), " (line {$e->getLine()}, ", $e->getTrace()[0]['line'] ?? '', ")\n"; }
}

$db = mysqli_init();
$db->real_connect('127.0.0.1', 'root', '', null, $port, null, MYSQLI_CLIENT_FOUND_ROWS) or exit("no connection\n");
// As blogs begin: the character set, and the modes they cannot live with taken out of sql_mode.
check('session', function () use ($db) {
    same($db->set_charset('utf8mb4'), true);
    $db->query("SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'");
    $mode = $db->query('SELECT @@SESSION.sql_mode')->fetch_row()[0];
    $strict = ['NO_ZERO_DATE', 'ONLY_FULL_GROUP_BY', 'STRICT_TRANS_TABLES', 'STRICT_ALL_TABLES', 'TRADITIONAL', 'ANSI', 'NO_ZERO_IN_DATE'];
    same($db->query("SET SESSION sql_mode='" . implode(',', array_diff(explode(',', $mode), $strict)) . "'"), true);
    same($db->select_db('suite_php'), true);
    same(str_contains($db->server_info, '.'), true);
    same($db->query("SHOW VARIABLES LIKE 'sql_mode'")->num_rows, 1);
});

$charset = 'DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci';
$tables = [
    "CREATE TABLE blog_entries (
  ID bigint(20) unsigned NOT NULL auto_increment,
  author bigint(20) unsigned NOT NULL default '0',
  made datetime NOT NULL default '0000-00-00 00:00:00',
  content longtext NOT NULL,
  title text NOT NULL,
  state varchar(20) NOT NULL default 'publish',
  slug varchar(200) NOT NULL default '',
  kind varchar(20) NOT NULL default 'post',
  parent bigint(20) unsigned NOT NULL default '0',
  replies bigint(20) NOT NULL default '0',
  PRIMARY KEY  (ID),
  KEY slug (slug(191)),
  KEY kind_state_made (kind,state,made,ID),
  KEY author (author)
) $charset;",
    "CREATE TABLE blog_meta (
  meta_id bigint(20) unsigned NOT NULL auto_increment,
  entry_id bigint(20) unsigned NOT NULL default '0',
  meta_key varchar(255) default NULL,
  meta_value longtext,
  PRIMARY KEY  (meta_id),
  KEY entry_id (entry_id),
  KEY meta_key (meta_key(191))
) $charset;",
    "CREATE TABLE blog_options (
  option_id bigint(20) unsigned NOT NULL auto_increment,
  option_name varchar(191) NOT NULL default '',
  option_value longtext NOT NULL,
  autoload varchar(20) NOT NULL default 'yes',
  PRIMARY KEY  (option_id),
  UNIQUE KEY option_name (option_name),
  KEY autoload (autoload)
) $charset;",
    "CREATE TABLE blog_terms (
  term_id bigint(20) unsigned NOT NULL auto_increment,
  name varchar(200) NOT NULL default '',
  slug varchar(200) NOT NULL default '',
  PRIMARY KEY  (term_id),
  KEY slug (slug(191))
) $charset;",
    "CREATE TABLE blog_relations (
  object_id bigint(20) unsigned NOT NULL default 0,
  term_id bigint(20) unsigned NOT NULL default 0,
  term_order int(11) NOT NULL default 0,
  PRIMARY KEY  (object_id,term_id),
  KEY term_id (term_id)
) $charset;",
];
check('blog_schema', function () use ($db, $tables) {
    foreach ($tables as $sql) same($db->query($sql), true);
    $fields = $db->query('DESCRIBE blog_entries;')->fetch_all(MYSQLI_ASSOC);
    same(count($fields), 10);
    same([$fields[0]['Field'], $fields[0]['Key'], $fields[0]['Extra'], $fields[2]['Default'], $fields[3]['Null']], ['ID', 'PRI', 'auto_increment', '0000-00-00 00:00:00', 'NO']);
    same(preg_match('/^bigint(\(20\))? unsigned$/', $fields[0]['Type']), 1);
    $index = array_map(fn($r) => "{$r['Key_name']}.{$r['Column_name']}.{$r['Sub_part']}.{$r['Non_unique']}", $db->query('SHOW INDEX FROM blog_entries;')->fetch_all(MYSQLI_ASSOC));
    sort($index);
    same($index, ['PRIMARY.ID..0', 'author.author..1', 'kind_state_made.ID..1', 'kind_state_made.kind..1', 'kind_state_made.made..1', 'kind_state_made.state..1', 'slug.slug.191.1']);
    same($db->query('SHOW FULL COLUMNS FROM `blog_meta`')->fetch_all(MYSQLI_ASSOC)[2]['Collation'], 'utf8mb4_unicode_520_ci');
    same($db->query("SHOW TABLES LIKE 'blog\\_%'")->num_rows, 5);
    same($db->query("SHOW TABLE STATUS LIKE 'blog_options'")->fetch_assoc()['Collation'], 'utf8mb4_unicode_520_ci');
});
check('blog_schema_changes', function () use ($db) {
    foreach (["ALTER TABLE blog_options CHANGE COLUMN `autoload` autoload varchar(30) NOT NULL default 'yes'", 'ALTER TABLE blog_entries ADD COLUMN password varchar(255) NOT NULL default \'\'',
        'ALTER TABLE blog_entries ADD KEY `parent` (`parent`)', "ALTER TABLE blog_options ALTER COLUMN `autoload` SET DEFAULT 'no'", 'ALTER TABLE blog_entries DROP COLUMN password',
        'ALTER TABLE blog_meta CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci', 'ALTER TABLE blog_meta DROP INDEX meta_key, ADD INDEX meta_key (meta_key(191))'] as $sql)
        if ($db->query($sql) !== true) throw new Exception("$sql: $db->error");
    same($db->query('CREATE TABLE IF NOT EXISTS blog_meta (a int)'), true);
    same($db->warning_count, 1);
    foreach (['CHECK', 'ANALYZE', 'OPTIMIZE', 'REPAIR'] as $verb) same($db->query("$verb TABLE blog_meta")->num_rows > 0, true);
});
check('blog_writes', function () use ($db) {
    for ($i = 1; $i <= 60; $i++) {
        $title = $db->real_escape_string("It's \"entry\" $i \\ 日本 😀");
        same($db->query("INSERT INTO `blog_entries` (`author`, `made`, `content`, `title`, `slug`, `kind`, `state`) VALUES (1, '2024-01-" . sprintf('%02d', $i % 28 + 1) . " 10:00:00', '', '$title', 'entry-$i', 'post', '" . ($i % 10 ? 'publish' : 'draft') . "')"), true);
        same($db->insert_id, $i);
        $db->query("INSERT INTO blog_meta (entry_id, meta_key, meta_value) VALUES ($i, '_views', '" . $i * 3 . "'), ($i, '_lock', '" . ($i % 2) . "')");
        same($db->affected_rows, 2);
        $db->query("INSERT IGNORE INTO blog_relations (object_id, term_id) VALUES ($i, " . ($i % 3 + 1) . '), (' . $i . ', 9)');
    }
    $db->query("INSERT INTO blog_terms (name, slug) VALUES ('News', 'news'), ('Café', 'cafe'), ('Other', 'other')");
    // A zero date, and text cut at the column's width, go in without strict mode.
    same($db->query("INSERT INTO blog_entries (content, title, slug) VALUES ('', '', '" . str_repeat('s', 300) . "')"), true);
    same($db->query('SELECT made, LENGTH(slug) FROM blog_entries WHERE ID = 61')->fetch_row(), ['0000-00-00 00:00:00', '200']);
    same($db->query('DELETE FROM blog_entries WHERE ID = 61') && $db->affected_rows === 1, true);
});
check('blog_options', function () use ($db) {
    $set = "INSERT INTO `blog_options` (`option_name`, `option_value`, `autoload`) VALUES ('home', '%s', 'yes') ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = VALUES(`autoload`)";
    foreach ([['a', 1], ['b', 2]] as [$value, $affected]) { same($db->query(sprintf($set, $value)), true); same($db->affected_rows, $affected); }
    same($db->query("SELECT option_value FROM blog_options WHERE option_name = 'home' LIMIT 1")->fetch_row(), ['b']);
    same($db->query("SELECT option_name, option_value FROM blog_options WHERE autoload IN ( 'yes', 'on', 'auto-on', 'auto' )")->num_rows, 1);
    $db->query("REPLACE INTO blog_options (option_name, option_value) VALUES ('home', 'c')");
    same($db->affected_rows, 2);
    for ($i = 0; $i < 5; $i++) $db->query("INSERT INTO blog_options (option_name, option_value) VALUES ('_transient_t$i', 'x'), ('_transient_timeout_t$i', '" . ($i < 3 ? 1 : 9999999999) . "')");
    $db->query("DELETE a, b FROM blog_options a, blog_options b WHERE a.option_name LIKE '\\_transient\\_%' AND a.option_name NOT LIKE '\\_transient\\_timeout\\_%' AND b.option_name = CONCAT( '_transient_timeout_', SUBSTRING( a.option_name, 12 ) ) AND b.option_value < 1700000000");
    same($db->affected_rows, 6);
    $db->query("UPDATE `blog_options` SET `option_value` = 'c' WHERE `option_name` = 'home'");
    same($db->affected_rows, 1);
    same((int) $db->query("INSERT IGNORE INTO `blog_options` ( `option_name`, `option_value`, `autoload` ) VALUES ('core.lock', '1', 'no') /* LOCK */") && $db->affected_rows === 1, true);
});
check('blog_queries', function () use ($db) {
    $r = $db->query("SELECT SQL_CALC_FOUND_ROWS  blog_entries.ID FROM blog_entries  LEFT JOIN blog_relations ON (blog_entries.ID = blog_relations.object_id) WHERE 1=1  AND ( blog_relations.term_id IN (2,3) ) AND ((blog_entries.kind = 'post' AND (blog_entries.state = 'publish' OR blog_entries.state = 'private'))) GROUP BY blog_entries.ID ORDER BY blog_entries.made DESC LIMIT 0, 10");
    same($r->num_rows, 10);
    same($db->query('SELECT FOUND_ROWS()')->fetch_row(), ['36']);
    $r = $db->query("SELECT SQL_CALC_FOUND_ROWS e.* FROM blog_entries e INNER JOIN blog_meta m1 ON ( e.ID = m1.entry_id ) INNER JOIN blog_meta AS mt1 ON ( e.ID = mt1.entry_id ) WHERE ( ( m1.meta_key = '_views' AND CAST(m1.meta_value AS SIGNED) > '90' ) AND ( mt1.meta_key = '_lock' AND mt1.meta_value = '1' ) ) GROUP BY e.ID ORDER BY CAST(m1.meta_value AS SIGNED) DESC, e.made ASC LIMIT 5, 5");
    same(array_column($r->fetch_all(MYSQLI_ASSOC), 'ID'), ['49', '47', '45', '43', '41']);
    same($db->query('SELECT FOUND_ROWS()')->fetch_row(), ['15']);
    same($db->query("SELECT e.ID, m.meta_value+0 v FROM blog_entries e LEFT JOIN blog_meta m ON (e.ID = m.entry_id AND m.meta_key = '_views') WHERE e.title LIKE '%entry\\\" 1%' ORDER BY e.title LIKE '%entry\\\" 10%' DESC, v DESC LIMIT 1")->fetch_row(), ['10', '30']);
    same($db->query("SELECT YEAR(made) AS `year`, MONTH(made) AS `month`, count(ID) as entries FROM blog_entries WHERE kind = 'post' AND state = 'publish' GROUP BY YEAR(made), MONTH(made) ORDER BY made DESC")->fetch_all(), [['2024', '1', '54']]);
    same($db->query("SELECT state, COUNT( * ) AS n FROM blog_entries WHERE kind = 'post' GROUP BY state")->num_rows, 2);
    same($db->query("SELECT t.*, COUNT(r.object_id) n FROM blog_terms AS t INNER JOIN blog_relations AS r ON t.term_id = r.term_id WHERE t.slug IN ('news','cafe') GROUP BY t.term_id ORDER BY t.name ASC")->num_rows, 2);
    same($db->query("SELECT name FROM blog_terms WHERE name = 'cafe'")->fetch_row(), ['Café']);
    same($db->query("SELECT ID FROM blog_entries WHERE FIND_IN_SET(ID, '5,3,9') ORDER BY FIELD(ID, 5,3,9)")->fetch_all(), [['5'], ['3'], ['9']]);
    same($db->query('SELECT p.ID, (SELECT COUNT(*) FROM blog_meta m WHERE m.entry_id = p.ID) c FROM blog_entries p ORDER BY RAND() LIMIT 3')->num_rows, 3);
    same($db->query("SELECT DISTINCT meta_key FROM blog_meta WHERE meta_key NOT BETWEEN '_' AND '_z' HAVING meta_key NOT LIKE '\\_%' ORDER BY meta_key LIMIT 30")->num_rows, 0);
    same($db->query("SELECT SQL_NO_CACHE DATE_FORMAT(made, '%Y-%m') d, GROUP_CONCAT(ID ORDER BY ID SEPARATOR '|') i FROM blog_entries WHERE ID < 4 GROUP BY d")->fetch_row(), ['2024-01', '1|2|3']);
    same($db->query('SELECT nope FROM blog_entries'), false);
    same([$db->errno, $db->sqlstate], [1054, '42S22']);
});
check('wiki_schema', function () use ($db) {
    foreach (["CREATE TABLE wiki_page (page_id INT UNSIGNED AUTO_INCREMENT NOT NULL, page_namespace INT NOT NULL, page_title VARBINARY(255) NOT NULL, page_random DOUBLE PRECISION NOT NULL, page_touched BINARY(14) NOT NULL, page_latest INT UNSIGNED NOT NULL, page_len INT UNSIGNED NOT NULL,
  UNIQUE INDEX page_name_title (page_namespace, page_title), INDEX page_random (page_random), INDEX page_len (page_len), PRIMARY KEY(page_id)) ENGINE=InnoDB, DEFAULT CHARSET=binary",
        'CREATE TABLE wiki_revision (rev_id BIGINT UNSIGNED AUTO_INCREMENT NOT NULL, rev_page INT UNSIGNED NOT NULL, rev_timestamp BINARY(14) NOT NULL, rev_parent_id BIGINT UNSIGNED DEFAULT NULL, rev_sha1 VARBINARY(32) DEFAULT \'\' NOT NULL, rev_text MEDIUMBLOB NOT NULL, INDEX rev_page_timestamp (rev_page, rev_timestamp), PRIMARY KEY(rev_id)) ENGINE=InnoDB, DEFAULT CHARSET=binary',
        'CREATE TABLE wiki_links (pl_from INT UNSIGNED DEFAULT 0 NOT NULL, pl_namespace INT DEFAULT 0 NOT NULL, pl_title VARBINARY(255) DEFAULT \'\' NOT NULL, INDEX pl_namespace (pl_namespace, pl_title, pl_from), PRIMARY KEY(pl_from, pl_namespace, pl_title)) ENGINE=InnoDB, DEFAULT CHARSET=binary',
        'CREATE TABLE wiki_cache (keyname VARBINARY(255) DEFAULT \'\' NOT NULL, value MEDIUMBLOB DEFAULT NULL, exptime BINARY(14) NOT NULL, INDEX exptime (exptime), PRIMARY KEY(keyname)) ENGINE=InnoDB, DEFAULT CHARSET=binary',
        'CREATE TABLE wiki_stats (ss_row_id INT UNSIGNED NOT NULL, ss_edits BIGINT UNSIGNED DEFAULT NULL, PRIMARY KEY(ss_row_id)) ENGINE=InnoDB, DEFAULT CHARSET=binary'] as $sql)
        if ($db->query($sql) !== true) throw new Exception("$sql: $db->error");
    $db->query('INSERT INTO wiki_stats VALUES (1, 0)');
});
check('wiki_edits', function () use ($db) {
    for ($i = 1; $i <= 30; $i++) {
        $db->query('BEGIN');
        $title = $db->real_escape_string($i % 2 ? "Page_$i\xff" : "Page_{$i}é");
        same($db->query("INSERT IGNORE INTO `wiki_page` (page_namespace,page_title,page_random,page_touched,page_latest,page_len) VALUES (" . $i % 2 . ",'$title',RAND(),'20240101000000',0,0)"), true);
        $page = $db->insert_id;
        same($db->query("SELECT /* lock */ page_latest FROM `wiki_page` WHERE page_id = $page LIMIT 1 FOR UPDATE")->num_rows, 1);
        $text = $db->real_escape_string(gzdeflate(str_repeat("text $i ", 500)));
        $db->query("INSERT INTO `wiki_revision` (rev_page,rev_timestamp,rev_sha1,rev_text) VALUES ($page,'202401010000" . sprintf('%02d', $i) . "','" . sha1("$i") . "','$text')");
        $rev = $db->insert_id;
        $db->query("UPDATE `wiki_page` SET page_latest = $rev,page_len = " . $i * 10 . ",page_touched = '20240102000000' WHERE page_id = $page AND page_latest = 0");
        same($db->affected_rows, 1);
        $db->query("INSERT IGNORE INTO `wiki_links` (pl_from,pl_namespace,pl_title) VALUES ($page,0,'Page_1'),($page,0,'Page_1'),($page,1,'Other')");
        same($db->affected_rows, 2);
        $db->query('UPDATE `wiki_stats` SET ss_edits=ss_edits+1 WHERE ss_row_id = 1');
        $db->query('COMMIT');
    }
    same($db->query('SELECT ss_edits FROM wiki_stats')->fetch_row(), ['30']);
    $row = $db->query("SELECT rev_text FROM wiki_revision JOIN wiki_page ON page_id = rev_page AND page_latest = rev_id WHERE page_namespace = 1 AND page_title = 'Page_3\xff'")->fetch_row();
    same($row === null ? null : gzinflate($row[0]), str_repeat('text 3 ', 500));
});
check('wiki_queries', function () use ($db) {
    same($db->query("SELECT page_title FROM wiki_page FORCE INDEX (page_random) WHERE page_namespace IN (0,1) AND page_random >= 0 ORDER BY page_random LIMIT 1")->num_rows, 1);
    same($db->query("SELECT pl_namespace, pl_title, COUNT(*) AS value FROM wiki_links LEFT JOIN wiki_page ON pl_namespace=page_namespace AND pl_title=page_title WHERE page_namespace IS NULL GROUP BY pl_namespace, pl_title HAVING COUNT(*) > 1 ORDER BY value DESC, pl_title LIMIT 51")->num_rows, 2);
    same($db->query("SELECT /*! STRAIGHT_JOIN */ rev_id, page_title FROM wiki_revision, wiki_page WHERE rev_page = page_id AND rev_timestamp > '20240101000020' ORDER BY rev_timestamp DESC, rev_id DESC LIMIT 50")->num_rows, 10);
    same($db->query("(SELECT page_id a FROM wiki_page WHERE page_id < 3) UNION ALL (SELECT rev_id FROM wiki_revision WHERE rev_id < 3) ORDER BY a LIMIT 3")->fetch_all(), [['1'], ['1'], ['2']]);
    same($db->query("SELECT CONVERT(page_title USING utf8mb4) FROM wiki_page WHERE CONVERT(page_title USING utf8mb4) LIKE 'page\\_1%' LIMIT 1")->num_rows, 1);
    same($db->query("SELECT MASTER_POS_WAIT('', 4, 0)") !== null, true);
    same($db->query("SELECT GET_LOCK('wiki:1', 0)")->fetch_row(), ['1']);
    same($db->query("SELECT RELEASE_LOCK('wiki:1')")->fetch_row(), ['1']);
    for ($i = 0; $i < 3; $i++) $db->query("REPLACE INTO `wiki_cache` (keyname,value,exptime) VALUES ('k1','" . $db->real_escape_string(random_bytes(100)) . "','2024010100000$i'),('k2',NULL,'99990101000000')");
    $db->query("INSERT INTO wiki_cache (keyname,value,exptime) VALUES ('k1','v','20240101000000') ON DUPLICATE KEY UPDATE value='v',exptime='20240101000000'");
    $db->query("DELETE FROM `wiki_cache` WHERE exptime < '20250101000000' LIMIT 100");
    same($db->affected_rows, 1);
    $db->query("INSERT INTO wiki_links (pl_from,pl_namespace,pl_title) SELECT page_id,5,page_title FROM wiki_page WHERE page_id <= 5");
    same($db->affected_rows, 5);
    $db->query('DELETE wiki_links FROM wiki_links INNER JOIN wiki_page ON pl_from = page_id WHERE pl_namespace = 5');
    same($db->affected_rows, 5);
    $explain = $db->query('EXPLAIN SELECT * FROM wiki_page WHERE page_id = 1')->fetch_assoc();
    same($explain['key'], 'PRIMARY');
});
check('mysqli_prepared', function () use ($db) {
    $s = $db->prepare('SELECT ID, title, made, ? + 1, ? FROM blog_entries WHERE ID > ? ORDER BY ID LIMIT ?');
    [$n, $t, $id, $limit] = [41, '日', 10, 3];
    $s->bind_param('isii', $n, $t, $id, $limit);
    same($s->execute(), true);
    $rows = $s->get_result()->fetch_all();
    same([$rows[0][0], $rows[2][0], $rows[0][3], $rows[0][4]], [11, 13, 42, '日']);
    $s->execute(); $s->store_result(); same($s->num_rows, 3);
    $s->bind_result($a, $b, $c, $d, $e); $s->fetch(); same($a, 11);
    $s->close();
    $s = $db->prepare('INSERT INTO blog_meta (entry_id, meta_key, meta_value) VALUES (?, ?, ?)');
    $blob = null; $key = 'big'; $id = 1;
    $s->bind_param('isb', $id, $key, $blob);
    for ($i = 0; $i < 10; $i++) $s->send_long_data(2, str_repeat('x', 100000));
    same($s->execute(), true);
    same($db->query("SELECT LENGTH(meta_value) FROM blog_meta WHERE meta_key = 'big'")->fetch_row(), ['1000000']);
    $s = $db->prepare('SELECT ID FROM blog_entries');
    $s->attr_set(MYSQLI_STMT_ATTR_CURSOR_TYPE, MYSQLI_CURSOR_TYPE_READ_ONLY);
    $s->execute(); $s->bind_result($x); $n = 0;
    while ($s->fetch()) $n++;
    same($n, 60);
});
check('mysqli_more', function () use ($db) {
    same($db->multi_query("SELECT 1; SET @a = 2; SELECT @a; SELECT nope"), true);
    $got = [];
    do { if ($r = $db->store_result()) { $got[] = $r->fetch_row()[0]; $r->free(); } } while ($db->more_results() && $db->next_result());
    same([$got, $db->errno], [['1', '2'], 1054]);
    $r = $db->query('SELECT ID, title, made, replies FROM blog_entries LIMIT 1', MYSQLI_USE_RESULT);
    $f = $r->fetch_fields();
    same([$f[0]->name, $f[0]->orgtable, $f[0]->type, ($f[0]->flags & MYSQLI_AUTO_INCREMENT_FLAG) > 0, $f[2]->type, ($f[3]->flags & MYSQLI_NUM_FLAG) > 0], ['ID', 'blog_entries', MYSQLI_TYPE_LONGLONG, true, MYSQLI_TYPE_DATETIME, true]);
    $r->free();
    same($db->autocommit(false) && $db->begin_transaction(MYSQLI_TRANS_START_READ_ONLY, 'x') && $db->query("DELETE FROM blog_meta") === false && $db->rollback() && $db->autocommit(true), true);
    same($db->errno === 0 && $db->ping(), true);
    same($db->query("UPDATE blog_meta SET meta_value = meta_value LIMIT 3") && $db->info === 'Rows matched: 3  Changed: 0  Warnings: 0', true);
    same($db->change_user('root', '', 'suite_php'), true);
    same(str_starts_with($db->stat(), 'Uptime'), true);
});
check('pdo', function () use ($port) {
    foreach ([true, false] as $emulate) {
        $p = new PDO("mysql:host=127.0.0.1;port=$port;dbname=suite_php;charset=utf8mb4", 'root', '', [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulate, PDO::ATTR_STRINGIFY_FETCHES => false]);
        $s = $p->prepare('SELECT ID, title, 1.5 d FROM blog_entries WHERE ID IN (?, ?) AND title LIKE ? ORDER BY ID');
        $s->execute([3, 4, '%日本%']);
        same(array_column($s->fetchAll(PDO::FETCH_ASSOC), 'ID'), [3, 4]);
        $p->beginTransaction();
        same($p->exec("INSERT INTO blog_terms (name) VALUES ('pdo')"), 1);
        same((int) $p->lastInsertId() > 3, true);
        $p->rollBack();
        try { $p->exec("INSERT INTO blog_options (option_name, option_value) VALUES ('home', '')"); throw new Exception('inserted'); } catch (PDOException $e) { same([$e->getCode(), $e->errorInfo[1]], ['23000', 1062]); }
        $s = $p->prepare('SELECT :a + :b AS n'); $s->bindValue('a', 1, PDO::PARAM_INT); $s->bindValue('b', 2, PDO::PARAM_INT); $s->execute(); same((int) $s->fetchColumn(), 3);
        if ($emulate) same($p->query('SELECT 1; SELECT 2')->nextRowset(), true);
        same($p->query('SELECT ID FROM blog_entries LIMIT 1')->getColumnMeta(0)['table'], 'blog_entries');
    }
});
check('socket_and_persistent', function () use ($socket) {
    if ($socket === '') return;
    $d = new mysqli('p:localhost', 'root', '', 'suite_php', 0, $socket);
    same($d->query('SELECT 1')->fetch_row(), ['1']);
    $d->close();
    $d = new mysqli('p:localhost', 'root', '', 'suite_php', 0, $socket);
    same($d->query('SELECT @left_over')->fetch_row(), [null]);
});
check('load', function () use ($port) {
    $d = mysqli_init();
    $d->options(MYSQLI_OPT_LOCAL_INFILE, 1);
    $d->real_connect('127.0.0.1', 'root', '', 'suite_php', $port);
    $file = tempnam(sys_get_temp_dir(), 'suite');
    file_put_contents($file, "1;a\n2;b\n");
    $d->query('CREATE TABLE load_t (a INT, b VARCHAR(5))');
    same($d->query("LOAD DATA LOCAL INFILE '$file' INTO TABLE load_t FIELDS TERMINATED BY ';'"), true);
    unlink($file);
    same($d->affected_rows, 2);
});
echo "done\n";
