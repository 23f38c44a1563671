//! What there is under which path, for whom.

use crate::api;
use crate::http::{Request, Response};
use crate::metrics;
use crate::pages::Pages;
use crate::sign::{Signed, Signs, may_see};
use base64ct::{Base64, Encoding};
use gannet_core::Core;
use gannet_core::accounts::{Account, Origin, Way, authenticate};
use gannet_core::vars::Live;
use gannet_session::Sessions;
use gannet_types::{SqlError, json};
use gannet_wire::tls::Agreed;
use std::net::IpAddr;
use std::sync::Arc;

/// The cookie with the number of who is signed in.
const COOKIE: &str = "gannet_console";

/// Who asks.
pub struct Client {
    pub origin: Origin,
    pub tls: Option<Agreed>,
}

/// All that is served.
pub struct Site {
    core: Arc<Core>,
    sessions: Arc<Sessions>,
    encrypted: bool,
    signs: Signs,
    pages: Pages,
}

impl Site {
    pub fn new(core: Arc<Core>, sessions: Arc<Sessions>, encrypted: bool) -> Site {
        Site { core, sessions, encrypted, signs: Signs::default(), pages: Pages::new() }
    }

    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Connections are encrypted.
    pub fn encrypted(&self) -> bool {
        self.encrypted
    }

    /// The answer to a request.
    pub fn answer(&self, r: &Request, client: &Client) -> Response {
        if !self.is_own_name(r) {
            return Response::error(421, "the console is not served under this name");
        }
        match (&*r.method, &*r.path) {
            ("GET" | "HEAD", path) if !path.starts_with("/api/") && path != "/metrics" => self.pages.answer(r),
            // What shows figures is as little another page's to ask as what changes something.
            _ if !self.is_own_page(r) => Response::error(403, "another page must not ask this"),
            ("GET" | "HEAD", "/metrics") => self.metrics(r, client),
            ("POST", _) if !is_json(r) => Response::error(415, "application/json is wanted"),
            ("POST", "/api/sign-in") => self.sign_in(r, client),
            ("GET" | "POST", _) => match self.signed(r) {
                None => Response::error(401, "sign in first"),
                Some((number, signed)) => self.answer_signed(r, &number, &signed),
            },
            _ => Response::error(405, "GET or POST is wanted").with("Allow", "GET, HEAD, POST"),
        }
        .with_no_store()
    }

    fn answer_signed(&self, r: &Request, number: &str, signed: &Signed) -> Response {
        if r.method == "POST" && r.header("x-gannet-proof") != Some(&signed.proof) {
            return Response::error(403, "the page's proof is missing: load it again");
        }
        match (&*r.method, &*r.path) {
            ("POST", "/api/sign-out") => {
                self.signs.leave(number);
                Response::json("{}".into()).with("Set-Cookie", self.cookie("", 0))
            }
            _ => api::answer(self, r, signed),
        }
    }

    /// The request is for a name that only this server can have. A page of others whose name was made to lead here
    /// ("rebinding") sends its own name.
    fn is_own_name(&self, r: &Request) -> bool {
        let Some(host) = r.header("host") else { return false };
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or("", |(ip, _)| ip),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        match name.parse::<IpAddr>() {
            Ok(ip) => self.encrypted || ip.is_loopback(),
            Err(_) if name.eq_ignore_ascii_case("localhost") => true,
            Err(_) => self.encrypted && name.eq_ignore_ascii_case(self.core.globals.get(Live::Hostname).as_str()),
        }
    }

    /// The request comes from a page of this server, or from no page.
    fn is_own_page(&self, r: &Request) -> bool {
        let scheme = if self.encrypted { "https" } else { "http" };
        let own = r.header("host").map(|host| format!("{scheme}://{host}"));
        let origin = r.header("origin").is_none_or(|o| Some(o) == own.as_deref());
        let site = r.header("sec-fetch-site").is_none_or(|s| s == "same-origin" || s == "none");
        origin && site
    }

