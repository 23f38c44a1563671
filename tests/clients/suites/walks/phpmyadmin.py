#!/usr/bin/env python3
"""phpmyadmin.py PMA WORK DBPORT PORT: phpMyAdmin at the server of DBPORT, page by page and form by form, as people use it.

PMA is the code (whose settings are read from the environment's PMA_CONFIG), WORK keeps the settings and what comes out, PORT is where
`php -S` serves it. Writes WORK/walk.jsonl, a line for each thing that was asked: its name, the status, and what it said without what
differs from run to run. Two servers give the same lines, but for what a server says of itself.
"""
import html, html.parser, http.cookiejar, json, os, re, subprocess, sys, time, urllib.error, urllib.parse, urllib.request

pma, work, dbport, port = sys.argv[1:5]
base = f'http://127.0.0.1:{port}/index.php'
out = open(f'{work}/walk.jsonl', 'w')
DB = 'suite_pma'

NOISE = [
    (r'<!--.*?-->', ''), (r'(?s)<(script|style)\b.*?</\1>', ''), (r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?', 'TIME'),
    (r'(?i)\b(Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)\w* \d\d, 20\d\d( at \d\d:\d\d [AP]M)?', 'TIME'), (r'\b\d\d:\d\d(:\d\d)?( [AP]M)?\b', 'TIME'),
    (r'took [\d.]+ seconds', 'took SPAN'), (r'\b[0-9a-f]{16,}\b', 'HASH'), (r'127\.0\.0\.1:\d+', 'HOST'), (r'(?i)token"?[=:]"?[^&"<\s]+', 'TOKEN'),
    (r'[\d.,]+ (B|KiB|MiB|GiB|bytes)\b', 'SIZE'), (r'\b1[67]\d{8}\b', 'TIME'),
]
def normal(text):
    for pattern, to in NOISE: text = re.sub(pattern, to, text)
    return text.replace(work, 'WORK').replace(f':{dbport}', ':DB')
def text_of(page):
    if page.startswith('{'):
        try:
            j = json.loads(page)
            page = json.dumps({k: v for k, v in j.items() if k not in ('message', 'error', 'sql_query', 'menu', 'params', 'scripts', 'promptPhpErrors', 'reloadNavigation', '_params', '_scripts')}) + '\n' + ''.join(str(j.get(k, '')) + '\n' for k in ('error', 'message', 'sql_query') if isinstance(j.get(k, ''), str))
            if isinstance(j.get('error'), (list, dict)): page += json.dumps(j['error'])
        except ValueError: pass
    page = normal(page)
    at = page.find('id="page_content"')
    page = page[at:] if at > 0 else page
    page = re.sub(r'(?i)<(br|/p|/li|/tr|/div|/h\d|/td|/th|/dt|/dd|/option)\b[^>]*>', '\n', page)
    page = normal(html.unescape(re.sub(r'<[^>]*>', '', page)))
    return '\n'.join(l for l in (re.sub(r'\s+', ' ', l).strip() for l in page.splitlines()) if l)
def mysql(sql, db='', check=True, args=()):
    p = subprocess.run(['mariadb', '--no-defaults', '--skip-ssl', '-h127.0.0.1', f'-P{dbport}', '-usuite_app', '-ppw', '-N', '-B', '--default-character-set=utf8mb4', *args, db], input=sql.encode(), capture_output=True)
    if check and p.returncode: raise SystemExit(f'{sql[:200]}: {p.stderr.decode()}')
    return p.stdout.decode('utf-8', 'replace')
FAILED = '''SELECT CONCAT(MYSQL_ERRNO, ' ', LEFT(REPLACE(MESSAGE_TEXT, '\\n', ' '), 200), ' of ', LEFT(REPLACE(SQL_TEXT, '\\n', ' '), 300)) FROM performance_schema.events_statements_history_long
    WHERE MYSQL_ERRNO > 0 AND SQL_TEXT NOT LIKE '%history_long%' ORDER BY TIMER_START; TRUNCATE performance_schema.events_statements_history_long'''
def told(name, status, text, raw=False):
    failed = mysql(FAILED).strip().splitlines()
    out.write(json.dumps({'name': name, 'status': status, 'failed': [normal(f) for f in failed], 'text': normal(text) if raw else text_of(text)}, ensure_ascii=False) + '\n'); out.flush()

class Forms(html.parser.HTMLParser):
    """The forms of a page: for each its attributes, its fields as a browser would send them, and its buttons."""
    def __init__(self, page):
        super().__init__(); self.forms = []; self.form = None; self.select = None; self.area = None
        self.feed(page)
    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag == 'form': self.form = {'attrs': a, 'fields': [], 'names': set(), 'buttons': {}}; self.forms.append(self.form)
        if self.form is None: return
        name = a.get('name')
        if name: self.form['names'].add(name)
        if tag in ('input', 'button') and name:
            kind = (a.get('type') or 'text').lower()
            if kind in ('submit', 'button', 'image', 'reset') or tag == 'button': self.form['buttons'][name] = a.get('value') or ''
            elif kind in ('checkbox', 'radio'):
                if 'checked' in a: self.form['fields'].append([name, a.get('value') or 'on'])
            elif kind != 'file': self.form['fields'].append([name, a.get('value') or ''])
        elif tag == 'select' and name: self.select = [name, [], [], 'multiple' in a]
        elif tag == 'option' and self.select is not None:
            v = a.get('value')
            self.select[1].append(v); self.optval = v
            if 'selected' in a: self.select[2].append(v)
        elif tag == 'textarea' and name: self.area = [name, '']
    def handle_data(self, data):
        if self.area is not None: self.area[1] += data
        elif self.select is not None and self.select[1] and self.select[1][-1] is None: self.select[1][-1] = data.strip()
    def handle_endtag(self, tag):
        if tag == 'select' and self.select is not None:
            name, options, chosen, many = self.select
            for v in chosen or ([] if many else options[:1]): self.form['fields'].append([name, v if v is not None else (options[0] or '')])
            self.select = None
        elif tag == 'textarea' and self.area is not None: self.form['fields'].append(self.area); self.area = None
        elif tag == 'form': self.form = None

opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
token = ''
def fetch(url, data=None, headers={}):
    last = ''
    for _ in range(3):
        try:
            with opener.open(urllib.request.Request(url, data, headers), timeout=60) as r: return r.status, r.read().decode('utf-8', 'replace')
        except urllib.error.HTTPError as e: return e.code, e.read().decode('utf-8', 'replace')
        except (urllib.error.URLError, ConnectionError, TimeoutError) as e: last = str(e); time.sleep(.5)
    return 0, last
def url_of(route, p): return base + '?' + urllib.parse.urlencode([('route', route)] + [(k, x) for k, v in p.items() for x in (v if isinstance(v, list) else [v])])
def get(route, note='', **p):
    status, page = fetch(url_of(route, p))
    told(f'GET {route} {note or " ".join(str(v) for v in p.values())}', status, page)
    return page
def post(route, note='', fields=(), ajax=True, files=None, quiet=False, **p):
    pairs = [('token', token), ('server', '1')] + ([('ajax_request', 'true')] if ajax else []) + [(k, x) for k, v in p.items() for x in (v if isinstance(v, list) else [v])] + [tuple(f) for f in fields]
    if files:
        b = 'x' * 30
        body = b''.join(f'--{b}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode() for k, v in pairs)
        for k, (file, data) in files.items(): body += f'--{b}\r\nContent-Disposition: form-data; name="{k}"; filename="{file}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode() + data + b'\r\n'
        status, page = fetch(url_of(route, {}), body + f'--{b}--\r\n'.encode(), {'Content-Type': f'multipart/form-data; boundary={b}'})
    else: status, page = fetch(url_of(route, {}), urllib.parse.urlencode(pairs).encode())
    if not quiet: told(f'POST {route} {note}', status, page)
    return page
def pages_html(page):
    if page.startswith('{'):
        try:
            j = json.loads(page); return str(j.get('message', '')) + str(j.get('error', ''))
        except ValueError: pass
    return page
def submit(page, field, note, change={}, drop=(), add=(), button=None, ajax=True, files=None):
    """Submits the form of the page that has the field, changed."""
    page = pages_html(page)
    form = next((f for f in Forms(page).forms if field in f['names'] or f['attrs'].get('id') == field), None)
    if form is None: told(f'FORM {field} {note}', 'no such form', page); return page
    route = urllib.parse.parse_qs(urllib.parse.urlparse(form['attrs'].get('action') or '').query).get('route', ['/'])[0]
    fields = [[k, change.get(k, v)] for k, v in form['fields'] if k not in drop and k not in ('token', 'ajax_request', 'server')]
    have = {k for k, _ in fields}
    fields += [[k, v] for k, v in change.items() if k not in have] + [list(a) for a in add]
    if button: fields.append([button, form['buttons'].get(button) or 'Go'])
    return post(route, note, fields, ajax, files)
def sql(query, note='', db=DB, table='', **p): return post('/import', f'SQL {note or query[:110]}', db=db, table=table, sql_query=query, sql_delimiter=';', is_js_confirmed='0', pos='0', message_to_show='done', **p)

SCHEMA = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'phpmyadmin.sql')).read()
TABLES = ['articles', 'child', 'kinds', 'parent', 'by_hash', 'by_key', 'by_list', 'by_range', 'by_sub', 'plain']

