#!/usr/bin/env python3
"""mediawiki.py WIKI WORK DBPORT PORT: a MediaWiki of its own at the server of DBPORT, walked through as people and their programs do.

WIKI is the code, WORK keeps the settings and what comes out, PORT is where `php -S` serves the wiki. Writes WORK/walk.jsonl, a line for
each thing that was asked: its name, its status (of HTTP, or the program's exit code) and what it said, without what differs from run
to run (times, tokens, hashes). Two servers give the same lines.
"""
import html, http.cookiejar, json, os, random, re, subprocess, sys, time, urllib.error, urllib.parse, urllib.request, zlib, struct

wiki, work, dbport, port = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
part = set(sys.argv[5:])  # only these parts; all of them without
base = f'http://127.0.0.1:{port}'
settings = f'{work}/LocalSettings.php'
env = dict(os.environ, MW_CONFIG_FILE=settings, MW_INSTALL_PATH=wiki)
out = open(f'{work}/walk.jsonl', 'w')

NOISE = [
    (r'<!--.*?-->', ''),
    (r'(?s)<(script|style)\b.*?</\1>', ''),
    (r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?', 'TIME'),
    (r'\b20\d{12}\b', 'TIME'),
    (r'\b20\d{6}(000000|_)?\b', 'TIME'),
    (r'\b\d\d?:\d\d(:\d\d)?\b', 'TIME'),
    (r'(?i)\b\d\d?(st|nd|rd|th)? (January|February|March|April|May|June|July|August|September|October|November|December)( 20\d\d)?\b', 'DAY'),
    (r'(?i)\b(Mon|Tues?|Wed(nes)?|Thu(rs)?|Fri|Sat(ur)?|Sun)(day)?, \d\d? \w+ 20\d\d', 'DAY'),
    (r'\b[0-9a-f]{20,}\b(\+\\+)?', 'HASH'),
    (r'\b[0-9a-z]{31,}\b', 'HASH'),
    (r'\d+(\.\d+)? ?(s|ms|sec|seconds?|minutes?|MB|KB|pages/sec|revs/sec)\b', 'SPAN'),
    (r'(?i)requestid"?: ?"[^"]*"', ''),
    (r'127\.0\.0\.1:\d+', 'HOST'),
    (r'\[[0-9a-f]{20,}\]', ''),
    (r'-?\d+\.\d+(E-?\d+)?', 'REAL'),
]
def normal(text):
    for pattern, to in NOISE: text = re.sub(pattern, to, text)
    text = text.replace(work, 'WORK').replace(f':{dbport}', ':DB')
    return text
def text_of(page):
    if '<html' in page[:2000]:
        at = page.find('id="content"')
        end = page.find('id="mw-navigation"', at)
        page = page[at if at > 0 else 0:end if end > 0 else None]
        page = normal(page)
        page = re.sub(r'(?i)<(br|/p|/li|/tr|/div|/h\d|/td|/dt|/dd|/option)\b[^>]*>', '\n', page)
        page = html.unescape(re.sub(r'<[^>]*>', '', page))
    page = normal(page)
    return '\n'.join(l for l in (re.sub(r'\s+', ' ', l).strip() for l in page.splitlines()) if l)
def told(name, status, text):
    out.write(json.dumps({'name': name, 'status': status, 'text': text_of(text)}, ensure_ascii=False) + '\n'); out.flush()

class Browser:
    def __init__(self):
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    def get(self, path, data=None, headers={}):
        request = urllib.request.Request(base + path, data, headers)
        for _ in range(3):
            try:
                with self.opener.open(request, timeout=120) as r: return r.status, r.read().decode('utf-8', 'replace')
            except urllib.error.HTTPError as e: return e.code, e.read().decode('utf-8', 'replace')
            except (urllib.error.URLError, ConnectionError, TimeoutError) as e: last = e; time.sleep(.5)
        return 0, str(last)
    def look(self, name, path):
        status, page = self.get(path)
        told(name, status, page)
        return page
    def api(self, name=None, files=None, post=False, **p):
        p = {k: str(v) for k, v in p.items()} | {'format': 'json', 'formatversion': '2'}
        if files:
            b = 'x' * 30
            body = b''.join(f'--{b}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode() for k, v in p.items())
            for k, (file, data) in files.items():
                body += f'--{b}\r\nContent-Disposition: form-data; name="{k}"; filename="{file}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode() + data + b'\r\n'
            status, page = self.get('/api.php', body + f'--{b}--\r\n'.encode(), {'Content-Type': f'multipart/form-data; boundary={b}'})
        elif post: status, page = self.get('/api.php', urllib.parse.urlencode(p).encode())
        else: status, page = self.get('/api.php?' + urllib.parse.urlencode(p))
        try: answer = json.loads(page)
        except ValueError: answer = {}
        if name: told('api ' + name, status, json.dumps(answer, indent=1, ensure_ascii=False) if answer else page)
        return answer
    def login(self, user, password):
        token = self.api(action='query', meta='tokens', type='login')['query']['tokens']['logintoken']
        self.api(f'login of {user}', post=True, action='clientlogin', username=user, password=password, logintoken=token, loginreturnurl=base)
        self.user = user
    def do(self, action, kind='csrf', note='', files=None, **p):
        token = self.api(action='query', meta='tokens', type=kind)['query']['tokens'][kind + 'token']
        return self.api(f'{action} {note or " ".join(str(v)[:60] for v in p.values())}', files, True, action=action, token=token, **p)

def run(name, *args, input='', limit=180):
    try:
        p = subprocess.run(['php', '-d', 'error_reporting=E_ALL & ~E_DEPRECATED', *args], input=input.encode(), capture_output=True, env=env, cwd=work, timeout=limit)
        told(name, p.returncode, (p.stdout + p.stderr).decode('utf-8', 'replace'))
    except subprocess.TimeoutExpired: told(name, 'timeout', '')
def script(name, *args, **kw): run('program ' + ' '.join((name,) + args), f'{wiki}/maintenance/{name}.php', *args, **kw)

WORDS = '''river mountain winter summer garden bridge castle music painting history science language village harbour railway library museum
theatre market church forest island desert valley ocean planet engine machine computer database server protocol network index partition
journal article chapter author editor reader writer teacher student doctor lawyer farmer sailor soldier captain king queen prince
the of and in to is was it for on as with by at from a an be or not ab io C++ x86 don't e-mail 3rd naïve café Straße Ελλάδα Москва'''.split()
def article(i):
    r = random.Random(i)
    def some(n): return ' '.join(r.choices(WORDS, k=n))
    text = f"'''Page {i}''' {some(40)}.\n\n== {some(3)} ==\n{some(60)} [[Page {(i * 7) % 60 + 1}]] [[Page {i + 1}|next]] [[Missing {i % 9}]]\n"
    text += f'{{{{Box|{i}|name=Name {i}}}}} [http://example{i % 5}.org/{i} link] [[de:Seite {i}]] [[wikipedia:Thing {i}]] <ref>a</ref>\n'
    text += f'[[File:Picture {i % 4}.png|thumb|{some(2)}]] [[Category:Topic {i % 6}]] [[Category:Missing topic]]\n'
    if i % 11 == 0: text += '数据库管理系统 全文检索 中文分词 東京都 データベース 한국어 검색\n'
    if i % 13 == 0: text += '{{DEFAULTSORT:zz' + str(i) + '}} __NOINDEX__ {{DISPLAYTITLE:Page ' + str(i) + '}} 😀 é\n'
    return text
def picture(n):
    rows = b''.join(b'\0' + bytes((x * n + y) % 256 for x in range(30) for _ in range(3)) for y in range(20))
    def chunk(kind, data): return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 30, 20, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')

def install():
    if os.path.exists(settings): os.remove(settings)
    env.pop('MW_CONFIG_FILE')
    script('install', '--dbtype', 'mysql', '--dbserver', f'127.0.0.1:{dbport}', '--dbname', 'suite_wiki', '--dbuser', 'suite_app', '--dbpass', 'pw',
        '--pass', 'adminpass12345', '--server', base, '--scriptpath', '', '--confpath', work, 'Wiki', 'Admin', limit=400)
    env['MW_CONFIG_FILE'] = settings
    os.makedirs(f'{work}/images', exist_ok=True)
    with open(settings, 'a') as f:
        f.write(f'''
$wgEnableUploads = true; $wgUploadDirectory = '{work}/images'; $wgUploadPath = '/images'; $wgStrictFileExtensions = false; $wgVerifyMimeType = false;
$wgMainCacheType = CACHE_DB; $wgSessionCacheType = CACHE_DB; $wgParserCacheType = CACHE_DB; $wgMessageCacheType = CACHE_DB;
$wgJobRunRate = 0; $wgRateLimits = []; $wgAccountCreationThrottle = []; $wgPasswordAttemptThrottle = []; $wgEnableEmail = false;
$wgShowExceptionDetails = true; $wgShowDBErrorBacktrace = true; $wgDevelopmentWarnings = false; $wgRCWatchCategoryMembership = true;
$wgUseFilePatrol = true; $wgUseNPPatrol = true; $wgUseRCPatrol = true; $wgImportSources = ['wikipedia']; $wgWatchlistExpiry = true;
$wgGroupPermissions['sysop']['import'] = $wgGroupPermissions['sysop']['importupload'] = $wgGroupPermissions['sysop']['deleterevision'] = true;
$wgGroupPermissions['sysop']['deletelogentry'] = $wgGroupPermissions['sysop']['suppressrevision'] = $wgGroupPermissions['sysop']['viewsuppressed'] = true;
$wgGroupPermissions['sysop']['userrights'] = $wgGroupPermissions['sysop']['mergehistory'] = $wgGroupPermissions['sysop']['hideuser'] = true;
$wgGroupPermissions['sysop']['pagelang'] = true; $wgPageLanguageUseDB = true; $wgLocaltimezone = 'UTC'; $wgAllowCategorizedRecentChanges = true;
$wgDBerrorLog = '{work}/db-errors.log'; $wgDebugLogGroups['DBQuery'] = '{work}/db-queries.log'; $wgUpdateRowsPerQuery = 7; $wgEnableDnsBlacklist = false;
$wgUserrightsInterwikiDelimiter = '#'; $wgAllowHTMLEmail = false; $wgPingback = false; $wgUseInstantCommons = false; $wgEnablePartialActionBlocks = true;
''')

def fill():
    pages = f'{work}/pages'
    os.makedirs(pages, exist_ok=True)
    for i in range(1, 61): open(f'{pages}/Page {i}.txt', 'w').write(article(i))
    open(f'{pages}/Template:Box.txt', 'w').write("{| class=wikitable\n| {{{1}}} || {{{name}}} || {{PAGENAME}} || {{NUMBEROFARTICLES}}\n|}[[Category:Boxed]]")
    open(f'{pages}/Category:Topic 1.txt', 'w').write('[[Category:Topics]]')
    names = sorted(os.listdir(pages))
    script('importTextFiles', '--user', 'Admin', '--rc', *[f'pages/{n}' for n in names])
    out.flush()
    for i in range(1, 31): open(f'{pages}/Page {i}.txt', 'w').write(article(i) + article(i + 100))
    script('importTextFiles', '--overwrite', '--user', 'Admin', '-s', 'again', '--rc', *[f'pages/Page {n}.txt' for n in range(1, 31)])
    script('edit', '--user', 'Admin', '-s', 'by edit.php', 'Edited page', input='A page by [[Page 2]] edit.php')
    script('runJobs')
    script('rebuildrecentchanges')

def change():
    admin, other = Browser(), Browser()
    admin.login('Admin', 'adminpass12345')
    admin.api('tokens', action='query', meta='userinfo', uiprop='rights|groups|editcount|options')
    for user in 'Berta', 'Caesar', 'Dora':
        token = admin.api(action='query', meta='tokens', type='createaccount')['query']['tokens']['createaccounttoken']
        admin.api('createaccount ' + user, post=True, action='createaccount', username=user, password='Pass word 12345', retype='Pass word 12345', createreturnurl=base, createtoken=token)
    other.login('Berta', 'Pass word 12345')
    anon = Browser()
    for i in range(1, 13):
        other.do('edit', note=f'by Berta {i}', title=f'Page {i}', appendtext=f'\nBerta was here {i} quantum', summary=f'berta {i}', minor=1, watchlist='watch')
    for i in range(3): anon.do('edit', note=f'anonymous {i}', title=f'Talk:Page {i}', text=f'anonymous words {i} ~~~~')
    other.do('edit', note='section', title='Page 3', section='new', sectiontitle='New section', text='in a new section')
    other.do('edit', note='conflict', title='Page 3', createonly=1, text='x')
    other.do('edit', note='create', title='User:Berta/Draft', text='{{Box}} #REDIRECT'); other.do('edit', note='redirect', title='Redirect', text='#REDIRECT [[Page 5]]')
    other.do('edit', note='double redirect', title='Double', text='#REDIRECT [[Redirect]]'); other.do('edit', note='broken', title='Broken', text='#REDIRECT [[Nowhere]]')
    admin.do('edit', note='json', title='User:Admin/x.json', text='{"a": [1, 2]}'); admin.do('edit', note='css', title='MediaWiki:Common.css', text='body { color: black }')
    admin.do('edit', note='message', title='MediaWiki:Sitenotice', text='notice'); admin.do('edit', note='undo', title='Page 3', undo=0)
    admin.do('edit', note='big', title='Big page', text='word ' * 60000)
    for i in range(4):
        admin.do('upload', files={'file': (f'p{i}.png', picture(i + 1))}, filename=f'Picture {i}.png', comment='first', text='[[Category:Topic 1]] a picture', ignorewarnings=1)
    admin.do('upload', files={'file': ('p9.png', picture(9))}, filename='Picture 1.png', comment='second', ignorewarnings=1)
    admin.do('upload', note='duplicate', files={'file': ('p9.png', picture(3))}, filename='Picture 7.png', comment='third')
    admin.do('upload', note='stash', files={'file': ('p8.png', picture(8))}, filename='Picture 8.png', stash=1)
    admin.do('filerevert', note='Picture 1', filename='Picture 1.png', archivename='none')
    admin.do('move', **{'from': 'Page 40', 'to': 'Moved page', 'reason': 'why', 'movetalk': 1})
    admin.do('move', **{'from': 'Page 41', 'to': 'Moved/without', 'noredirect': 1})
    admin.do('move', **{'from': 'File:Picture 3.png', 'to': 'File:Other picture.png'})
    admin.do('move', note='onto another', **{'from': 'Page 42', 'to': 'Page 43'})
    admin.do('delete', title='Page 44', reason='gone'); admin.do('delete', title='Page 45'); admin.do('delete', title='File:Picture 2.png')
    admin.do('delete', note='none', title='Nothing here'); admin.do('undelete', title='Page 44', reason='back'); admin.do('undelete', title='File:Picture 2.png')
    admin.do('protect', title='Page 10', protections='edit=sysop|move=sysop', expiry='infinite'); admin.do('protect', title='Never', protections='create=sysop', expiry='1 month')
    admin.do('protect', title='Page 11', protections='edit=autoconfirmed', expiry='1 month', cascade=0)
    other.do('edit', note='protected', title='Page 10', text='no')
    admin.do('block', user='Caesar', expiry='1 month', reason='spam', autoblock=1); admin.do('block', user='10.1.2.0/24', expiry='infinite', nocreate=1)
    admin.do('block', user='Dora', expiry='1 week', partial=1, pagerestrictions='Page 1|Page 2', namespacerestrictions='4', actionrestrictions='upload')
    admin.do('unblock', user='10.1.2.0/24'); admin.do('block', user='2001:db8::/32', expiry='1 day')
    admin.do('userrights', 'userrights', user='Berta', add='bureaucrat|bot', expiry='1 month', reason='trust', tags='')
    for b in admin, other:
        b.do('watch', 'watch', titles='Page 20|Page 21|Talk:Page 1'); b.do('watch', 'watch', titles='Page 22', expiry='1 month'); b.do('watch', 'watch', titles='Page 20', unwatch=1)
        b.do('options', change='rclimit=70|hideminor=1'); b.do('setnotificationtimestamp', entirewatchlist=1)
    rc = admin.api(action='query', list='recentchanges', rclimit=5, rcprop='ids|title|user|patrolled', rctype='edit')['query']['recentchanges']
    for r in rc[:3]: admin.do('patrol', 'patrol', note='', rcid=r['rcid'])
    admin.do('rollback', 'rollback', title='Page 12', user='Berta')
    admin.do('managetags', operation='create', tag='mytag', reason='tags'); admin.do('managetags', operation='create', tag='other tag')
    revs = admin.api(action='query', prop='revisions', titles='Page 5', rvlimit=10, rvprop='ids')['query']['pages'][0]['revisions']
    admin.do('tag', note='a revision', revid=revs[0]['revid'], add='mytag'); admin.do('tag', note='a change', rcid=rc[3]['rcid'], add='mytag|other tag')
    admin.do('tag', note='off', revid=revs[0]['revid'], remove='mytag'); admin.do('managetags', operation='deactivate', tag='other tag'); admin.do('managetags', operation='delete', tag='other tag', ignorewarnings=1)
    admin.do('revisiondelete', note='hidden', type='revision', ids=revs[-1]['revid'], target='Page 5', hide='content|user', suppress='no')
    admin.do('revisiondelete', note='hidden log', type='logging', ids='3', hide='comment', suppress='yes')
    admin.do('edit', note='undone', title='Page 5', undo=revs[0]['revid'])
    admin.do('mergehistory', **{'from': 'Edited page', 'to': 'Moved page', 'reason': 'one'})
    admin.do('changecontentmodel', note='text', title='User:Berta/Draft', model='text'); admin.do('setpagelanguage', title='Page 8', lang='de')
    admin.do('purge', note='links', titles='Page 1|Page 2|Page 3', forcelinkupdate=1, forcerecursivelinkupdate=1)
    admin.do('stashedit', note='page 6', title='Page 6', text='stashed', contentmodel='wikitext', contentformat='text/x-wiki', baserevid=revs[0]['revid'])
    admin.do('import', note='a dump', files={'xml': ('x.xml', DUMP.encode())}, interwikiprefix='wikipedia', namespace=0, summary='from a file')
    admin.do('emailuser', note='refused', target='Berta', text='x', subject='y'); admin.do('resetpassword', user='Berta'); admin.do('clearhasmsg', note='')
    admin.do('validatepassword', note='short', password='x'); other.do('edit', note='user talk', title='User talk:Admin', text='hello ~~~~')
    script('runJobs'); script('showJobs', '--group')
    return admin

DUMP = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">' + ''.join(
    f'<page><title>Imported {i}</title><ns>0</ns><id>{900 + i}</id>' + ''.join(f'''<revision><id>{9000 + i * 10 + k}</id><timestamp>2020-01-0{k + 1}T00:00:0{i}Z</timestamp>
    <contributor><username>Someone{k}</username><id>{k}</id></contributor><comment>c{k}</comment><model>wikitext</model><format>text/x-wiki</format>
    <text xml:space="preserve">imported words {i} {k} zeppelin [[Page {i}]]</text></revision>''' for k in range(3)) + '</page>' for i in range(1, 6)) + '</mediawiki>'

SUBPAGES = '''Contributions/Berta DeletedContributions/Berta Log/delete Log/upload Log/rights Log/suppress WhatLinksHere/Page_5 RecentChangesLinked/Page_5 Recentchangeslinked/Category:Topic_1
Allpages?from=Page_3 Allpages?namespace=6 Prefixindex/Page_1 Prefixindex?prefix=P&stripprefix=1&hideredirects=1 Movepage/Page_50 Undelete/Page_45 Undelete?prefix=Page Block/Berta Unblock/Caesar BlockList?wpTarget=Caesar&wpOptions[]=userblocks
Userrights/Berta ListUsers?group=sysop ListUsers?username=C&editsOnly=1&creationSort=1 ListFiles?user=Admin ListFiles/Admin?ilsearch=Picture Newimages?like=Pic NewFiles?user=Admin Listredirects LinkSearch?target=*.example1.org LinkSearch/http://example2.org
MIMESearch/image/png MIMESearch/image/* FileDuplicateSearch/Picture_1.png ComparePages?page1=Page_1&page2=Page_2&action=Compare Diff/2 Diff/5/3 ExpandTemplates?wpInput={{Box|1}} PagesWithProp/noindex PagesWithProp/defaultsort?reverse=1&sortbyvalue=1 PageHistory/Page_1
RecentChanges?hidebots=0&hideminor=1&days=30&limit=500 RecentChanges?namespace=0&invert=1&tagfilter=mytag RecentChanges?hidemyself=1&hideliu=1 RecentChanges?hidepatrolled=1 RecentChanges?hidecategorization=1&enhanced=0 RecentChanges?categories=Topic_1 RecentChanges?userExpLevel=newcomer;unregistered
Watchlist?days=0 Watchlist?hideOwn=1&days=30&limit=200 Watchlist/edit Watchlist/raw Watchlist/clear EditWatchlist/raw Newpages?username=Admin Newpages?namespace=all&hideredirs=0&size-mode=min&size=100 ProtectedPages?type=edit&level=sysop&noredirect=1 ProtectedPages?size=10&size-mode=min&indefonly=1 ProtectedTitles?level=sysop
Export/Page_1 Search?search=river Ancientpages?limit=5&offset=5 Lonelypages?limit=500 BrokenRedirects DoubleRedirects Contributions?target=newbies&contribs=newbie Contributions/10.0.0.0/8 Contributions/Berta?namespace=1&associated=1&topOnly=1&newOnly=0&tagfilter=mytag Contributions/Berta?start=2020-01-01&end=2030-01-01&hideMinor=1
GlobalBlock Redirect/user/1 Redirect/page/2 Redirect/revision/3 Redirect/logid/2 Redirect/file/Picture_1.png Permalink/4 AutoblockList Categories?from=T Tags/edit Tags/mytag TrackingCategories Mypage Mytalk Randomincategory/Topic_1 RandomInCategory?wpcategory=Topic_2 Randomredirect Random/Talk
Revisiondelete?target=Page_5&type=revision&ids=5 MergeHistory?target=Page_1&dest=Page_2&submitted=1&mergepoint= EditTags?target=Page_5&type=revision&ids=5 PageLanguage/Page_8 ChangeContentModel/Page_1 Filepath/Picture_1.png UploadStash ListGroupRights ListGrants PasswordPolicies Version ApiSandbox Apihelp/query
PageInfo/Page_1 EditPage/Page_1 Protectpage/Page_1 DeletePage/Page_9 Purge/Page_1 NamespaceInfo TalkPage/Page_1'''.split()

QUERIES = ['river', 'river mountain', '"river mountain"', '"the river"', 'ab', 'io', 'C++', 'x86', "don't", '数据库', '中文', '全文检索 数据库', '東京', 'データベース', '검색', 'naïve', 'cafe', 'Straße', 'strasse', 'Ελλάδα', 'москва',
    'moun*', 'riv*', '*ver', '-river mountain', 'river -mountain', 'river OR mountain', '+river +mountain', '(river mountain)', '"', '""', '*', '+', '-', '~river', '@', '>river <mountain', 'the', 'of', 'quantum', 'berta', 'zeppelin',
    'Page 1', 'page', 'Pa', 'Imported', 'intitle:Page', 'incategory:Topic', 'prefix:Page', 'all:river', 'Talk:anonymous', 'File:picture', '3rd', 'e-mail', 'email', 'nothingsuchword', 'a', '1', '😀', 'word', 'river; DROP TABLE page', "o'clock", 'böse%\\_', '  ', 'e' * 250]

def q(**p): return '?' + urllib.parse.urlencode(p)
def search():
    b = Browser()
    for s in QUERIES:
        b.look(f'search {s}', '/index.php' + q(title='Special:Search', search=s, fulltext=1, profile='all', limit=50))
        for what in 'text', 'title', 'nearmatch':
            b.api(f'search {what} {s}', action='query', list='search', srsearch=s, srwhat=what, srlimit=100, srnamespace='*', srprop='size|wordcount|timestamp|snippet|titlesnippet|sectiontitle|categorysnippet', srinfo='totalhits|suggestion')
        b.api(f'opensearch {s}', action='opensearch', search=s, namespace='*', limit=50)
        b.api(f'prefixsearch {s}', action='query', list='prefixsearch', pssearch=s, psnamespace='0|1|2|6|10|14', pslimit=50)
        b.get('/rest.php/v1/search/page' + q(q=s, limit=50))
        status, page = b.get('/rest.php/v1/search/page' + q(q=s, limit=50)); told(f'rest search {s}', status, page)
        status, page = b.get('/rest.php/v1/search/title' + q(q=s, limit=50)); told(f'rest title {s}', status, page)
    for limit, offset in (5, 0), (5, 5), (20, 20), (500, 0): b.api(f'search limit {limit} {offset}', action='query', list='search', srsearch='river', srlimit=limit, sroffset=offset)

def special(who, b):
    names = b.api(action='query', meta='siteinfo', siprop='specialpagealiases')['query']['specialpagealiases']
    for n in sorted(s['realname'] for s in names):
        if n in ('Userlogout', 'Random', 'RandomInCategory', 'Randompage', 'Randomredirect', 'Randomrootpage', 'RunJobs'): b.get('/index.php' + q(title='Special:' + n))
        else: b.look(f'{who} Special:{n}', '/index.php' + q(title='Special:' + n))
    for s in SUBPAGES:
        n, _, args = s.partition('?')
        path = '/index.php' + q(title='Special:' + n) + ('&' + args if args else '')
        if n.startswith('Random'): b.get(path)
        else: b.look(f'{who} Special:{s}', path)
    for title in 'Page 1', 'Page 5', 'Page 10', 'File:Picture 1.png', 'Category:Topic 1', 'Category:Topics', 'Talk:Page 1', 'User:Berta', 'Nowhere', 'MediaWiki:Sitenotice', 'Redirect', 'Main Page', 'User talk:Admin':
        for action in 'view', 'history', 'edit', 'info', 'raw', 'render', 'delete', 'protect', 'purge', 'credits', 'watch', 'unwatch', 'rollback', 'markpatrolled', 'submit', 'editchangetags', 'revisiondelete', 'mcrundo':
            b.look(f'{who} {action} of {title}', '/index.php' + q(title=title, action=action))
        for more in 'diff=cur&oldid=prev', 'diff=0', 'action=history&feed=atom', 'action=history&year=2020&month=1', 'action=history&dir=prev&limit=2', 'action=history&tagfilter=mytag', 'action=edit&section=1', 'printable=yes', 'redirect=no', 'oldid=3', 'curid=3', 'action=raw&ctype=text/css', 'action=history&limit=3&offset=20400101000000%7C9':
            b.look(f'{who} {more} of {title}', '/index.php' + q(title=title) + '&' + more)
    for feed in 'recentchanges', 'contributions': b.look(f'{who} feed of {feed}', '/api.php' + q(action='feed' + feed, user='Berta', feedformat='atom'))
    for path in 'page/Page_1', 'page/Page_1/bare', 'page/Page_1/html', 'page/Page_1/history', 'page/Page_1/history?filter=minor', 'page/Page_1/history/counts/edits', 'page/Page_1/history/counts/anonymous', 'page/Page_1/history/counts/editors', 'page/Page_1/history/counts/minor', 'page/Page_1/history/counts/bot', 'page/Page_1/history/counts/reverted', 'page/Page_1/links/media', 'page/Page_1/links/language', 'revision/5', 'revision/5/compare/4', 'revision/5/html', 'file/File:Picture_1.png':
        b.look(f'{who} rest {path}', '/rest.php/v1/' + path)

def api(who, b):
    GIVEN = dict(titles='Page 1|Page 5|Page 10|File:Picture 1.png|Category:Topic 1|Category:Topics|User:Berta|Redirect|Page 45')
    info = b.api(action='paraminfo', modules='query')['paraminfo']['modules'][0]
    modules = sorted(m for p in info['parameters'] if p['name'] in ('prop', 'list', 'meta') for m in p['type'])
    WANT = dict(exturlusage=dict(euquery='example1.org'), pageswithprop=dict(pwppropname='noindex'), querypage=dict(qppage='Ancientpages'), backlinks=dict(bltitle='Page 5'), embeddedin=dict(eititle='Template:Box'),
        categorymembers=dict(cmtitle='Category:Topic 1'), imageusage=dict(iutitle='File:Picture 1.png'), usercontribs=dict(ucuser='Berta|Admin'), search=dict(srsearch='river'), prefixsearch=dict(pssearch='Pa'), users=dict(ususers='Berta|Admin|No one'),
        iwbacklinks=dict(iwblprefix='wikipedia'), langbacklinks=dict(lbllang='de'), deletedrevs=dict(drlimit=10), alldeletedrevisions=dict(adrlimit=10), blocks=dict(bkusers='Caesar'), stashimageinfo=dict(siifilekey='x'), mystashedfiles={}, logevents=dict(leprop='ids|title|type|user|comment|details|tags'), languageinfo=dict(liprop='code|name|dir', licode='de|en'))
    for m in modules:
        try: mod = b.api(action='paraminfo', modules='query+' + m)['paraminfo']['modules'][0]
        except (KeyError, IndexError): continue
        group, pre = mod['group'], mod.get('prefix', '')
        common = dict(action='query', **{group: m}, **(GIVEN if group == 'prop' else {}), **WANT.get(m, {}))
        if m in ('random', 'allmessages'): b.api(**common); continue
        b.api(f'{who} {m}', **common)
        for p in mod['parameters']:
            values = p.get('type')
            name = pre + p['name']
            if name in common and p['name'] != 'prop': continue
            if isinstance(values, list):
                values = [v for v in values if v and v not in ('seen', 'random')][:40]
                if p.get('multi'): b.api(f'{who} {m} {name}=all', **common | {name: '|'.join(map(str, values))})
                if not p.get('multi') or len(values) < 15:
                    for v in values: b.api(f'{who} {m} {name}={v}', **common | {name: v})
            elif values == 'limit':
                for v in 1, 3, 'max': b.api(f'{who} {m} {name}={v}', **common | {name: v})
            elif values == 'boolean': b.api(f'{who} {m} {name}', **common | {name: 1})
            elif values == 'timestamp': b.api(f'{who} {m} {name}', **common | {name: '2021-01-01T00:00:00Z'})
            elif values == 'user': b.api(f'{who} {m} {name}', **common | {name: 'Berta'})
            elif values == 'namespace': b.api(f'{who} {m} {name}', **common | {name: '0|6|14'})
            elif values == 'integer': b.api(f'{who} {m} {name}', **common | {name: 5})
            elif p['name'] in ('from', 'prefix', 'to', 'start', 'continue', 'title', 'tag', 'user'): b.api(f'{who} {m} {name}', **common | {name: {'tag': 'mytag', 'user': 'Admin', 'title': 'Page 5'}.get(p['name'], 'Page 3')})
        if mod.get('generator'): b.api(f'{who} generator {m}', **{'action': 'query', 'generator': m, 'prop': 'info|categories|revisions', **(GIVEN if group == 'prop' else {})} | {'g' + k: v for k, v in WANT.get(m, {}).items()} | ({'g' + pre + 'limit': 20} if any(p['name'] == 'limit' for p in mod['parameters']) else {}))
        got, n = b.api(**common | ({pre + 'limit': 2} if any(p['name'] == 'limit' for p in mod['parameters']) else {})), 0
        while 'continue' in got and n < 6:
            n += 1
            got = b.api(f'{who} {m} page {n}', **common | {pre + 'limit': 2} | got['continue'])
    for page in b.api(action='paraminfo', modules='query+querypage')['paraminfo']['modules'][0]['parameters'][0]['type']: b.api(f'{who} querypage {page}', action='query', list='querypage', qppage=page, qplimit=50)
    for a in ('parse', dict(page='Page 1', prop='text|langlinks|categories|links|templates|images|externallinks|sections|revid|displaytitle|iwlinks|properties|parsewarnings|limitreportdata')), ('compare', dict(fromtitle='Page 1', totitle='Page 2')), ('expandtemplates', dict(text='{{Box|1}} {{NUMBEROFPAGES}} {{PAGESINCATEGORY:Topic 1}} {{NUMBERINGROUP:sysop}}', prop='wikitext')), ('feedwatchlist', {}), ('help', dict(modules='query')), ('checktoken', dict(type='csrf', token='x')), ('rsd', {}), ('opensearch', dict(search='Pa')), ('query', dict(export=1, titles='Page 1|Page 2')), ('query', dict(revids='1|2|3|999', prop='revisions', rvprop='ids|content', rvslots='*')), ('query', dict(pageids='1|2|3|999', prop='info', inprop='protection|talkid|watched|watchers|visitingwatchers|notificationtimestamp|subjectid|url|preload|displaytitle|varianttitles|linkclasses')):
        b.api(f'{who} {a[0]} {sorted(a[1])}', action=a[0], **a[1])

# What they ask for. Programs that are not here run without arguments. Left out are those that never end, speak to no database, or remove the wiki.
ARGUMENTS = {
    'addChangeTag': [['--tag', 'bytool', '--reason', 'x']], 'addSite': [['mysite', 'mygroup', '--language', 'en']], 'attachLatest': [[], ['--fix']], 'changePassword': [['--user', 'Dora', '--password', 'Another pass 12345']],
    'blockUsers': [['--reason', 'x', 'list.txt']], 'checkUsernames': [[]], 'cleanupCaps': [['--dry-run']], 'cleanupEmptyCategories': [[], ['--mode', 'both']], 'cleanupSpam': [['example3.org'], ['--delete', 'example4.org']], 'cleanupUsersWithNoId': [['--prefix', 'old']],
    'compareParserCache': [['--maxpages', '5']], 'createAndPromote': [['--sysop', 'Emil', 'Some pass 12345'], ['--force', '--bureaucrat', 'Emil']], 'createBotPassword': [['--appid', 'bot', '--grants', 'basic', 'Berta', 'x' * 32]], 'deleteArchivedFiles': [[], ['--delete']], 'deleteArchivedRevisions': [[], ['--delete']],
    'deleteAutoPatrolLogs': [['--dry-run'], []], 'deleteBatch': [['-u', 'Admin', 'list.txt']], 'deleteOldRevisions': [[], ['--delete', '3']], 'deleteOrphanedRevisions': [['--report'], []], 'deleteTag': [['bytool']], 'deleteUserEmail': [['Dora']], 'dumpBackup': [['--full'], ['--current'], ['--logs'], ['--stable'], ['--full', '--uploads'], ['--full', '--start=3', '--end=9'], ['--revrange', '--revstart=3', '--revend=9']],
    'dumpTextPass': [['--stub=file:stub.xml', '--full']], 'dumpUploads': [[], ['--used']], 'emptyUserGroup': [['bot']], 'eraseArchivedFile': [['--filename', 'Picture 2.png', '--filekey', '*']], 'exportSites': [['php://stdout']], 'fetchText': [[]], 'findBadBlobs': [['--revisions', '1,2,3'], ['--scan-from', '2020-01-01T00:00:00Z', '--limit', '50']], 'findMissingActors': [['--field', 'rev_actor']], 'findOrphanedFiles': [[], ['--verify']],
    'fixTimestamps': [['--offset', '1', '2020-01-01', '2020-01-02']], 'fixUserRegistration': [[]], 'generateSitemap': [['--fspath', 'maps', '--server', 'http://x']], 'getText': [['Page 1'], ['Nowhere']], 'grep': [['river'], ['--regex', 'r.ver$']], 'importDump': [['dump.xml'], ['--uploads', '--namespaces', '0', 'dump.xml']], 'importImages': [['--user', 'Admin', '--comment', 'x', 'pictures']], 'importSites': [['sites.xml']],
    'initEditCount': [['--dbname']], 'initSiteStats': [['--update', '--active'], []], 'initUserPreference': [['--target', 'a', '--source', 'rclimit']], 'invalidateUserSessions': [['--user', 'Dora']], 'manageJobs': [['--type', 'refreshLinks', '--action', 'repush-abandoned']], 'moveBatch': [['-u', 'Admin', 'moves.txt']], 'namespaceDupes': [[], ['--fix', '--merge']], 'nukeNS': [['--ns', '8'], ['--ns', '8', '--delete']],
    'nukePage': [['Big page'], ['--delete', 'Big page']], 'pageExists': [['Page 1'], ['Nowhere']], 'parse': [[]], 'populateBacklinkNamespace': [['--force']], 'populateInterwiki': [], 'populatePPSortKey': [['--force']], 'populateRecentChangesSource': [['--force']], 'populateRevisionLength': [['--force']], 'populateRevisionSha1': [['--force']], 'populateIpChanges': [['--force']], 'populateImageSha1': [['--force']], 'populateFilearchiveSha1': [['--force']], 'populateExternallinksIndex60': [['--force']],
    'populateChangeTagDef': [['--force']], 'populateContentTables': [['--force']], 'populateArchiveRevId': [['--force']], 'migrateActors': [['--force']], 'migrateComments': [['--force']], 'migrateArchiveText': [['--force', '--replace-missing']], 'migrateImageCommentTemp': [['--force']], 'migrateRevisionActorTemp': [['--force']], 'migrateUserGroup': [['bot', 'reader']], 'migrateLinksTable': [['--force', '--table', 'templatelinks'], ['--force', '--table', 'pagelinks']], 'refreshExternallinksIndex': [['--force']],
    'protect': [['--user', 'Admin', 'Page 30'], ['--unprotect', 'Page 30']], 'pruneUnusedLinkTargetRows': [['--dry'], []], 'purgeChangedPages': [['--starttime', '20200101000000', '--endtime', '20400101000000']], 'purgeChangedFiles': [['--starttime', '20200101000000', '--endtime', '20400101000000']], 'purgeList': [[], ['--all']], 'purgeOldText': [[], ['--purge']], 'purgePage': [[]], 'purgeParserCache': [['--age', '0']], 'reassignEdits': [['--report', 'Caesar', 'Berta'], ['Berta', 'Admin']],
    'rebuildall': [[]], 'rebuildImages': [[], ['--missing']], 'recountCategories': [['--mode', m] for m in ('pages', 'subcats', 'files')], 'refreshFileHeaders': [['--verbose']], 'refreshImageMetadata': [['--force', '--verbose']], 'refreshLinks': [[], ['--redirects-only'], ['--old-redirects-only'], ['--dfn-only'], ['--category', 'Topic 1'], ['--namespace', '0']], 'removeInvalidEmails': [[], ['--commit']], 'removeUnusedAccounts': [[], ['--delete', '--ignore-touched', '0']], 'renameDbPrefix': [['--old', '0', '--new', '0']],
    'renameRestrictions': [['sysop', 'admins']], 'resetAuthenticationThrottle': [['--login', '--user', 'Dora', '--ip', '10.0.0.1']], 'resetPageRandom': [['--from', '20200101000000', '--to', '20400101000000']], 'resetUserEmail': [['--no-reset-password', 'Dora', 'dora@example.org']], 'rollbackEdits': [['--user', 'Berta', '--titles', 'Page 1|Page 2']], 'runBatchedQuery': [['--table', 'page', '--set', "page_touched='20300101000000'", '--where', 'page_id < 9', '--key', 'page_id']], 'runJobs': [[], ['--result', 'json']],
    'showJobs': [[], ['--list'], ['--type', 'refreshLinks']], 'sql': [['--query', 'SELECT page_id, page_title FROM page ORDER BY page_id LIMIT 3'], ['tables.sql'], ['--status']], 'undelete': [['Page 45'], ['-u', 'Admin', 'Nowhere']], 'update': [['--quick'], ['--quick', '--force'], ['--quick', '--schema', 'schema.sql']], 'updateCollation': [['--force'], ['--dry-run', '--force'], ['--target-collation', 'numeric', '--force']], 'updateRestrictions': [[]], 'updateSearchIndex': [['-s', '20200101000000', '-e', '20400101000000']],
    'updateSpecialPages': [[], ['--only', 'Wantedpages']], 'uppercaseTitlesForUnicodeTransition': [['--run', '--charmap', 'charmap.php']], 'userOptions': [['--list'], ['rclimit', '--usage'], ['--old', '70', '--new', '90', 'rclimit', '--nowarn'], ['--delete', 'hideminor', '--nowarn']], 'view': [['Page 1']], 'wrapOldPasswords': [['--type', 'PBKDF2']], 'cleanupRemovedModules': [[]], 'cleanupInvalidDbKeys': [[], ['--fix']], 'purgeExpiredUserrights': [[]], 'patchSql': [['nothing']], 'categoryChangesAsRdf': [['-s', '20200101000000', '-e', '20400101000000']],
    'makeTestEdits': [['--user', 'Admin', '--count', '20']], 'lag': [], 'mysql': [['--', '-e', 'SELECT COUNT(*) FROM page'], ['--list-hosts']], 'clearInterwikiCache': [[]], 'dumpCategoriesAsRdf': [[]], 'dumpLinks': [[]], 'copyJobQueue': [['--src', 'default', '--dst', 'default']], 'deleteEqualMessages': [[], ['--delete']], 'deleteLocalPasswords': [['--user', 'Dora']], 'deleteSelfExternals': [[]], 'mergeMessageFileList': [], 'storage/checkStorage': [[]], 'storage/compressOld': [[], ['-t', 'concat']], 'storage/trackBlobs': [], 'storage/orphanStats': [[]], 'storage/storageTypeStats': [[]], 'storage/blobTracking': [],
}
SKIPPED = set('''CodeCleanerGlobalsPass CommandLineInc Maintenance Sqlite SqliteMaintenance TableCleanup install doMaintenance dumpIterator eval shell jsparse mcc mctest mwdocgen mwdoc-filter runScript renderDump copyFileBackend fileOpPerfTest preprocessorFuzzTest compareParsers
checkComposerLockUpToDate checkDependencies convertExtensionToRegistration findClasses findDeprecated formatInstallDoc generateConfigSchema generateJsonI18n generateLocalAutoload generateSchemaChangeSql generateSchemaSql manageForeignResources updateExtensionJsonSchema validateRegistrationFile updateCredits rebuildLocalisationCache
benchmarks wikiBirthday importSiteScripts getConfiguration storage/recompressTracked'''.split())
LAST = ['deleteOldRevisions', 'nukeNS', 'nukePage', 'purgeOldText', 'removeUnusedAccounts', 'reassignEdits', 'rebuildall', 'update', 'updateCollation', 'storage/compressOld', 'storage/checkStorage', 'makeTestEdits']

def programs():
    os.makedirs(f'{work}/pictures', exist_ok=True); os.makedirs(f'{work}/maps', exist_ok=True)
    for i in 11, 12: open(f'{work}/pictures/Imported {i}.png', 'wb').write(picture(i))
    files = {'list.txt': 'Page 58\nPage 59\nNowhere\n', 'moves.txt': 'Page 56|Moved 56\nPage 57|Page 55\n', 'dump.xml': DUMP.replace('Imported', 'Dumped'), 'charmap.php': "<?php return ['q' => 'Q'];",
        'sites.xml': '<sites version="1.0" xmlns="http://www.mediawiki.org/xml/sitelist-1.0/"><site><globalid>acme</globalid></site></sites>', 'tables.sql': 'CREATE TABLE /*_*/mine (a int unsigned NOT NULL PRIMARY KEY AUTO_INCREMENT, b varbinary(255) NOT NULL, c mediumblob, FULLTEXT KEY x (d), d mediumtext) /*$wgDBTableOptions*/;\nINSERT INTO /*_*/mine (b, d) VALUES (\'x\', \'some words\');\nDROP TABLE /*_*/mine;\n'}
    for n, t in files.items(): open(f'{work}/{n}', 'w').write(t)
    p = subprocess.run(['php', f'{wiki}/maintenance/dumpBackup.php', '--stub', '--full', '--quiet'], capture_output=True, env=env); open(f'{work}/stub.xml', 'wb').write(p.stdout)
    names = sorted(n[:-4] for n in os.listdir(f'{wiki}/maintenance') if n.endswith('.php')) + sorted('storage/' + n[:-4] for n in os.listdir(f'{wiki}/maintenance/storage') if n.endswith('.php'))
    names = [n for n in names if n not in SKIPPED and n not in LAST] + LAST
    for n in names:
        for a in ARGUMENTS.get(n, [[]]): script(n, *a, input={'fetchText': 'tt:1\n', 'purgePage': 'Page 1\n', 'parse': '[[Page 1]]', 'purgeList': 'http://x/\n', 'checkBadRedirects': ''}.get(n, ''))

def all_():
    if not part or 'install' in part: install()
    server = subprocess.Popen(['php', '-d', 'opcache.enable_cli=1', '-d', 'opcache.validate_timestamps=0', '-d', 'memory_limit=512M', '-d', 'error_reporting=E_ALL & ~E_DEPRECATED', '-S', f'127.0.0.1:{port}', '-t', wiki], env=dict(env, PHP_CLI_SERVER_WORKERS='2'),
        stdout=subprocess.DEVNULL, stderr=open(f'{work}/php.log', 'w'), start_new_session=True)
    try:
        time.sleep(1)
        if not part or 'fill' in part: fill()
        if not part or 'change' in part: change()
        admin, anon = Browser(), Browser()
        admin.login('Admin', 'adminpass12345')
        for name, f in ('search', search), ('special', lambda: (special('anonymous', anon), special('admin', admin))), ('api', lambda: (api('anonymous', anon), api('admin', admin))), ('programs', programs), ('search', search):
            if not part or name in part: f()
        if not part or 'again' in part: special('later', admin)
    finally:
        os.killpg(server.pid, 15); server.wait()
all_()
