<?php
// WordPress's own installer and what a site asks of its database. Arguments: folder of WordPress, port.
[, $folder, $port] = $argv;
define('DB_NAME', 'suite_wordpress'); define('DB_USER', 'suite_app'); define('DB_PASSWORD', 'pw'); define('DB_HOST', "127.0.0.1:$port");
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', ''); define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', false); define('WP_DEBUG_LOG', '/dev/null');
define('SAVEQUERIES', true); define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_INSTALLING', true); define('ABSPATH', "$folder/");
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define("{$name}_KEY", "key$name"); define("{$name}_SALT", "salt$name");
}
$table_prefix = 'wp_';
$_SERVER['HTTP_HOST'] = 'localhost'; $_SERVER['REQUEST_URI'] = '/';
error_reporting(E_ERROR);
require ABSPATH . 'wp-settings.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';

function check($name, $got, $wanted) {
    global $wpdb;
    $error = $wpdb->last_error; $wpdb->last_error = '';
    echo $got == $wanted && $error === '' ? "ok $name\n" : "not ok $name: " . json_encode($got) . " for " . json_encode($wanted) . " $error\n";
}

$installed = wp_install('Site', 'admin', 'a@example.com', true, '', 'pw12345678');
check('installer', $installed['user_id'], 1);
for ($i = 0; $i < 40; $i++) {
    $id = wp_insert_post(['post_title' => "Post $i ü 😀", 'post_content' => str_repeat("word$i ", 50), 'post_status' => 'publish', 'post_author' => 1,
        'tags_input' => ['t' . ($i % 5), 'all'], 'post_category' => [1]]);
    update_post_meta($id, 'k' . ($i % 3), $i);
    wp_insert_comment(['comment_post_ID' => $id, 'comment_content' => "hello $i", 'comment_author' => 'bob']);
}
$wpdb->last_error = '';
check('posts', wp_count_posts()->publish, 41);
$found = new WP_Query(['s' => 'word7', 'posts_per_page' => 5]);
check('search', [$found->found_posts, $found->posts[0]->post_title], [1, 'Post 7 ü 😀']);
$found = new WP_Query(['tag' => 't3', 'posts_per_page' => 2, 'orderby' => 'meta_value_num', 'order' => 'DESC',
    'meta_query' => [['key' => 'k1', 'value' => 5, 'compare' => '>', 'type' => 'NUMERIC']]]);
check('tags and meta values by page', [$found->found_posts, count($found->posts), $found->posts[0]->post_title], [2, 2, 'Post 28 ü 😀']);
$found = new WP_Query(['date_query' => [['year' => (int) current_time('Y')]], 'orderby' => 'rand', 'fields' => 'ids', 'posts_per_page' => 7]);
check('by date, in random order', [$found->found_posts, count($found->posts)], [41, 7]);
check('terms', count(get_terms(['taxonomy' => 'post_tag', 'hide_empty' => true])), 6);
check('comments', get_comments(['count' => true, 'search' => 'hello 3']), 11);
check('archives', substr_count(wp_get_archives(['echo' => 0, 'type' => 'monthly', 'show_post_count' => true]), '(41)'), 1);
$table = fn($more) => "CREATE TABLE {$wpdb->prefix}extra (\n id bigint(20) unsigned NOT NULL AUTO_INCREMENT,\n name varchar(191) NOT NULL DEFAULT '',\n"
    . "$more PRIMARY KEY  (id),\n KEY name (name)\n) " . $wpdb->get_charset_collate() . ';';
check('a plugin makes a table', array_values(dbDelta($table(''))), ['Created table wp_extra']);
check('a plugin adds a column', array_values(dbDelta($table(" more int(11) NOT NULL DEFAULT 5,\n"))), ['Added column wp_extra.more']);
check('a table as it is', dbDelta($table(" more int(11) NOT NULL DEFAULT 5,\n")), []);
check('text as it is kept', [$wpdb->insert("{$wpdb->prefix}extra", ['name' => "a'b\\ü😀"]), $wpdb->get_var("SELECT name FROM {$wpdb->prefix}extra")], [1, "a'b\\ü😀"]);
set_transient('a', ['b' => 1], 60);
check('transients', get_transient('a'), ['b' => 1]);
check('old transients go', $wpdb->query("DELETE a, b FROM {$wpdb->options} a, {$wpdb->options} b WHERE a.option_name LIKE '\\_transient\\_%'
    AND a.option_name NOT LIKE '\\_transient\\_timeout\\_%' AND b.option_name = CONCAT('_transient_timeout_', SUBSTRING(a.option_name, 12)) AND b.option_value < 5"), 0);
check('tables put in order', $wpdb->get_row("OPTIMIZE TABLE {$wpdb->posts}") !== null, true);
wp_delete_post(5, true);
check('a post goes with what belongs to it', [$wpdb->get_var("SELECT COUNT(*) FROM {$wpdb->postmeta} WHERE post_id = 5"), $wpdb->get_var("SELECT COUNT(*) FROM {$wpdb->posts} WHERE post_status = 'publish' AND post_type = 'post'")], [0, 40]);
$user = wp_create_user('bob', 'secret', 'bob@example.com');
check('users', [is_int($user), count(get_users(['search' => '*bob*', 'orderby' => 'post_count'])), count_users()['total_users']], [true, 1, 2]);
echo "done\n";