def prepare():
    mysql('DROP DATABASE IF EXISTS suite_pma; DROP DATABASE IF EXISTS suite_pma2; DROP DATABASE IF EXISTS suite_new; DROP DATABASE IF EXISTS phpmyadmin; DROP USER IF EXISTS pma1@localhost, pma2@localhost, pma3@localhost; DROP USER IF EXISTS pma1, pma2')
    mysql(open(f'{pma}/sql/create_tables.sql').read())
    mysql("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_statements%'")
    mysql(SCHEMA)
    mysql('CREATE DATABASE suite_pma2')
    tables = dict(bookmarktable='bookmark', relation='relation', table_info='table_info', table_coords='table_coords', pdf_pages='pdf_pages', column_info='column_info', history='history', table_uiprefs='table_uiprefs', tracking='tracking', userconfig='userconfig',
        recent='recent', favorite='favorite', users='users', usergroups='usergroups', navigationhiding='navigationhiding', savedsearches='savedsearches', central_columns='central_columns', designer_settings='designer_settings', export_templates='export_templates')
    with open(f'{work}/config.inc.php', 'w') as f:
        f.write("<?php\n$cfg['blowfish_secret'] = '12345678901234567890123456789012';\n$cfg['Servers'][1] = ['auth_type' => 'config', 'host' => '127.0.0.1', 'port' => '" + dbport + "', 'user' => 'suite_app', 'password' => 'pw', 'compress' => false,\n"
            "'controluser' => 'suite_app', 'controlpass' => 'pw', 'pmadb' => 'phpmyadmin', 'AllowNoPassword' => true, 'tracking_add_drop_table' => true, 'tracking_version_auto_create' => false, " + ', '.join(f"'{k}' => 'pma__{v}'" for k, v in tables.items()) + "];\n"
            f"$cfg['TempDir'] = '{work}/tmp'; $cfg['UploadDir'] = ''; $cfg['SaveDir'] = ''; $cfg['SendErrorReports'] = 'never'; $cfg['VersionCheck'] = false; $cfg['DefaultLang'] = 'en'; $cfg['ExecTimeLimit'] = 10; $cfg['ShowPhpInfo'] = true; $cfg['RetainQueryBox'] = true;\n"
            "$cfg['ShowDbStructureComment'] = $cfg['ShowDbStructureCreation'] = $cfg['ShowDbStructureLastUpdate'] = $cfg['ShowDbStructureLastCheck'] = $cfg['ShowDbStructureCharset'] = $cfg['ShowStats'] = true; $cfg['ShowCreateDb'] = true; $cfg['DBG']['sql'] = false; $cfg['MaxNavigationItems'] = 500; $cfg['NavigationTreeEnableExpansion'] = true; $cfg['ShowDatabasesNavigationAsTree'] = true; $cfg['environment'] = 'production';\n")
    os.makedirs(f'{work}/tmp', exist_ok=True)

