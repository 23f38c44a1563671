//! A scanner of XML texts, as lenient as MySQL's: an end tag has only to be as long as the start tag, attributes need
//! no values, several elements may stand at the top, entities stay as they are.

/// Nodes of one document. More are a parse error: the memory of one value is bounded.
const MAX_NODES: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Elements, declarations, processing instructions; node 0 is the document.
    Element,
    /// An attribute; its value is a text below it.
    Attribute,
    /// Text.
    Text,
}

/// A node. Nodes are in document order, so that the nodes below one are the run that follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) parent: u32,
    /// Name or text: bytes of the source.
    start: u32,
    end: u32,
    /// First node that is not below this one.
    pub(super) next: u32,
    /// End of all that the node covers in the source.
    covers: u32,
}

/// A document over its source.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) source: Vec<u8>,
    pub(super) nodes: Vec<Node>,
}

impl Document {
    /// Name of an element or attribute, or the text.
    pub(super) fn text(&self, node: u32) -> &[u8] {
        let node = &self.nodes[node as usize];
        &self.source[node.start as usize..node.end as usize]
    }

    /// What UPDATEXML replaces: an element with its tags, an attribute with its value, the whole document.
    pub(super) fn range(&self, node: u32) -> (usize, usize) {
        let n = &self.nodes[node as usize];
        match n.kind {
            Kind::Element if node > 0 => (n.start as usize - 1, n.covers as usize),
            _ => (n.start as usize, n.covers as usize),
        }
    }

    /// Nodes right below one.
    pub(super) fn children(&self, node: u32) -> impl Iterator<Item = u32> {
        let (mut at, end) = (node + 1, self.nodes[node as usize].next);
        std::iter::from_fn(move || {
            let child = at;
            (child < end).then(|| {
                at = self.nodes[child as usize].next;
                child
            })
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Less,
    Greater,
    Slash,
    Equals,
    Question,
    Exclamation,
    Ident,
    String,
    Cdata,
    Comment,
    Unknown,
}

impl Token {
    fn shown(self) -> &'static str {
        match self {
            Token::End => "END-OF-INPUT",
            Token::Less => "'<'",
            Token::Greater => "'>'",
            Token::Slash => "'/'",
            Token::Equals => "'='",
            Token::Question => "'?'",
            Token::Exclamation => "'!'",
            Token::Ident => "IDENT",
            Token::String => "STRING",
            Token::Cdata => "CDATA",
            Token::Comment => "COMMENT",
            Token::Unknown => "unknown token",
        }
    }
}

struct Scanner {
    source: Vec<u8>,
    at: usize,
    nodes: Vec<Node>,
    /// The innermost open node.
    open: u32,
}

/// Bytes that a document's nodes take at most: no two are without one of these between them.
pub(super) fn room_for(source: &[u8]) -> usize {
    let parts = source
        .iter()
        .filter(|b| matches!(b, b'<' | b'=' | b'"' | b'\'' | b'/' | b'?' | b'!') || b.is_ascii_whitespace());
    parts.count().min(MAX_NODES) * size_of::<Node>()
}

/// Reads a document. The error is the text of warning 1525.
pub(super) fn parse(source: Vec<u8>) -> Result<Document, String> {
    let covers = source.len() as u32;
    let root = Node { kind: Kind::Element, parent: 0, start: 0, end: 0, next: 0, covers };
    let mut scanner = Scanner { source, at: 0, nodes: vec![root], open: 0 };
    let outcome = scanner.document();
    if let Err(what) = outcome {
        let before = &scanner.source[..scanner.at];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        return Err(format!("parse error at line {line} pos {column}: {what}"));
    }
    scanner.nodes[0].next = scanner.nodes.len() as u32;
    Ok(Document { source: scanner.source, nodes: scanner.nodes })
}

fn starts_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b == b':' || b >= 0x80
}

fn continues_name(b: u8) -> bool {
    starts_name(b) || b.is_ascii_digit() || b == b'-' || b == b'.'
}

impl Scanner {
    fn rest(&self) -> &[u8] {
        &self.source[self.at..]
    }

    /// Ends behind the next `what`, or at the end of the source; gives the start of `what`.
    fn skip_past(&mut self, what: &[u8]) -> usize {
        match memchr::memmem::find(self.rest(), what) {
            Some(found) => {
                let at = self.at + found;
                self.at = at + what.len();
                at
            }
            None => {
                self.at = self.source.len();
                self.at
            }
        }
    }

    /// The next token and its bytes: of strings and CDATA without what encloses them.
    fn token(&mut self) -> (Token, usize, usize) {
        self.at += self.rest().iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n')).count();
        let start = self.at;
        let rest = self.rest();
        let Some(first) = rest.first().copied() else { return (Token::End, start, start) };
        if rest.starts_with(b"<!--") {
            self.skip_past(b"-->");
            return (Token::Comment, start, self.at);
        }
        if rest.starts_with(b"<![CDATA[") {
            self.at += 9;
            let from = self.at;
            let to = self.skip_past(b"]]>");
            return (Token::Cdata, from, to);
        }
        let single = match first {
            b'<' => Token::Less,
            b'>' => Token::Greater,
            b'/' => Token::Slash,
            b'=' => Token::Equals,
            b'?' => Token::Question,
            b'!' => Token::Exclamation,
            b'"' | b'\'' => {
                self.at += 1;
                let to = self.skip_past(&[first]);
                return (Token::String, start + 1, to);
            }
            b if starts_name(b) => {
                self.at += self.rest().iter().take_while(|b| continues_name(**b)).count();
                return (Token::Ident, start, self.at);
            }
            _ => return (Token::Unknown, start, start),
        };
        self.at += 1;
        (single, start, self.at)
    }

