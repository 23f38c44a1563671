//! JSON, written.

/// A text of JSON that grows.
#[derive(Default)]
pub struct Json(String);

impl Json {
    pub fn finish(self) -> String {
        self.0
    }

    fn comma(&mut self) {
        if !matches!(self.0.as_bytes().last(), None | Some(b'[' | b'{' | b':')) {
            self.0.push(',');
        }
    }

    /// An object as the next value.
    pub fn object(&mut self, fill: impl FnOnce(&mut Object<'_>)) {
        self.comma();
        self.0.push('{');
        fill(&mut Object(self));
        self.0.push('}');
    }

    /// A list as the next value.
    pub fn list(&mut self, fill: impl FnOnce(&mut Json)) {
        self.comma();
        self.0.push('[');
        fill(self);
        self.0.push(']');
    }

    pub fn text(&mut self, text: &str) {
        self.comma();
        self.quote(text);
    }

    pub fn number(&mut self, n: f64) {
        self.comma();
        // What is no number JSON cannot say.
        if n.is_finite() { self.0.push_str(&format!("{n}")) } else { self.0.push_str("null") }
    }

    pub fn whole(&mut self, n: u64) {
        self.comma();
        self.0.push_str(&n.to_string());
    }

    pub fn null(&mut self) {
        self.comma();
        self.0.push_str("null");
    }

    fn quote(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                '\t' => self.0.push_str("\\t"),
                '\r' => self.0.push_str("\\r"),
                // A page may embed this.
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => self.0.push_str(&format!("\\u{:04x}", c as u32)),
                c if (c as u32) < 0x20 => self.0.push_str(&format!("\\u{:04x}", c as u32)),
                c => self.0.push(c),
            }
        }
        self.0.push('"');
    }
}

/// Members of an object.
pub struct Object<'a>(&'a mut Json);

impl Object<'_> {
    fn name(&mut self, name: &str) -> &mut Json {
        self.0.comma();
        self.0.quote(name);
        self.0.0.push(':');
        self.0
    }

    pub fn text(&mut self, name: &str, text: &str) {
        self.name(name).text(text);
    }

    pub fn maybe(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.name(name).null(),
        }
    }

    pub fn number(&mut self, name: &str, n: f64) {
        self.name(name).number(n);
    }

    pub fn whole(&mut self, name: &str, n: u64) {
        self.name(name).whole(n);
    }

    pub fn list(&mut self, name: &str, fill: impl FnOnce(&mut Json)) {
        self.name(name).list(fill);
    }

    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
        self.name(name).object(fill);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_separated_and_quoted() {
        let mut j = Json::default();
        j.object(|o| {
            o.text("a", "x\"\\\n\u{1}</script>ä");
            o.maybe("b", None);
            o.list("c", |l| {
                l.whole(1);
                l.number(2.5);
                l.number(f64::NAN);
                l.list(|_| ());
                l.object(|o| o.whole("n", u64::MAX));
            });
            o.object("d", |_| ());
        });
        let wanted = "{\"a\":\"x\\\"\\\\\\n\\u0001\\u003c/script\\u003eä\",\"b\":null,\
                      \"c\":[1,2.5,null,[],{\"n\":18446744073709551615}],\"d\":{}}";
        assert_eq!(j.finish(), wanted);
    }
}
