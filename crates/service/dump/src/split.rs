//! Cuts what is typed, or read from a file, into statements and the client's own commands.

/// What comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A statement for the server.
    Statement {
        /// Without its delimiter.
        text: Vec<u8>,
        /// Ended by `\G`: a line for each value.
        vertical: bool,
        /// The line it begins in, from 1.
        line: u64,
    },
    /// A command of the client, with what stands behind it in the line.
    Command(Command, String),
}

/// A command of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `quit`
    Quit,
    /// `help`
    Help,
    /// `source FILE`
    Source,
    /// `status`
    Status,
}

/// What is open at the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Nothing,
    Quoted(u8),
    Comment,
}

/// Lines go in, pieces come out.
pub struct Splitter {
    delimiter: Vec<u8>,
    text: Vec<u8>,
    inside: Inside,
    line: u64,
    began: u64,
}

impl Default for Splitter {
    fn default() -> Self {
        Splitter { delimiter: b";".to_vec(), text: Vec::new(), inside: Inside::Nothing, line: 0, began: 1 }
    }
}

impl Splitter {
    /// What the next line goes on with: the middle of the prompt.
    pub fn continues(&self) -> Option<char> {
        match self.inside {
            Inside::Quoted(quote) => Some(char::from(quote)),
            Inside::Comment => Some('*'),
            Inside::Nothing if self.text.is_empty() => None,
            Inside::Nothing => Some('-'),
        }
    }

    /// Forgets what was begun.
    pub fn clear(&mut self) {
        self.text.clear();
        self.inside = Inside::Nothing;
    }

    /// Takes a line, without its end.
    pub fn line(&mut self, line: &[u8]) -> Vec<Piece> {
        self.line += 1;
        let mut pieces = Vec::new();
        if self.text.is_empty()
            && self.inside == Inside::Nothing
            && let Some(command) = self.command(line)
        {
            pieces.extend(command);
            return pieces;
        }
        let mut at = 0;
        while at < line.len() {
            let rest = &line[at..];
            if self.inside != Inside::Nothing {
                at += self.through(rest);
                continue;
            }
            if rest.starts_with(&self.delimiter) {
                at += self.delimiter.len();
                pieces.extend(self.end(false));
            } else if rest.len() >= 2 && rest[0] == b'\\' && matches!(rest[1], b'G' | b'g' | b'c' | b'q') {
                at += 2;
                match rest[1] {
                    b'c' => self.clear(),
                    b'q' => pieces.push(Piece::Command(Command::Quit, String::new())),
                    which => pieces.extend(self.end(which == b'G')),
                }
            } else if rest[0] == b'#' || is_dashes(rest) {
                break;
            } else {
                if self.text.is_empty() {
                    if rest[0].is_ascii_whitespace() {
                        at += 1;
                        continue;
                    }
                    self.began = self.line;
                }
                match rest[0] {
                    quote @ (b'\'' | b'"' | b'`') => self.inside = Inside::Quoted(quote),
                    b'/' if rest.starts_with(b"/*") => {
                        self.inside = Inside::Comment;
                        self.text.push(b'/');
                        at += 1;
                    }
                    _ => {}
                }
                self.text.push(line[at]);
                at += 1;
            }
        }
        if !self.text.is_empty() {
            self.text.push(b'\n');
        }
        pieces
    }

    /// Takes the next bytes of a text or comment; how many.
    fn through(&mut self, rest: &[u8]) -> usize {
        let (taken, ends) = match self.inside {
            // A backslash takes the next byte with it, but not between backquotes.
            Inside::Quoted(quote) if rest[0] == b'\\' && quote != b'`' => (rest.len().min(2), false),
            Inside::Quoted(quote) => (1, rest[0] == quote),
            _ if rest.starts_with(b"*/") => (2, true),
            _ => (1, false),
        };
        self.text.extend_from_slice(&rest[..taken]);
        if ends {
            self.inside = Inside::Nothing;
        }
        taken
    }