    fn add(&mut self, kind: Kind, start: usize, end: usize, covers: usize) -> Result<u32, String> {
        if self.nodes.len() >= MAX_NODES {
            return Err("too many nodes".into());
        }
        let id = self.nodes.len() as u32;
        let [start, end, covers] = [start, end, covers].map(|n| n as u32);
        self.nodes.push(Node { kind, parent: self.open, start, end, next: id + 1, covers });
        Ok(id)
    }

    fn attribute(&mut self, name: (usize, usize), value: Option<(usize, usize)>) -> Result<(), String> {
        let id = self.add(Kind::Attribute, name.0, name.1, self.at)?;
        if let Some((start, end)) = value {
            let outer = std::mem::replace(&mut self.open, id);
            self.add(Kind::Text, start, end, end)?;
            self.open = outer;
            self.nodes[id as usize].next = self.nodes.len() as u32;
        }
        Ok(())
    }

    /// Closes the innermost element; `name` is that of the end tag.
    fn close(&mut self, name: Option<(usize, usize)>) -> Result<(), String> {
        let node = self.nodes[self.open as usize];
        if let Some((start, end)) = name {
            let shown = |start: usize, end: usize| String::from_utf8_lossy(&self.source[start..end]).into_owned();
            if self.open == 0 {
                return Err(format!("'</{}>' unexpected (END-OF-INPUT wanted)", shown(start, end)));
            }
            if end - start != (node.end - node.start) as usize {
                let wanted = shown(node.start as usize, node.end as usize);
                return Err(format!("'</{}>' unexpected ('</{wanted}>' wanted)", shown(start, end)));
            }
        }
        self.nodes[self.open as usize].next = self.nodes.len() as u32;
        self.open = node.parent;
        Ok(())
    }

    fn document(&mut self) -> Result<(), String> {
        while self.at < self.source.len() {
            if self.source[self.at] == b'<' {
                self.markup()?;
            } else {
                let start = self.at;
                let length = memchr::memchr(b'<', self.rest()).unwrap_or(self.rest().len());
                self.at += length;
                self.add(Kind::Text, start, self.at, self.at)?;
            }
        }
        if self.open != 0 { Err("unexpected END-OF-INPUT".into()) } else { Ok(()) }
    }

    /// A tag, a comment, CDATA.
    fn markup(&mut self) -> Result<(), String> {
        let (token, start, end) = self.token();
        match token {
            Token::Comment => return Ok(()),
            Token::Cdata => return self.add(Kind::Text, start, end, self.at).map(drop),
            _ => {}
        }
        let (mut token, mut start, mut end) = self.token();
        if token == Token::Slash {
            (token, start, end) = self.token();
            if token != Token::Ident {
                return Err(format!("{} unexpected (ident wanted)", token.shown()));
            }
            let node = self.open;
            self.close(Some((start, end)))?;
            let (token, ..) = self.token();
            return self.tag_end(token, node);
        }
        let declaration = token == Token::Exclamation;
        let instruction = token == Token::Question;
        if declaration || instruction {
            (token, start, end) = self.token();
        }
        if token != Token::Ident {
            return Err(format!("{} unexpected (ident or '/' wanted)", token.shown()));
        }
        let node = self.add(Kind::Element, start, end, end)?;
        self.open = node;
        let mut token = self.attributes(declaration)?;
        if token == Token::Slash {
            self.close(None)?;
            token = self.token().0;
        } else if instruction {
            if token != Token::Question {
                return Err(format!("{} unexpected ('?' wanted)", token.shown()));
            }
            self.close(None)?;
            token = self.token().0;
        } else if declaration {
            self.close(None)?;
        }
        self.tag_end(token, node)
    }

    fn tag_end(&mut self, token: Token, node: u32) -> Result<(), String> {
        if token != Token::Greater {
            return Err(format!("{} unexpected ('>' wanted)", token.shown()));
        }
        self.nodes[node as usize].covers = self.at as u32;
        Ok(())
    }

    /// Attributes; gives the token behind them.
    fn attributes(&mut self, declaration: bool) -> Result<Token, String> {
        let (mut token, mut start, mut end) = self.token();
        while token == Token::Ident || (token == Token::String && declaration) {
            let name = (start, end);
            let behind = self.at;
            (token, start, end) = self.token();
            if token == Token::Equals {
                (token, start, end) = self.token();
                if !matches!(token, Token::Ident | Token::String) {
                    return Err(format!("{} unexpected (ident or string wanted)", token.shown()));
                }
                self.attribute(name, Some((start, end)))?;
                (token, start, end) = self.token();
            } else {
                let now = std::mem::replace(&mut self.at, behind);
                self.attribute(name, None)?;
                self.at = now;
            }
        }
        Ok(token)
    }
}