def server_pages():
    for route in ('/', '/server/databases', '/server/status', '/server/status/processes', '/server/status/queries', '/server/status/variables', '/server/status/monitor', '/server/status/advisor', '/server/privileges', '/server/export', '/server/import', '/server/variables', '/server/collations', '/server/engines', '/server/plugins', '/server/binlog',
            '/server/replication', '/server/sql', '/server/user-groups', '/check-relations', '/themes', '/preferences/manage', '/preferences/features', '/preferences/sql', '/preferences/navigation', '/preferences/main-panel', '/preferences/import', '/preferences/export', '/preferences/two-factor', '/license', '/changelog', '/user-password', '/git-revision', '/version-check', '/logout'):
        if route != '/logout': get(route)
    for e in 'InnoDB', 'MyISAM', 'MEMORY', 'CSV', 'ARCHIVE', 'BLACKHOLE', 'MRG_MYISAM', 'PERFORMANCE_SCHEMA': get(f'/server/engines/{e}')
    for p in 'Bufferpool', 'Status': get(f'/server/engines/InnoDB/{p}')
    get('/server/databases', statistics='1', sort_by='SCHEMA_LENGTH', sort_order='desc'); get('/server/databases', sort_by='DEFAULT_COLLATION_NAME', sort_order='asc', pos='0')
    get('/server/status/variables', filterText='innodb'); get('/server/status/variables', filterCategory='com', filterAlert='1'); get('/server/variables', filter='sql_mode')
    for v in 'sql_mode', 'max_connections', 'character_set_server', 'autocommit': get(f'/server/variables/get/{v}', ajax_request='true')
    for n, v in ('max_connections', '200'), ('sql_mode', 'STRICT_ALL_TABLES,NO_ZERO_DATE'), ('sql_mode', 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'), ('long_query_time', '3.5'), ('nothing', '1'): post(f'/server/variables/set/{n}', v, varValue=v)
    post('/server/status/processes/refresh', column_name='', order_by_field='Time', sort_order='ASC', showExecuting='1'); post('/server/status/processes', 'sorted', full='1', order_by_field='Host', sort_order='DESC'); post('/server/status/processes/kill/99999999')
    post('/server/status/monitor/chart', requiredData=json.dumps([[[{'type': 'statusvar', 'name': n}]] for n in ('Questions', 'Threads_connected', 'Innodb_buffer_pool_reads')] + [[[{'type': 'proc', 'name': ''}]]]))
    for r in 'slow-log', 'general-log': post(f'/server/status/monitor/{r}', time_start='0', time_end='2000000000', removeVariables='1', limitTypes='1')
    post('/server/status/monitor/log-vars', 'slow_query_log', varName='long_query_time', varValue='5'); post('/server/status/monitor/query', database=DB, query='SELECT * FROM articles WHERE id < 3')
    post('/server/databases/create', 'suite_new', new_db='suite_new', db_collation='utf8mb4_unicode_ci'); post('/server/databases/create', 'again', new_db='suite_new', db_collation=''); post('/server/databases/destroy', 'suite_new', **{'selected_dbs[]': ['suite_new'], 'drop_selected_dbs': '1'})
    post('/server/databases/destroy', 'none', drop_selected_dbs='1', **{'selected_dbs[]': ['nothing_here']}); post('/collation-connection', collation_connection='utf8mb4_unicode_ci'); post('/themes/set', ajax=False, set_theme='original')
    post('/databases'); post('/tables', db=DB); post('/columns', db=DB, table='articles'); post('/recent-table', recent_table='1'); post('/config/get', key='Console/Height'); post('/config/set', key='Console/Height', value='92'); post('/sql/get-default-fk-check-value')
    get('/sql/get-default-fk-check-value', ajax_request='1')
    for n in {}, dict(aPath='cm9vdA==', vPath='cm9vdA==', pos='0', pos2_name='', pos2_value='0'), dict(searchClause='suite'): post('/navigation', 'tree ' + ' '.join(n), **n)
    import base64
    b = lambda *p: '.'.join(base64.b64encode(x.encode()).decode() for x in p)
    for sub in 'tables', 'views', 'procedures', 'functions', 'events': post('/navigation', f'tree of {sub}', aPath=b('root', 'suite', DB), vPath=b('root', 'suite', DB), pos='0', pos2_name=sub, pos2_value='0')
    for sub in 'columns', 'indexes', 'triggers': post('/navigation', f'tree of a table {sub}', aPath=b('root', DB, 'tables', 'articles'), vPath=b('root', DB, 'tables', 'articles'), pos='0', pos2_name='tables', pos2_value='0', pos3_name=sub, pos3_value='0')
    post('/navigation', 'hide', hideNavItem='1', itemType='table', itemName='plain', dbName=DB); post('/navigation', 'hidden', showUnhideDialog='1', dbName=DB); post('/navigation', 'unhide', unhideNavItem='1', itemType='table', itemName='plain', dbName=DB); post('/navigation', 'refresh', reload='1')

def accounts():
    page = get('/server/privileges', adduser='1')
    rights = [('Select_priv', 'Y'), ('Insert_priv', 'Y'), ('Create_priv', 'Y'), ('Event_priv', 'Y'), ('Trigger_priv', 'Y'), ('Create_tmp_table_priv', 'Y')]
    for user, more in ('pma1', {}), ('pma2', {'createdb-1': 'on', 'max_questions': '100', 'max_user_connections': '5', 'ssl_type': 'ANY'}):
        submit(page, 'username', f'add {user}', {'pred_username': 'userdefined', 'username': user, 'pred_hostname': 'localhost', 'hostname': 'localhost', 'pred_password': 'userdefined', 'pma_pw': 'Secret word 1', 'pma_pw2': 'Secret word 1', **more}, add=rights, button='adduser_submit')
    for plugin in 'mysql_native_password', 'caching_sha2_password', 'sha256_password': submit(page, 'username', f'add with {plugin}', {'pred_username': 'userdefined', 'username': 'pma3', 'pred_hostname': 'localhost', 'hostname': 'localhost', 'pma_pw': 'x', 'pma_pw2': 'x', 'authentication_plugin': plugin}, button='adduser_submit')
    submit(page, 'username', 'again', {'username': 'pma1', 'hostname': 'localhost', 'pma_pw': 'x', 'pma_pw2': 'x'}, button='adduser_submit')
    get('/server/privileges', 'all', showall='1'); get('/server/privileges', initial='P'); get('/server/privileges', 'of a database', db=DB, checkprivsdb=DB, viewing_mode='db'); get('/server/privileges', 'of a table', db=DB, table='articles', checkprivsdb=DB, checkprivstable='articles', viewing_mode='table')
    user = dict(username='pma1', hostname='localhost')
    page = get('/server/privileges', 'edit pma1', **user)
    submit(page, 'Select_priv', 'update global', {**user, 'Process_priv': 'Y'}, drop=('Insert_priv',), button='update_privs')
    p = get('/server/privileges', 'edit pma1 of the database', dbname=DB, **user); submit(p, 'Select_priv', 'update of the database', {**user, 'dbname': DB, 'Delete_priv': 'Y', 'Alter_routine_priv': 'Y', 'Grant_priv': 'Y'}, button='update_privs')
    p = get('/server/privileges', 'edit pma1 of the table', dbname=DB, tablename='articles', **user); submit(p, 'Select_priv[]', 'update of the table', {**user, 'dbname': DB, 'tablename': 'articles'}, add=[('Select_priv[]', 'id'), ('Select_priv[]', 'title'), ('Insert_priv[]', 'body'), ('Delete_priv', 'Y')], button='update_privs')
    p = get('/server/privileges', 'edit pma1 of the routine', dbname=DB, routinename='add_article', **user); submit(p, 'Execute_priv', 'update of the routine', {**user, 'dbname': DB, 'routinename': 'add_article', 'Execute_priv': 'Y'}, button='update_privs')
    get('/server/privileges', 'edit pma1 again', **user); post('/server/privileges', 'revoke', revokeall='1', dbname=DB, **user); post('/server/privileges', 'export', submit_mult='export', **{'selected_usr[]': ['pma1&amp;#27;localhost', 'pma2&amp;#27;localhost']})
    get('/server/privileges', 'export of pma2', export='1', username='pma2', hostname='localhost', ajax_request='true'); post('/server/privileges', 'password', change_pw='1', nopass='0', pma_pw='New word 2', pma_pw2='New word 2', authentication_plugin='mysql_native_password', **user)
    post('/server/privileges/account-lock', **user); post('/server/privileges/account-unlock', **user)
    submit(page, 'copyUserForm', 'copy', {'username': 'pma4', 'hostname': 'localhost', 'mode': '4', 'pma_pw': 'x', 'pma_pw2': 'x', 'pred_password': 'keep'}, button='change_copy')
    post('/server/privileges', 'rename', change_copy='1', mode='1', old_username='pma4', old_hostname='localhost', username='pma5', hostname='localhost', pred_password='keep', pred_username='userdefined', pred_hostname='userdefined'); post('/server/privileges', 'reload', flush_privileges='1')
    post('/server/privileges', 'delete', mode='2', drop_users_db='1', **{'delete': '1', 'selected_usr[]': ['pma2&amp;#27;localhost', 'pma5&amp;#27;localhost', 'pma3&amp;#27;localhost']})
    mysql('DROP USER IF EXISTS pma1@localhost, pma2@localhost, pma3@localhost, pma4@localhost, pma5@localhost')
    post('/server/user-groups', 'add', userGroup='group1', addUserGroupSubmit='1', **{'server_databases': 'Y', 'db_structure': 'Y'}); get('/server/user-groups'); get('/server/user-groups', addUserGroup='1'); get('/server/user-groups/edit-form', username='pma1'); post('/server/user-groups', 'edit', userGroup='group1', editUserGroup='1'); post('/server/user-groups', 'view', userGroup='group1', viewUsers='1'); post('/server/user-groups', 'delete', userGroup='group1', deleteUserGroup='1')

def database_pages():
    for route in 'structure', 'sql', 'search', 'qbe', 'export', 'import', 'operations', 'routines', 'events', 'triggers', 'tracking', 'designer', 'central-columns', 'data-dictionary', 'multi-table-query': get(f'/database/{route}', db=DB)
    for db in 'information_schema', 'performance_schema', 'mysql', 'sys', 'phpmyadmin':
        for route in 'structure', 'operations', 'routines', 'data-dictionary', 'export': 
            if (db, route) != ('performance_schema', 'data-dictionary') and (db, route) != ('information_schema', 'data-dictionary') and (db, route) != ('mysql', 'data-dictionary') and (db, route) != ('sys', 'data-dictionary'): get(f'/database/{route}', db=db)
    for s in 'Name', 'Records', 'Data_length', 'Engine', 'Collation', 'Create_time': get('/database/structure', 'by ' + s, db=DB, sort=s, sort_order='DESC')
    get('/database/structure', 'filtered', db=DB, tbl_group='by_'); post('/database/structure/real-row-count', db=DB, real_row_count_all='1'); post('/database/structure/real-row-count', 'of one', db=DB, table='articles')
    mult = lambda r, note, tables, **p: post(f'/database/structure/{r}', note, db=DB, **{'selected_tbl[]': tables, 'selected[]': tables}, **p)
    for r in 'show-create', 'copy-form', 'drop-form', 'empty-form', 'change-prefix-form', 'add-prefix': mult(r, 'of three', ['articles', 'by_range', 'an_article'])
    for r in 'analyze', 'check', 'checksum', 'optimize', 'repair': post(f'/table/maintenance/{r}', db=DB, table='', **{'selected_tbl[]': TABLES})
    sql('CREATE TABLE gone1 LIKE by_hash; CREATE TABLE gone2 LIKE articles; INSERT INTO gone2 SELECT * FROM articles')
    mult('add-prefix-table', 'x_', ['gone1', 'gone2'], add_prefix='x_'); mult('replace-prefix', 'x_ y_', ['x_gone1', 'x_gone2'], from_prefix='x_', to_prefix='y_'); mult('copy-table-with-prefix', 'y_ z_', ['y_gone1', 'y_gone2'], from_prefix='y_', to_prefix='z_')
    mult('copy-table', 'to another', ['articles', 'by_range', 'kinds'], target_db='suite_pma2', what='data', drop_if_exists='1', add_constraints='1', adjust_privileges='1'); mult('empty-table', 'y_gone2', ['y_gone2'], mult_btn='Yes', fk_checks='1'); mult('drop-table', 'four', ['y_gone1', 'y_gone2', 'z_gone1', 'z_gone2'], mult_btn='Yes', fk_checks='0', query_type='drop_tbl')
    post('/database/structure/favorite-table', db=DB, favorite_table='articles', add_favorite='1', favoriteTables='[]', sync_favorite_tables='1'); get('/table/recent-favorite', db=DB, table='articles')
    for kind, what in (1, 'river'), (2, 'river mountain'), (3, 'river mountain'), (4, 'river'), (5, '^ri'): post('/database/search', f'{kind} {what}', db=DB, criteriaSearchString=what, criteriaSearchType=str(kind), submit_search='1', criteriaColumnName='', **{'criteriaTables[]': TABLES})
    post('/database/operations', 'comment', db=DB, comment='a comment'); post('/database/operations/collation', db=DB, db_collation='utf8mb4_unicode_ci', change_all_tables_collations='on'); post('/database/operations/collation', 'columns', db='suite_pma2', db_collation='utf8mb4_general_ci', change_all_tables_collations='on', change_all_tables_columns_collations='on')
    post('/database/operations', 'copy', db=DB, newname='suite_new', db_copy='true', what='data', create_database_before_copying='1', drop_if_exists='1', sql_auto_increment='1', add_constraints='1', adjust_privileges='1', db_collation=''); post('/database/operations', 'structure only', db=DB, newname='suite_new', db_copy='true', what='structure', drop_if_exists='1', add_constraints='1', db_collation='')
    post('/database/operations', 'rename', db='suite_new', newname='suite_new2', db_rename='true', adjust_privileges='1', db_collation=''); told('tables of the copy', 0, mysql("SELECT TABLE_NAME, TABLE_TYPE, CREATE_OPTIONS FROM information_schema.tables WHERE TABLE_SCHEMA = 'suite_new2' ORDER BY 1"), True); mysql('DROP DATABASE IF EXISTS suite_new2; DROP DATABASE IF EXISTS suite_new')

def programs():
    body = {'item_name': 'made', 'item_type': 'PROCEDURE', 'item_definer': '', 'item_definition': 'BEGIN SELECT COUNT(*) FROM articles; SELECT a + 1; END', 'item_comment': 'c', 'item_securitytype': 'DEFINER', 'item_sqldataaccess': 'READS SQL DATA', 'item_isdeterministic': '1'}
    args = [('item_param_dir[0]', 'IN'), ('item_param_name[0]', 'a'), ('item_param_type[0]', 'INT'), ('item_param_length[0]', ''), ('item_param_opts_text[0]', ''), ('item_param_opts_num[0]', 'UNSIGNED')]
    post('/database/routines', 'add form', db=DB, add_item='1'); post('/database/routines', 'add', args, db=DB, editor_process_add='1', **body)
    get('/database/routines', 'edit form', db=DB, item_name='made', item_type='PROCEDURE', edit_item='1', ajax_request='true'); post('/database/routines', 'edit', args, db=DB, editor_process_edit='1', item_original_name='made', item_original_type='PROCEDURE', **{**body, 'item_definition': 'SELECT a + 2'})
    get('/database/routines', 'execute form', db=DB, item_name='made', item_type='PROCEDURE', execute_dialog='1', ajax_request='true'); post('/database/routines', 'execute', [('params[a]', '5'), ('funcs[a]', '')], db=DB, execute_routine='1', item_name='made', item_type='PROCEDURE'); get('/database/routines', 'export', db=DB, item_name='made', item_type='PROCEDURE', export_item='1', ajax_request='true')
    post('/database/routines', 'function', args[1:], db=DB, editor_process_add='1', item_returntype='INT', item_returnlength='', item_returnopts_text='', item_returnopts_num='', **{**body, 'item_name': 'madef', 'item_type': 'FUNCTION', 'item_definition': 'RETURN a + 1'}); post('/database/routines', 'execute the function', [('params[a]', '5'), ('funcs[a]', '')], db=DB, execute_routine='1', item_name='madef', item_type='FUNCTION')
    post('/database/routines', 'wrong', args, db=DB, editor_process_add='1', **{**body, 'item_name': 'wrong', 'item_definition': 'SELEKT'})
    trigger = {'item_name': 'made_t', 'item_table': 'plain', 'item_timing': 'BEFORE', 'item_event': 'UPDATE', 'item_definition': 'SET NEW.b = CONCAT(NEW.b, "!")', 'item_definer': ''}
    post('/database/triggers', 'add form', db=DB, add_item='1'); post('/database/triggers', 'add', db=DB, table='', editor_process_add='1', **trigger); get('/database/triggers', 'edit form', db=DB, item_name='made_t', edit_item='1', ajax_request='true'); post('/database/triggers', 'edit', db=DB, editor_process_edit='1', item_original_name='made_t', **{**trigger, 'item_event': 'INSERT'}); get('/database/triggers', 'export', db=DB, item_name='made_t', export_item='1', ajax_request='true'); get('/table/triggers', db=DB, table='plain')
    event = {'item_name': 'made_e', 'item_status': 'DISABLED', 'item_type': 'RECURRING', 'item_interval_value': '5', 'item_interval_field': 'DAY', 'item_starts': '2035-01-01 00:00:00', 'item_ends': '2036-01-01 00:00:00', 'item_definition': 'DO 1', 'item_preserve': '1', 'item_definer': '', 'item_comment': 'c', 'item_execute_at': ''}
    post('/database/events', 'add form', db=DB, add_item='1'); post('/database/events', 'add', db=DB, editor_process_add='1', **event); get('/database/events', 'edit form', db=DB, item_name='made_e', edit_item='1', ajax_request='true'); post('/database/events', 'edit', db=DB, editor_process_edit='1', item_original_name='made_e', **{**event, 'item_type': 'ONE TIME', 'item_execute_at': '2035-05-05 00:00:00'}); get('/database/events', 'export', db=DB, item_name='made_e', export_item='1', ajax_request='true'); post('/database/events', 'scheduler', db=DB, toggle_scheduler='ON', item_name='x'); get('/database/events', db=DB)
    sql('DROP PROCEDURE made; DROP FUNCTION madef; DROP TRIGGER made_t; DROP EVENT made_e', 'drop programs')

def table_pages():
    for t in TABLES + ['an_article', 'all_kinds']:
        at = dict(db=DB, table=t)
        for route in '/table/structure', '/table/sql', '/table/search', '/table/zoom-search', '/table/find-replace', '/table/change', '/table/export', '/table/import', '/table/operations', '/table/tracking', '/table/triggers', '/table/relation', '/sql', '/table/indexes', '/table/gis-visualization', '/table/get-field', '/view/operations', '/browse-foreigners':
            get(route, **at)
        get('/sql', 'sorted', db=DB, table=t, sql_query=f'SELECT * FROM `{t}` ORDER BY 1 DESC', session_max_rows='3', pos='2', is_browse_distinct='0')
        get('/table/structure/browse', **at); post('/table/chart', ajax=False, sql_query=f'SELECT * FROM `{t}` LIMIT 3', **at)
    for db, t in ('information_schema', 'PARTITIONS'), ('information_schema', 'TABLES'), ('mysql', 'user'), ('performance_schema', 'threads'): get('/sql', db=db, table=t); get('/table/structure', db=db, table=t)
    post('/table/search', 'articles', db=DB, table='articles', ajax=False, **{'columnsToDisplay[]': ['id', 'title'], 'criteriaColumnNames[0]': 'title', 'criteriaColumnOperators[0]': 'LIKE %...%', 'criteriaValues[0]': 'river', 'criteriaColumnTypes[0]': 'varchar(200)', 'criteriaColumnCollations[0]': 'utf8mb4_general_ci', 'session_max_rows': '25', 'orderByColumn': 'id', 'order': 'DESC', 'customWhereClause': '', 'distinct': 'on', 'max_number_of_fields': '3'})
    post('/table/search', 'where', db=DB, table='by_range', ajax=False, **{'columnsToDisplay[]': ['id', 'at'], 'customWhereClause': "at >= '2021-01-01'", 'session_max_rows': '25', 'orderByColumn': 'id', 'order': 'ASC'}); post('/table/search', 'range', db=DB, table='by_range', range_search='1', column='id'); post('/table/zoom-search', 'data', db=DB, table='by_range', ajax=False, zoom_submit='1', maxPlotLimit='100', dataLabel='id', **{'criteriaColumnNames[0]': 'id', 'criteriaColumnNames[1]': 'v', 'criteriaColumnOperators[0]': '>', 'criteriaValues[0]': '3', 'criteriaColumnTypes[0]': 'int', 'criteriaColumnTypes[1]': 'int', 'criteriaColumnOperators[1]': '=', 'criteriaValues[1]': ''}); post('/table/zoom-search', 'row', db=DB, table='by_range', get_data_row='1', where_clause='`id` = 1')
    post('/table/find-replace', 'find', db=DB, table='plain', find='b', replaceWith='c', useRegex='', columnIndex='1', submit='Go', ajax=True); post('/table/find-replace', 'replace', db=DB, table='plain', find='b', replaceWith='c', useRegex='0', columnIndex='1', replace='1'); post('/table/find-replace', 'regex', db=DB, table='plain', find='[a-c]', replaceWith='b', useRegex='on', columnIndex='1', find_and='1')
    page = get('/table/change', 'a row', db=DB, table='kinds', where_clause='`kinds`.`id` = 1'); submit(page, 'insertForm', 'save a row', {'submit_type': 'save', 'after_insert': 'back'}); submit(get('/table/change', 'new', db=DB, table='by_range'), 'insertForm', 'insert', {'submit_type': 'insert', 'after_insert': 'new_insert'})
    submit(get('/table/change', 'new article', db=DB, table='articles'), 'insertForm', 'insert', {'submit_type': 'showinsert', 'after_insert': 'same_insert'})
    post('/table/replace', 'a cell', db=DB, table='by_range', ajax=True, sql_query='SELECT * FROM by_range', **{'fields_name[multi_edit][0][0]': 'v', 'fields[multi_edit][0][0]': '77', 'fields_prev[multi_edit][0][0]': '1', 'clause_is_unique': '1', 'where_clause[0]': '`by_range`.`id` = 2', 'rel_fields_list': '', 'do_transformations': 'false', 'grid_edit': 'true', 'submit_type': 'save', 'fields_type[multi_edit][0][0]': 'int'})
    post('/table/change/rows', 'two', db=DB, table='by_range', ajax=False, **{'rows_to_delete[0]': '`by_range`.`id` = 3', 'rows_to_delete[1]': '`by_range`.`id` = 4', 'goto': 'index.php?route=/sql', 'sql_query': 'SELECT * FROM by_range'}); post('/table/delete/confirm', db=DB, table='by_range', **{'rows_to_delete[0]': '`by_range`.`id` = 3'}); post('/table/delete/rows', db=DB, table='by_range', ajax=False, original_sql_query='SELECT * FROM by_range', mult_btn='Yes', fk_checks='1', **{'selected[]': ['DELETE FROM `by_range` WHERE `by_range`.`id` = 3', 'DELETE FROM `by_range` WHERE `by_range`.`id` = 4']}); post('/table/export/rows', db=DB, table='by_range', ajax=False, **{'rows_to_delete[0]': '`by_range`.`id` = 5', 'sql_query': 'SELECT * FROM by_range'})
    get('/table/get-field', 'a blob', db=DB, table='kinds', transform_key='bl', where_clause='`kinds`.`id` = 1', where_clause_sign='x'); post('/sql/get-enum-values', db=DB, table='kinds', column='e', curr_value='a', where_clause='`id` = 1'); post('/sql/get-set-values', db=DB, table='kinds', column='se', curr_value='x', where_clause='`id` = 1'); post('/sql/get-relational-values', db=DB, table='child', column='parent', curr_value='1', relation_key_or_display_column='0', where_clause='`id` = 1'); post('/sql/set-column-preferences', db=DB, table='plain', col_order='0,1', col_visib='1,1', table_create_time='')
    get('/browse-foreigners', 'child', db=DB, table='child', field='parent', foreign_filter='', data='1')

def shape():
    col = lambda i, name, type, **k: [(f'field_{a}[{i}]', k.get(a, d)) for a, d in (('name', name), ('type', type), ('length', ''), ('default_type', 'NONE'), ('default_value', ''), ('collation', ''), ('attribute', ''), ('key', 'none_' + str(i)), ('comments', ''), ('virtuality', ''), ('expression', ''), ('mimetype', ''), ('transformation', ''), ('transformation_options', ''), ('input_transformation', ''), ('input_transformation_options', ''))]
    get('/table/create', db=DB); 
    post('/table/create', 'new1', col(0, 'id', 'INT', key='primary_0') + [('field_extra[0]', 'AUTO_INCREMENT')] + col(1, 'b', 'TEXT', key='fulltext_1', collation='utf8mb4_unicode_ci', comments='words'), db=DB, table='new1', do_save_data='1', orig_num_fields='2', num_fields='2', tbl_storage_engine='InnoDB', tbl_collation='utf8mb4_general_ci', comment='c', connection='', partition_by='', partition_expr='', partition_count='', subpartition_by='', subpartition_expr='', subpartition_count='', primary_indexes='[{"columns":[{"col_index":"0","size":""}],"Index_choice":"PRIMARY"}]', indexes='[]', unique_indexes='[]', fulltext_indexes='[{"columns":[{"col_index":"1","size":""}],"Index_choice":"FULLTEXT","Key_name":"words"}]', spatial_indexes='[]')
    parts = lambda rows: [(f'partitions[{i}][{k}]', v) for i, r in enumerate(rows) for k, v in {'name': '', 'value_type': '', 'value': '', 'engine': '', 'comment': '', 'data_directory': '', 'index_directory': '', 'max_rows': '', 'min_rows': '', 'tablespace': '', 'node_group': '', **r}.items()]
    R = parts([{'name': 'p0', 'value_type': 'LESS THAN', 'value': '10'}, {'name': 'p1', 'value_type': 'LESS THAN', 'value': '20', 'engine': 'InnoDB', 'comment': 'second', 'max_rows': '100', 'min_rows': '1'}, {'name': 'p2', 'value_type': 'LESS THAN MAXVALUE', 'value': ''}])
    L = parts([{'name': 'p0', 'value_type': 'IN', 'value': '1,2,3'}, {'name': 'p1', 'value_type': 'IN', 'value': '4,5,NULL'}])
    both = dict(do_save_data='1', orig_num_fields='2', num_fields='2', tbl_storage_engine='InnoDB', tbl_collation='', comment='', connection='', indexes='[]', unique_indexes='[]', fulltext_indexes='[]', spatial_indexes='[]', primary_indexes='[{"columns":[{"col_index":"0","size":""}],"Index_choice":"PRIMARY"}]')
    forms = [('HASH', 'id', '4', {}, []), ('KEY', 'id', '3', {}, []), ('KEY', '', '3', {}, []), ('LINEAR HASH', 'id', '5', {}, []), ('LINEAR KEY', 'id', '5', {}, []), ('RANGE', 'id', '3', {}, R), ('LIST', 'id', '2', {}, L), ('RANGE COLUMNS', 'id', '3', {}, R), ('LIST COLUMNS', 'id', '2', {}, L), ('RANGE', 'id', '3', {'subpartition_by': 'HASH', 'subpartition_expr': 'id', 'subpartition_count': '2'}, R), ('LIST', 'id', '2', {'subpartition_by': 'KEY', 'subpartition_expr': 'id', 'subpartition_count': '3'}, L), ('RANGE', 'b', '2', {}, R), ('HASH', 'nothing', '2', {}, [])]
    for n, (by, expr, count, sub, rows) in enumerate(forms):
        p = dict(partition_by=by, partition_expr=expr, partition_count=count, **{'subpartition_by': '', 'subpartition_expr': '', 'subpartition_count': '', **sub})
        for preview in ({'preview_sql': '1'}, {}): post('/table/create', f'{by} {expr} {sub} {preview}', col(0, 'id', 'INT', key='primary_0') + col(1, 'b', 'VARCHAR', length='20') + rows, db=DB, table=f'part{n}', **both, **p, **preview)
        get('/table/structure', db=DB, table=f'part{n}')
        get('/table/structure/partitioning', 'form', db=DB, table=f'part{n}'); post('/table/structure/partitioning', f'form of {by}', ajax=False, db=DB, table=f'part{n}')
        sql(f"INSERT INTO part{n} VALUES (1, 'a'), (2, 'b'), (5, 'c')")
        # Its own parser of SQL does not come back from ALTER TABLE ... PARTITION BY of other kinds.
        if by == 'HASH': post('/table/structure/partitioning', f'{by} {expr} {sub} onto part0', rows, ajax=False, db=DB, table='part0', save_partitioning='1', **p)
    mysql('DROP TABLE IF EXISTS ' + ','.join(f'{DB}.part{n}' for n in range(len(forms))))
    for t, names in ('by_range', ['p2020']), ('by_list', ['p0', 'p1']), ('by_hash', ['p0']), ('by_sub', ['p0']):
        for r in 'analyze', 'check', 'optimize', 'rebuild', 'repair': post(f'/table/partition/{r}', f'{t} {names}', db=DB, table=t, partition_name=names[0])
        for op in 'ANALYZE', 'CHECK', 'OPTIMIZE', 'REBUILD', 'REPAIR', 'TRUNCATE', 'COALESCE', 'DROP': post('/table/operations', f'{op} {t} {names}', db=DB, table=t, submit_partition='1', partition_operation=op, **{'partition_name[]': names})
        get('/table/operations', db=DB, table=t); get('/table/structure', db=DB, table=t)
    for r in 'truncate', 'drop': post(f'/table/partition/{r}', db=DB, table='by_range', partition_name='p2021')
    post('/table/structure/partitioning', 'removed', ajax=False, db=DB, table='by_key', partition_by='', save_partitioning='1'); get('/sql', 'remove partitioning', db=DB, table='by_hash', sql_query='ALTER TABLE `by_hash` REMOVE PARTITIONING;')
    page = get('/table/add-field', db=DB, table='new1', num_fields='2', field_where='last', after_field=''); 
    F = dict(db=DB, table='new1', do_save_data='1', orig_num_fields='2', orig_field_where='after', orig_after_field='id', field_where='after', after_field='id', indexes='[]', unique_indexes='[]', primary_indexes='[]', spatial_indexes='[]')
    post('/table/add-field', 'two', col(0, 'c1', 'VARCHAR', length='100', default_type='USER_DEFINED', default_value='x', key='fulltext_0') + col(1, 'c2', 'DATETIME', default_type='CURRENT_TIMESTAMP', attribute='on update CURRENT_TIMESTAMP'), fulltext_indexes='[{"columns":[{"col_index":"0","size":""}],"Index_choice":"FULLTEXT","Key_name":"c1"}]', **F)
    post('/table/add-field', 'virtual', col(0, 'g1', 'INT', virtuality='VIRTUAL', expression='id + 1') + col(1, 'g2', 'INT', virtuality='STORED', expression='id * 2'), fulltext_indexes='[]', **F)
    page = get('/table/structure/change', 'form', db=DB, table='new1', change_column='1', field='c1', **{'selected[]': ['c1']}); post('/table/structure/change', 'form of two', ajax=False, db=DB, table='new1', change_column='1', **{'selected[]': ['c1', 'b']})
    submit(page, 'field_name[0]', 'change', {'field_name[0]': 'c1x', 'field_length[0]': '120', 'field_comments[0]': 'changed', 'field_default_type[0]': 'NULL', 'field_null[0]': 'YES', 'do_save_data': '1', 'selected[]': 'c1'}, button='do_save_data')
    S = lambda r, cols, note='', **p: post(f'/table/structure/{r}', f'{note} {cols}', ajax=False, db=DB, table='new1', **{'selected_fld[]': cols, 'selected[]': cols}, **p)
    for r in 'fulltext', 'index', 'unique', 'spatial': S(r, ['b'] if r == 'fulltext' else ['c1x'])
    S('primary', ['id'], mult_btn='Yes'); S('browse', ['id', 'b']); S('central-columns-add', ['id', 'b']); S('drop-confirm', ['c2']); S('drop', ['c2'], mult_btn='Yes'); post('/table/structure/reserved-word-check', db=DB, table='new1', columns_names='["select"]', **{'field_name[]': ['select']}); post('/table/structure/move-columns', db=DB, table='new1', **{'move_columns[0]': 'id', 'move_columns[1]': 'b', 'move_columns[2]': 'c1x', 'move_columns[3]': 'g1', 'move_columns[4]': 'g2'}); post('/table/structure/move-columns', 'preview', db=DB, table='new1', preview_sql='1', **{'move_columns[0]': 'b', 'move_columns[1]': 'id', 'move_columns[2]': 'c1x', 'move_columns[3]': 'g1', 'move_columns[4]': 'g2'}); post('/table/structure/move-columns', 'moved', db=DB, table='new1', **{'move_columns[0]': 'b', 'move_columns[1]': 'id', 'move_columns[2]': 'c1x', 'move_columns[3]': 'g1', 'move_columns[4]': 'g2'})
    post('/table/structure/add-key', db=DB, table='new1', **{'add_key': '1', 'columns': '["b"]', 'key_type': 'fulltext'})
    I = lambda note, kind, cols, old='', **p: post('/table/indexes', note, [x for c, n in cols for x in (('index[columns][names][]', c), ('index[columns][sub_parts][]', n))], db=DB, table='new1', do_save_data='1', old_index=old, create_index='1', **{'index[Key_name]': note, 'index[Index_choice]': kind, 'index[Index_comment]': '', 'index[Key_block_size]': '', 'index[Index_type]': '', 'index[Parser]': '', **p})
    I('ix1', 'INDEX', [('b', '20'), ('id', '')], **{'index[Index_comment]': 'a comment', 'index[Index_type]': 'BTREE'}); I('ux1', 'UNIQUE', [('id', ''), ('c1x', '10')]); I('fx1', 'FULLTEXT', [('b', ''), ('c1x', '')]); I('fx2', 'FULLTEXT', [('b', '')], **{'index[Parser]': 'ngram'}); I('sx1', 'SPATIAL', [('b', '')]); I('preview', 'FULLTEXT', [('b', '')], preview_sql='1'); I('bad', 'FULLTEXT', [('id', '')]); I('PRIMARY', 'PRIMARY', [('id', '')], 'PRIMARY')
    post('/table/indexes', 'edit', db=DB, table='new1', index='fx1', ajax=True); post('/table/indexes/rename', db=DB, table='new1', index='fx1', do_save_data='1', old_index='fx1', **{'index[Key_name]': 'fx1_new'}); get('/table/structure', 'after', db=DB, table='new1'); sql('ALTER TABLE `new1` DROP INDEX `fx1_new`', table='new1'); told('new1', 0, mysql(f'SHOW CREATE TABLE {DB}.new1').replace(' COLLATE utf8mb4_general_ci', ''), True)
    M = dict(db=DB, table='new1')
    post('/table/operations', 'options', submitoptions='1', new_name='new1', comment='new comment', prev_comment='c', new_tbl_storage_engine='InnoDB', tbl_collation='utf8mb4_unicode_ci', change_all_collations='1', new_auto_increment='50', auto_increment='1', new_row_format='DYNAMIC', row_format='', **M); post('/table/operations', 'MyISAM', submitoptions='1', new_name='new1', new_tbl_storage_engine='MYISAM', new_pack_keys='0', new_checksum='1', new_delay_key_write='1', **M); post('/table/operations', 'InnoDB', submitoptions='1', new_name='new1', new_tbl_storage_engine='INNODB', **M); post('/table/operations', 'order', submitorderby='1', order_field='id', order_order='desc', **M)
    post('/table/operations', 'copy', submit_copy='1', target_db='suite_pma2', new_name='new1c', what='data', drop_if_exists='1', sql_auto_increment='1', add_constraints='1', adjust_privileges='1', **M); post('/table/operations', 'copy structure', submit_copy='1', target_db=DB, new_name='new1s', what='structure', **M); post('/table/operations', 'copy of parts', submit_copy='1', target_db=DB, new_name='sub2', what='data', drop_if_exists='1', db=DB, table='by_sub'); post('/table/operations', 'move', submit_move='1', target_db='suite_pma2', new_name='new1m', sql_auto_increment='1', **M); post('/table/operations', 'rename', submitoptions='1', new_name='renamed', db=DB, table='new1s')
    for r in 'analyze', 'check', 'checksum', 'optimize', 'repair': post(f'/table/maintenance/{r}', 'articles', db=DB, table='articles', **{'selected_tbl[]': ['articles']})
    sql('TRUNCATE `renamed`', table='renamed'); sql('DROP TABLE renamed'); sql('FLUSH TABLE `articles`', table='articles')
    post('/table/relation', 'foreign key', db=DB, table='child2', ajax=False, **{'destination_foreign_db[a]': DB, 'destination_foreign_table[a]': 'parent', 'destination_foreign_column[a][0]': 'id', 'foreign_key_fields_name[a][0]': 'parent', 'constraint_name[a]': 'made_fk', 'on_delete[a]': 'CASCADE', 'on_update[a]': 'SET NULL'}); post('/table/relation', 'internal', db=DB, table='articles', ajax=False, display_field='title', **{'destination_db[abc]': DB, 'destination_table[abc]': 'parent', 'destination_column[abc]': 'id', 'fields_name[abc]': 'id'}); post('/table/relation', 'columns', db=DB, table='child', getDropdownValues='true', foreignDb=DB, foreignTable='parent', foreign='true'); post('/table/relation', 'tables', db=DB, table='child', getDropdownValues='true', foreignDb=DB, foreign='true')
    get('/view/create', db=DB, sql_query='SELECT id, title FROM articles', ajax_request='true'); post('/view/create', 'made', db=DB, createview='1', **{'view[name]': 'made_view', 'view[as]': 'SELECT id, title FROM articles', 'view[algorithm]': 'UNDEFINED', 'view[definer]': '', 'view[sql_security]': 'DEFINER', 'view[column_names]': '', 'view[with]': 'CASCADED', 'view[or_replace]': '1'}); post('/view/operations', 'rename', db=DB, table='made_view', submitoptions='1', new_name='made_view2'); post('/view/create', 'alter', db=DB, alterview='1', **{'view[operation]': 'alter', 'view[name]': 'made_view2', 'view[as]': 'SELECT id FROM articles', 'view[algorithm]': 'MERGE', 'view[sql_security]': 'INVOKER', 'view[column_names]': '', 'view[definer]': ''}); sql('DROP VIEW made_view2')

def extras():
    get('/transformation/overview'); post('/transformation/wrapper', ajax=False, db=DB, table='kinds', transform_key='bl', where_clause='`id` = 1')
    for n in 'create', 'again': post('/database/tracking', f'version {n}', db=DB, ajax=False, submit_create_version='1', version='1', tracking_insert='true', tracking_update='true', tracking_delete='true', tracking_alter_table='true', tracking_create_table='true', tracking_drop_table='true', tracking_truncate='true', tracking_rename_table='true', tracking_create_index='true', tracking_drop_index='true', selected=['plain'], **{'selected[]': ['plain', 'by_range']})
    sql("INSERT INTO plain VALUES (50, 'tracked'); UPDATE plain SET b = 'x' WHERE a = 50; DELETE FROM plain WHERE a = 50; ALTER TABLE plain ADD z INT; ALTER TABLE plain DROP z", 'tracked'); get('/database/tracking', db=DB); get('/table/tracking', 'report', db=DB, table='plain', report='true', version='1'); post('/table/tracking', 'report', ajax=False, db=DB, table='plain', report='true', version='1', logtype='schema_and_data', date_from='2020-01-01 00:00:00', date_to='2040-01-01 00:00:00', users='*'); post('/table/tracking', 'snapshot', ajax=False, db=DB, table='plain', snapshot='true', version='1'); post('/table/tracking', 'off', ajax=False, db=DB, table='plain', toggle_activation='deactivate_now', version='1'); post('/table/tracking', 'delete', ajax=False, db=DB, table='plain', delete_version='1', version='1', submit_delete_version='1'); post('/database/tracking', 'delete', ajax=False, db=DB, delete_tracking='1', table='by_range')
    D = lambda note, **p: post('/database/designer', note, db=DB, **p)
    for d in 'edit', 'delete', 'save_as': D(d, dialog=d)
    D('export', dialog='export', selected_page='1'); D('add table', dialog='add_table', table='parent'); D('save page', operation='savePage', save_page='new', selected_value='page one', selected_page='-1', **{'t_x[a]': '1', 't_y[a]': '2', 't_v[a]': '1', 't_h[a]': '1', 't_db[a]': DB, 't_tbl[a]': 'parent'}); D('display field', operation='setDisplayField', table='parent', field='name'); D('relation', operation='addNewRelation', T1='parent', F1='id', T2='child2', F2='parent', on_delete='CASCADE', on_update='CASCADE', DB1=DB, DB2=DB); D('setting', operation='save_setting_value', index='angular_direct', value='direct'); get('/database/designer', 'page', db=DB, page='1'); get('/database/designer', 'query', db=DB, query='1'); D('no relation', operation='removeRelation', T1=f'{DB}.child2', F1='parent', T2=f'{DB}.parent', F2='id')
    for kind in 'pdf', 'svg', 'eps', 'dia': post('/schema-export', kind, ajax=False, db=DB, export_type=kind, page_number='1', **{f'{kind}_{o}': v for o, v in (('show_color', '1'), ('show_keys', '1'), ('orientation', 'L'), ('paper', 'A4'), ('all_tables_same_width', '1'), ('show_table_dimension', '1'), ('table_order', ''), ('with_doc', '1'), ('show_grid', '1'))})
    D('delete page', operation='deletePage', selected_page='1')
    C = lambda note, **p: post('/database/central-columns', note, db=DB, **p)
    C('add', add_new_column='1', col_name='cc', col_type='varchar', col_length='30', collation='utf8mb4_general_ci', col_extra='', col_attribute='', col_default='NONE', col_default_sel='NONE', col_isNull='1', orig_col_name=''); C('list', getColumnList='1', cur_table='plain'); C('edit', edit_save='1', orig_col_name='cc', col_name='cc2', col_type='int', col_length='', collation='', col_extra='', col_attribute='', col_default='NONE', col_default_sel='NONE'); post('/database/central-columns/populate', db=DB, selectedTable='plain'); get('/database/central-columns', 'list', db=DB); C('delete', delete_save='1', col_name='cc2')
    for r in 'add', 'make-consistent', 'remove': post(f'/database/structure/central-columns/{r}', db=DB, **{'selected_tbl[]': ['parent', 'child']})
    post('/database/qbe', 'query', ajax=False, db=DB, modify='Update query', **{'criteriaColumn[0]': '`articles`.`id`', 'criteriaColumn[1]': '`articles`.`title`', 'criteriaShow[0]': 'on', 'criteriaShow[1]': 'on', 'criteriaSort[0]': 'ASC', 'criteria[0]': '< 5', 'criteriaAndOrColumn[0]': 'and', 'TableList[]': ['articles'], 'rows': '0', 'criteriaColumnCount': '2'}); post('/database/qbe', 'join', ajax=False, db=DB, **{'criteriaColumn[0]': '`child`.`id`', 'criteriaColumn[1]': '`parent`.`name`', 'criteriaShow[0]': 'on', 'criteriaShow[1]': 'on', 'criteria[0]': '< 5', 'TableList[]': ['child', 'parent'], 'rows': '0'}); post('/database/qbe', 'saved', ajax=False, db=DB, action='create', searchName='mine', **{'criteriaColumn[0]': '`articles`.`id`'}); get('/database/multi-table-query/tables', db=DB, ajax_request='true', **{'tables[]': ['child', 'parent']}); post('/database/multi-table-query/query', db=DB, sql_query='SELECT c.id, p.name FROM child c JOIN parent p ON p.id = c.parent')
    for s in ({'step1': '1'}, {'step2': '1'}, {'step3': '1'}, {'step4': '1'}, {'step': '2.1'}, {'step': '3.1', 'tables[]': ['articles']}, {'getColumns': '1'}, {'splitColumn': '1', 'numFields': '2'}, {'addNewPrimary': '1'}, {'findPdl': '1'}, {'getNewTables2NF': '1', 'pd': '{"id":["title"]}'}): get('/normalization', ' '.join(s), db=DB, table='articles'); post('/normalization', ' '.join(f'{k}={v}' for k, v in s.items()), db=DB, table='articles', normalizeTo='3nf', **s)
    Q = ['SELECT * FROM articles WHERE MATCH (title, body) AGAINST ("river")', 'SELECT id, MATCH (title, body) AGAINST ("river mountain") r FROM articles ORDER BY r DESC, id LIMIT 5', 'SELECT * FROM articles WHERE MATCH (title, body) AGAINST ("+river -mountain" IN BOOLEAN MODE) ORDER BY id', 'SELECT * FROM by_range PARTITION (pmax)', 'EXPLAIN SELECT * FROM by_range WHERE id = 3', 'EXPLAIN FORMAT=JSON SELECT * FROM articles WHERE id = 1', 'ANALYZE TABLE articles', 'CHECK TABLE articles', 'SHOW TABLE STATUS', 'SHOW FULL COLUMNS FROM kinds', 'SHOW INDEX FROM articles', 'SHOW GRANTS', 'SHOW WARNINGS', 'SHOW PROCESSLIST', 'SHOW FULL PROCESSLIST', 'SHOW ENGINE INNODB STATUS', 'SHOW PLUGINS', 'SHOW CREATE TABLE by_sub', 'SHOW PROFILES', 'SELECT 1/0', 'SELEKT 1', 'SELECT * FROM nothing_here', 'INSERT INTO parent VALUES (1, "again")', 'CALL add_article("called", "river river")', 'CALL two_results()', 'DELETE FROM by_hash', 'UPDATE plain SET b = "u" LIMIT 1', 'SELECT * FROM kinds', 'SELECT * FROM all_kinds', 'SELECT @@version_comment IS NULL', 'SET @a = 1; SELECT @a', 'SELECT 1; SELECT 2; SELECT 3', 'DELIMITER $$\nCREATE PROCEDURE dp() BEGIN SELECT 1; SELECT 2; END$$\nDELIMITER ;\nCALL dp(); DROP PROCEDURE dp', 'BEGIN; INSERT INTO plain VALUES (70, "t"); ROLLBACK; SELECT COUNT(*) FROM plain', 'SELECT COUNT(*), b FROM plain GROUP BY b WITH ROLLUP', 'WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n', 'SELECT j->"$.a", JSON_EXTRACT(j, "$.b") FROM kinds', 'SELECT * FROM information_schema.partitions WHERE table_schema = "suite_pma" ORDER BY table_name, partition_ordinal_position', 'LOCK TABLES plain READ; UNLOCK TABLES', 'HANDLER plain OPEN; HANDLER plain READ FIRST; HANDLER plain CLOSE', 'KILL 99999999', 'USE suite_pma2', 'GRANT SELECT ON suite_pma.* TO suite_app', 'CREATE TEMPORARY TABLE tt (a INT); SELECT * FROM tt']
    for s in Q: sql(s, **({'table': 'articles'} if 'articles' in s else {}))
    sql('SELECT * FROM articles', 'profiling', profiling='1'); sql('SELECT * FROM articles', 'bookmark', bkm_label='mine', bkm_all_users='true', bookmark_variable=''); post('/import', 'bookmark', db=DB, id_bookmark='1', action_bookmark='0'); post('/import', 'bookmark dropped', db=DB, id_bookmark='1', action_bookmark='2'); sql('DELETE FROM plain', 'rolled back', rollback_query='1')
    for s in ('UPDATE plain SET b = "y" WHERE a < 3', 'DELETE FROM plain WHERE a = 1', 'UPDATE child c JOIN parent p ON p.id = c.parent SET c.note = "z"'): post('/import/simulate-dml', s, db=DB, sql_query=s, simulate_dml='1', sql_delimiter=';')
    post('/lint', sql_query='SELECT 1 FROM', options='{}'); post('/database/sql/autocomplete', db=DB); post('/database/sql/format', sql='select 1 from articles where id=2'); post('/gis-data-editor', field='g', value="POINT(1 1)", gis_data='')
    for kind in 'sql', 'csv', 'json', 'xml', 'yaml', 'latex', 'mediawiki', 'texytext', 'htmlword', 'phparray', 'pdf', 'ods', 'odt', 'codegen', 'excel':
        opts = {f'{kind}_structure_or_data': 'structure_and_data', f'{kind}_columns': 'something', 'csv_separator': ',', 'csv_enclosed': '"', 'csv_escaped': '"', 'csv_terminated': 'AUTO', 'csv_null': 'NULL', 'codegen_format': '0', 'excel_null': 'NULL', 'excel_edition': 'win', 'htmlword_null': 'NULL', 'latex_null': 'NULL', 'ods_null': 'NULL', 'odt_null': 'NULL', 'texytext_null': 'NULL', 'pdf_report_title': 'x', 'json_pretty_print': 'something', 'xml_export_functions': 'on', 'xml_export_procedures': 'on', 'xml_export_tables': 'on', 'xml_export_triggers': 'on', 'xml_export_views': 'on', 'xml_export_contents': 'on'}
        for level, more in ('table', dict(db=DB, table='by_range', single_table='1')), ('database', dict(db=DB, **{'table_select[]': TABLES, 'table_structure[]': TABLES, 'table_data[]': TABLES})), ('server', {'db_select[]': [DB]}):
            if level != 'table' and kind in ('codegen', 'excel', 'csv') or level == 'server' and kind in ('xml', 'pdf', 'latex', 'ods', 'odt'): continue
            if kind == 'sql': opts = {'sql_structure_or_data': 'structure_and_data', 'sql_include_comments': 'something', 'sql_header_comment': '', 'sql_use_transaction': 'something', 'sql_compatibility': 'NONE', 'sql_create_database': 'something', 'sql_drop_table': 'something', 'sql_create_table': 'something', 'sql_create_view': 'something', 'sql_if_not_exists': 'something', 'sql_procedure_function': 'something', 'sql_create_trigger': 'something', 'sql_auto_increment': 'something', 'sql_backquotes': 'something', 'sql_type': 'INSERT', 'sql_insert_syntax': 'both', 'sql_max_query_size': '50000', 'sql_hex_for_binary': 'something', 'sql_utc_time': 'something', 'sql_relation': 'something', 'sql_mime': 'something', 'sql_dates': 'something', 'sql_metadata': 'something'}
            page = post('/export', f'{kind} of a {level}', ajax=False, quiet=True, export_type=level, export_method='custom', quick_or_custom='custom', output_format='astext', what=kind, charset='utf-8', compression='none', filename_template='@TABLE@', maxsize='', **more, **opts)
            told(f'POST /export {kind} of a {level}', 0, re.sub(r'-- (Server version|Host|Generation Time|PHP Version).*', '', page) if kind != 'pdf' else page[:8])
    I = lambda note, name, data, db='suite_pma2', table='', **p: post('/import', note, ajax=False, files={'import_file': (name, data)}, db=db, table=table, import_type='table' if table else 'database', format=name.rsplit('.')[-1], charset_of_file='utf-8', skip_queries='0', allow_interrupt='yes', fk_checks='1', sql_compatibility='NONE', sql_no_auto_value_on_zero='something', **p)
    I('SQL', 'd.sql', SCHEMA.replace('suite_pma', 'suite_pma2').encode()); CSV = dict(csv_terminated=',', csv_enclosed='"', csv_escaped='"', csv_new_line='auto', csv_columns='')
    mysql('CREATE TABLE IF NOT EXISTS suite_pma2.csv (a INT PRIMARY KEY, b TEXT, FULLTEXT KEY b (b))'); I('CSV', 'd.csv', 'a,"river"\n1,"river é"\n2,"b ""q"""\n'.encode(), table='csv', **CSV); I('CSV again', 'd.csv', b'1,"x"\n3,"y"\n', table='csv', csv_replace='1', **CSV); I('CSV new table', 'e.csv', b'x,y\n1,2\n3,4\n', csv_col_names='1', **CSV)
    I('LDI', 'd.ldi', b'8;"eight"\n9;"nine"\n', table='csv', ldi_terminated=';', ldi_enclosed='"', ldi_escaped='\\', ldi_new_line='auto', ldi_columns='', ldi_local_option='1'); I('XML', 'd.xml', b'<?xml version="1.0"?><pma_xml_export version="1.0" xmlns:pma="https://www.phpmyadmin.net/some_doc_url/"><database name="suite_pma2"><table name="csv"><column name="a">20</column><column name="b">xml</column></table></database></pma_xml_export>'); I('MediaWiki', 'd.mediawiki', b'<!-- Table data for `wikitable` -->\n{| class="wikitable"\n|-\n! a\n! b\n|-\n| 1\n| 2\n|}\n'); get('/import-status', id='x', message='1')
    told('imported', 0, mysql('SELECT * FROM suite_pma2.csv ORDER BY a; SELECT TABLE_NAME FROM information_schema.tables WHERE TABLE_SCHEMA = "suite_pma2" ORDER BY 1'), True)
    for r in 'create', 'load', 'update', 'delete': post(f'/export/template/{r}', r, exportType='table', templateName='t1', templateData='{"a":"b"}', templateId='1')
    told('all tables', 0, '\n'.join(re.sub(r' (COLLATE|DEFAULT CHARSET|CHARACTER SET)[= ]\w+', '', mysql(f'SHOW CREATE TABLE {DB}.{t}; SELECT * FROM {DB}.{t} ORDER BY 1', check=False)) for t in TABLES), True)

prepare()
server = subprocess.Popen(['php', '-d', 'opcache.enable_cli=1', '-d', 'memory_limit=512M', '-d', 'error_reporting=E_ALL & ~E_DEPRECATED', '-d', 'upload_max_filesize=50M', '-d', 'mysqli.allow_local_infile=1', '-d', 'date.timezone=UTC', '-S', f'127.0.0.1:{port}', '-t', pma], env=dict(os.environ, PMA_CONFIG=f'{work}/config.inc.php', PMA_TEMP=f'{work}/tmp/', PHP_CLI_SERVER_WORKERS='2'),
    stdout=subprocess.DEVNULL, stderr=open(f'{work}/php.log', 'w'), start_new_session=True)
try:
    time.sleep(1)
    mysql(FAILED)
    page = get('/')
    token = re.search(r'name="token" value="([^"]+)"|token:"([^"]+)"', page)
    token = html.unescape(token.group(1) or token.group(2)) if token else ''
    if not token: raise SystemExit('no token: ' + text_of(page)[:500])
    for part in sys.argv[5:] or ['server_pages', 'accounts', 'database_pages', 'programs', 'table_pages', 'shape', 'extras']: globals()[part]()
finally:
    os.killpg(server.pid, 15); server.wait()
