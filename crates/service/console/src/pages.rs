//! The page: files in the binary, compressed once.

use crate::http::{Request, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// Path, type, bytes.
const FILES: &[(&str, &str, &[u8])] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_bytes!("page/style.css")),
    ("/app.js", "text/javascript; charset=utf-8", include_bytes!("page/app.js")),
    ("/draw.js", "text/javascript; charset=utf-8", include_bytes!("page/draw.js")),
    ("/views.js", "text/javascript; charset=utf-8", include_bytes!("page/views.js")),
    ("/icon.svg", "image/svg+xml", include_bytes!("page/icon.svg")),
];

struct Page {
    path: &'static str,
    kind: &'static str,
    plain: &'static [u8],
    packed: Vec<u8>,
    /// A hash of the bytes.
    tag: String,
}

/// All of them.
pub struct Pages(Vec<Page>);

impl Pages {
    pub fn new() -> Pages {
        let page = |(path, kind, plain): &(&'static str, &'static str, &'static [u8])| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            // A vector takes all.
            let packed = packer.write_all(plain).and_then(|()| packer.finish()).unwrap_or_default();
            Page { path, kind, plain, packed, tag: format!("\"{:016x}\"", hash(plain)) }
        };
        Pages(FILES.iter().map(page).collect())
    }

    pub fn answer(&self, r: &Request) -> Response {
        let Some(page) = self.0.iter().find(|p| p.path == r.path) else {
            return Response::error(404, "there is no such page");
        };
        let fresh = r.header("if-none-match").is_some_and(|tags| tags.split(',').any(|t| t.trim() == page.tag));
        let response = match (fresh, r.header("accept-encoding").is_some_and(|all| all.contains("gzip"))) {
            (true, _) => Response::new(304, "", Vec::new()),
            (false, true) if !page.packed.is_empty() => {
                Response::new(200, page.kind, page.packed.clone()).with("Content-Encoding", "gzip")
            }
            (false, _) => Response::new(200, page.kind, page.plain),
        };
        // Asked about each time, answered by its tag.
        response.with("ETag", page.tag.clone()).with("Cache-Control", "no-cache").with("Vary", "Accept-Encoding")
    }
}

/// FNV-1a: tells versions apart, nothing more.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{Parsed, parse};

    #[test]
    fn the_page_is_small_and_asks_nobody_else() {
        let bytes: usize = FILES.iter().map(|(.., b)| b.len()).sum();
        assert!(bytes <= 250 << 10, "{bytes} bytes");
        for (path, _, bytes) in FILES {
            let text = std::str::from_utf8(bytes).unwrap();
            let foreign = text.replace("http://www.w3.org/", "");
            assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{path} names another server");
            assert!(!text.contains("innerHTML") && !text.contains("eval("), "{path}");
            assert!(!text.contains(" style=\"") && !text.contains(" onclick="), "{path}: the policy forbids it");
        }
    }

    #[test]
    fn a_page_that_is_known_is_not_sent_again() {
        let pages = Pages::new();
        let Parsed::Whole(mut r, _) = parse(b"GET /app.js HTTP/1.1\r\n\r\n") else { panic!() };
        let first = pages.answer(&r);
        assert_eq!((first.status, &*first.body), (200, FILES[2].2));
        let tag = first.headers.iter().find(|(n, _)| *n == "ETag").unwrap().1.clone();
        r.set_header("if-none-match", &tag);
        assert_eq!(pages.answer(&r).status, 304);
        r.path = "/../etc/passwd".into();
        assert_eq!(pages.answer(&r).status, 404);
    }
}