    fn signed(&self, r: &Request) -> Option<(String, Signed)> {
        let number = r.cookie(COOKIE)?;
        Some((number.into(), self.signs.find(&self.core, number)?))
    }

    fn cookie(&self, number: &str, seconds: u32) -> String {
        let secure = if self.encrypted { "; Secure" } else { "" };
        format!("{COOKIE}={number}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    /// Whether a name and a password are those of an account that may see the console.
    fn admit(&self, client: &Client, user: &str, password: &str) -> Result<Arc<Account>, Response> {
        let way = Way { tls: client.tls.as_ref(), renews: false };
        // Loopback, or TLS: nobody can listen.
        let admitted = authenticate(&self.core, (user, password.as_bytes()), client.origin.clone(), true, way);
        let account = admitted.map_err(|e: SqlError| Response::error(401, e.message()))?;
        if !may_see(&self.core, &account) {
            return Err(Response::error(403, "the console needs PROCESS, and SELECT on performance_schema.*"));
        }
        Ok(account)
    }

    fn sign_in(&self, r: &Request, client: &Client) -> Response {
        let Some((user, password)) = credentials(&r.body) else {
            return Response::error(400, "user and password are wanted");
        };
        match self.admit(client, &user, &password) {
            Err(refused) => refused,
            Ok(account) => {
                let (number, signed) = self.signs.enter(&user, account);
                api::me(self, &signed).with("Set-Cookie", self.cookie(&number, 12 * 3600))
            }
        }
    }

    /// For Prometheus: with a name and a password in each request, or by who is signed in.
    fn metrics(&self, r: &Request, client: &Client) -> Response {
        if self.signed(r).is_none() {
            let refused = |why: &str| {
                Response::error(401, why).with("WWW-Authenticate", "Basic realm=\"gannet\", charset=\"UTF-8\"")
            };
            let Some((user, password)) = r.header("authorization").and_then(basic) else {
                return refused("an account of the server is wanted, as for the console");
            };
            if let Err(response) = self.admit(client, &user, &password) {
                return if response.status == 401 { refused("access denied") } else { response };
            }
        }
        Response::new(
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            gannet_runtime::run_long(|| metrics::text(&self.core)),
        )
    }
}

impl Response {
    /// What is true now is not kept; pages say themselves how long they hold.
    fn with_no_store(self) -> Response {
        if self.headers.iter().any(|(name, _)| *name == "Cache-Control") {
            return self;
        }
        self.with("Cache-Control", "no-store")
    }
}

fn is_json(r: &Request) -> bool {
    let kind = r.header("content-type").and_then(|k| k.split(';').next()).unwrap_or("");
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// A text in a JSON object.
pub fn member(body: &[u8], name: &str) -> Option<String> {
    let json::Json::Object(members) = json::parse(body).ok()? else { return None };
    let found = members.iter().find(|(n, _)| &**n == name)?;
    match &found.1 {
        json::Json::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn credentials(body: &[u8]) -> Option<(String, String)> {
    Some((member(body, "user")?, member(body, "password")?))
}

/// `Basic dXNlcjpwYXNzd29yZA==`.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, text) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(Base64::decode_vec(text.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.into(), password.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_are_read() {
        assert_eq!(basic("Basic dXNlcjpwYTpzcw=="), Some(("user".into(), "pa:ss".into())));
        assert_eq!(basic("basic dTo="), Some(("u".into(), String::new())));
        assert_eq!(
            [basic("Bearer dTo="), basic("Basic ***"), basic("Basic dXNlcg=="), basic("Basic")],
            [None, None, None, None]
        );
        assert_eq!(credentials(br#"{"user":"a","password":"b\"c"}"#), Some(("a".into(), "b\"c".into())));
        assert_eq!(
            [credentials(b"{}"), credentials(b"[1]"), credentials(b"{\"user\":1,\"password\":2}")],
            [None, None, None]
        );
    }
}
