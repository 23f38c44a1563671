//! HTTP/1.1 as far as the console needs it: a request out of a buffer, a response into one.
//!
//! Bounds: a request line and its headers 16 KiB together, 64 headers, a body 64 KiB with a length (no chunks).

use std::collections::BTreeMap;

/// Bytes of the request line and the headers.
pub const MOST_HEAD: usize = 16 << 10;
/// Bytes of a body.
pub const MOST_BODY: usize = 64 << 10;
const MOST_HEADERS: usize = 64;

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Parameters of the query, decoded; of two with one name the last.
    pub query: BTreeMap<String, String>,
    /// Names in small letters. A header that comes twice is refused, so that nobody can read another one of them.
    headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// The client wants to go on with this connection.
    pub keeps: bool,
}

impl Request {
    #[cfg(test)]
    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers.insert(name.into(), value.into());
    }

    /// A header by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|v| &**v)
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.query.get(name)?.parse().ok()
    }

    /// A cookie.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let all = self.header("cookie")?;
        all.split(';').filter_map(|c| c.trim().split_once('=')).find(|(n, _)| *n == name).map(|(_, v)| v)
    }
}

/// What is in a buffer.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// Not yet a whole request.
    Part,
    /// A request, and how many bytes it took.
    Whole(Request, usize),
    /// None: the status to refuse it with.
    Bad(u16),
}

/// Reads a request.
pub fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut raw = httparse::Request::new(&mut headers);
    let head = match raw.parse(&bytes[..bytes.len().min(MOST_HEAD)]) {
        Ok(httparse::Status::Complete(n)) => n,
        Ok(httparse::Status::Partial) if bytes.len() < MOST_HEAD => return Parsed::Part,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Parsed::Bad(431),
        Err(_) => return Parsed::Bad(400),
    };
    let (Some(method), Some(target), Some(version)) = (raw.method, raw.path, raw.version) else {
        return Parsed::Bad(400);
    };
    let mut request = Request { method: method.into(), keeps: version == 1, ..Request::default() };
    for h in raw.headers.iter() {
        let Ok(value) = std::str::from_utf8(h.value) else { return Parsed::Bad(400) };
        if request.headers.insert(h.name.to_ascii_lowercase(), value.trim().into()).is_some() {
            return Parsed::Bad(400);
        }
    }
    if let Some(connection) = request.header("connection") {
        request.keeps = !connection.eq_ignore_ascii_case("close")
            && (version == 1 || connection.eq_ignore_ascii_case("keep-alive"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decoded = |text: &str| decode(text).ok_or(());
    let pairs: Result<BTreeMap<String, String>, ()> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect();
    let (Ok(pairs), true) = (pairs, path.starts_with('/')) else { return Parsed::Bad(400) };
    (request.path, request.query) = (path.into(), pairs);
    if request.header("transfer-encoding").is_some() {
        return Parsed::Bad(501);
    }
    let length = match request.header("content-length") {
        None => 0,
        Some(text) if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() => match text.parse() {
            Ok(n) if n <= MOST_BODY => n,
            _ => return Parsed::Bad(413),
        },
        Some(_) => return Parsed::Bad(400),
    };
    match bytes.get(head..head + length) {
        Some(body) => {
            request.body = body.into();
            Parsed::Whole(request, head + length)
        }
        None => Parsed::Part,
    }
}

/// `%41` and `+` of a query.
fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        out.push(match b {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?].map(|d| char::from(d).to_digit(16));
                let [Some(high), Some(low)] = digits else { return None };
                (high << 4 | low) as u8
            }
            b => b,
        });
    }
    String::from_utf8(out).ok()
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

impl Response {
    pub fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status, kind, body: body.into(), headers: Vec::new() }
    }

    pub fn json(body: String) -> Response {
        Response::new(200, "application/json", body)
    }

    /// A refusal, with a sentence.
    pub fn error(status: u16, why: &str) -> Response {
        let mut json = crate::json::Json::default();
        json.object(|o| o.text("error", why));
        Response::new(status, "application/json", json.finish())
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Response {
        self.headers.push((name, value.into()));
        self
    }

    /// Writes it.
    pub fn write(&self, keeps: bool, head_only: bool, out: &mut Vec<u8>) {
        let reason = match self.status {
            200 => "OK",
            204 => "No Content",
            304 => "Not Modified",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            421 => "Misdirected Request",
            429 => "Too Many Requests",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            _ => "Error",
        };
        let mut head = format!("HTTP/1.1 {} {reason}\r\nContent-Length: {}\r\n", self.status, self.body.len());
        if !self.kind.is_empty() {
            head.push_str(&format!("Content-Type: {}\r\n", self.kind));
        }
        for (name, value) in SAFE.iter().copied().chain(self.headers.iter().map(|(n, v)| (*n, &**v))) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(if keeps { "Connection: keep-alive\r\n\r\n" } else { "Connection: close\r\n\r\n" });
        out.extend_from_slice(head.as_bytes());
        if !head_only {
            out.extend_from_slice(&self.body);
        }
    }
}

/// What each response says, so that a browser does nothing that the page has not asked for.
const SAFE: &[(&str, &str)] = &[
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Whole(request, n) => {
                assert_eq!(n, text.len());
                request
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn requests_are_read() {
        let r =
            whole("GET /api/live?after=12&by=a%20b+c&x HTTP/1.1\r\nHost: localhost:1\r\nCookie: a=1; t=abc\r\n\r\n");
        assert_eq!((&*r.method, &*r.path, r.number("after"), r.keeps), ("GET", "/api/live", Some(12), true));
        assert_eq!((r.query["by"].as_str(), r.query["x"].as_str()), ("a b c", ""));
        assert_eq!((r.header("host"), r.cookie("t"), r.cookie("b")), (Some("localhost:1"), Some("abc"), None));
        let r = whole("POST /x HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
        assert_eq!((&*r.body, r.keeps), (&b"abc"[..], false));
        assert!(!whole("GET / HTTP/1.0\r\n\r\n").keeps);
        let part = "POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        for end in 0..part.len() {
            assert_eq!(parse(&part.as_bytes()[..end]), Parsed::Part, "cut at {end}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(MOST_HEAD));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100));
        let cases = [
            ("\x16\x03\x01 tls", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
            ("GET /?a=%zz HTTP/1.1\r\n\r\n", 400),
            ("GET /?a=%ff HTTP/1.1\r\n\r\n", 400),
            ("GET http://other/ HTTP/1.1\r\n\r\n", 400),
            (&long, 431),
            (&many, 431),
        ];
        for (text, status) in cases {
            assert_eq!(parse(text.as_bytes()), Parsed::Bad(status), "{text:.60?}");
        }
    }

    #[test]
    fn responses_say_what_a_browser_may_do() {
        let mut out = Vec::new();
        Response::error(403, "no \"way\"").with("X-A", "b").write(true, false, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("HTTP/1.1 403 Forbidden\r\nContent-Length: 22\r\n"), "{text}");
        assert!(text.contains("Content-Security-Policy: default-src 'none'") && text.contains("X-A: b\r\n"));
        assert!(text.ends_with("\r\n\r\n{\"error\":\"no \\\"way\\\"\"}"), "{text}");
    }
}