    /// What is open: a text or comment, and the line its statement begins in.
    pub fn unfinished(&self) -> Option<(&'static str, u64)> {
        match self.inside {
            Inside::Nothing => None,
            Inside::Quoted(_) => Some(("quotation mark", self.began)),
            Inside::Comment => Some(("comment", self.began)),
        }
    }

    /// What the end of the input leaves.
    pub fn finish(&mut self) -> Option<Piece> {
        self.inside = Inside::Nothing;
        self.end(false)
    }

    fn end(&mut self, vertical: bool) -> Option<Piece> {
        let mut text = std::mem::take(&mut self.text);
        text.truncate(text.trim_ascii_end().len());
        (!text.is_empty()).then_some(Piece::Statement { text, vertical, line: self.began })
    }

    /// A line that is a command of the client's; what it gives.
    fn command(&mut self, line: &[u8]) -> Option<Option<Piece>> {
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let bare = word.trim_end_matches(';').to_ascii_lowercase();
        let of =
            |command, argument: &str| Some(Some(Piece::Command(command, argument.trim_end_matches(';').to_owned())));
        match bare.as_str() {
            "delimiter" if !rest.is_empty() => {
                self.delimiter = rest.as_bytes().to_vec();
                Some(None)
            }
            "quit" | "exit" | "\\q" if rest.is_empty() => of(Command::Quit, ""),
            "\\h" | "\\?" | "?" => of(Command::Help, ""),
            "help" if rest.is_empty() => of(Command::Help, ""),
            "status" | "\\s" if rest.is_empty() => of(Command::Status, ""),
            "source" | "\\." if !rest.is_empty() => of(Command::Source, rest),
            _ => None,
        }
    }
}

/// `-- ` begins a comment.
fn is_dashes(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        let mut splitter = Splitter::default();
        let mut all: Vec<Piece> = text.lines().flat_map(|l| splitter.line(l.as_bytes())).collect();
        all.extend(splitter.finish());
        all
    }

    fn statement(text: &str, vertical: bool, line: u64) -> Piece {
        Piece::Statement { text: text.into(), vertical, line }
    }

    #[test]
    fn statements_end_at_delimiters_outside_of_texts() {
        assert_eq!(
            pieces("select 1; select ';', \"a;\\\"b\", `c;`\n-- no; comment\n, 2 -- tail ;\n\\G\n\nselect 3"),
            [
                statement("select 1", false, 1),
                statement("select ';', \"a;\\\"b\", `c;`\n\n, 2", true, 1),
                statement("select 3", false, 6)
            ]
        );
        assert_eq!(pieces("/*!40101 SET a=1; */;"), [statement("/*!40101 SET a=1; */", false, 1)]);
        assert_eq!(pieces("select 'two\nlines;' ;"), [statement("select 'two\nlines;'", false, 1)]);
        assert_eq!(
            pieces("select 1-- 2\n;select 2--3;"),
            [statement("select 1", false, 1), statement("select 2--3", false, 2)]
        );
        assert_eq!(pieces("; ;\n;"), []);
    }

    #[test]
    fn commands_are_the_clients() {
        let command = |c, rest: &str| Piece::Command(c, rest.to_owned());
        assert_eq!(pieces("source a b.sql;"), [command(Command::Source, "a b.sql")]);
        assert_eq!(pieces("\\. x"), [command(Command::Source, "x")]);
        assert_eq!(pieces("Quit;"), [command(Command::Quit, "")]);
        assert_eq!(pieces("select 1 \\c select 2;\\q"), [statement("select 2", false, 1), command(Command::Quit, "")]);
        assert_eq!(
            pieces("DELIMITER //\nbegin; end//\ndelimiter ;\nselect 1;"),
            [statement("begin; end", false, 2), statement("select 1", false, 4)]
        );
        // HELP with a topic is the server's.
        assert_eq!(pieces("help 'abs';"), [statement("help 'abs'", false, 1)]);
    }
}
