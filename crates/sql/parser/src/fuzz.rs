//! One entry for everything that reads untrusted text: the cargo-fuzz target and the mutation test share it.

use crate::ast::Statement;
use crate::digest::{self, MAX_LITERALS, MAX_TEXT, Scan};
use crate::lexer::{Lexer, Tok};
use crate::mode::LexMode;
use crate::{parse, parse_one, parse_parameterised, printer};

/// Reads `data` (one byte of sql_mode bits, then text) in every way this crate offers and checks what must hold between
/// them. Panics if it does not.
pub fn check(data: &[u8]) {
    let Some((&bits, text)) = data.split_first() else { return };
    let mode = LexMode {
        ansi_quotes: bits & 1 != 0,
        pipes_as_concat: bits & 2 != 0,
        no_backslash_escapes: bits & 4 != 0,
        ignore_space: bits & 8 != 0,
        high_not_precedence: bits & 16 != 0,
    };
    check_tokens(text, mode);
    digest::digest(text, mode);
    let parsed = parse(text, mode);
    match (&parsed, parse_one(text, mode)) {
        (Ok(all), Ok(one)) => assert_eq!(all.statement, one.statement),
        (Ok(_), Err(error)) => panic!("parse accepts what parse_one refuses: {error}"),
        (Err(_), _) => {}
    }
    let Ok(parsed) = parsed else { return };
    let parameterised = parse_parameterised(text, mode).map(|p| p.statement);
    assert_eq!(parameterised.as_ref(), Ok(&parsed.statement), "ordinals change nothing else");
    check_print(&parsed.statement, mode);
}

/// The scan and the lexer see the same literals; tokens follow each other and stay inside the text.
fn check_tokens(text: &[u8], mode: LexMode) {
    let mut lexer = Lexer::new(text, mode);
    let mut literals = Vec::new();
    let mut end = 0;
    let mut last;
    loop {
        let token = lexer.next();
        last = token.kind;
        assert!(token.start >= end && token.end >= token.start && token.end as usize <= text.len());
        end = token.end;
        if token.kind.is_literal() {
            assert_eq!(token.literal as usize, literals.len());
            literals.push((token.start, token.end));
        }
        if matches!(token.kind, Tok::End | Tok::Error | Tok::Semi) {
            break;
        }
    }
    let mut scan = Scan::new(u64::from(end));
    if digest::scan(text, mode, &mut scan) {
        assert!(last != Tok::Error && text.len() <= MAX_TEXT && literals.len() <= MAX_LITERALS);
        let seen: Vec<_> = scan.literals.iter().map(|l| (l.start, l.end)).collect();
        assert_eq!(seen, literals);
    }
}

/// What is printed parses to the same tree and prints as itself.
fn check_print(statement: &Statement, mode: LexMode) {
    if *statement == Statement::Empty {
        return;
    }
    let printed = printer::statement(statement);
    let again = match parse(&printed, LexMode::default()) {
        Ok(again) => again.statement,
        Err(error) => panic!("printed as {:?}: {error}", String::from_utf8_lossy(&printed)),
    };
    if !mode.pipes_as_concat {
        assert_eq!(again, *statement, "printed as {:?}", String::from_utf8_lossy(&printed));
    }
    assert_eq!(printer::statement(&again), printed);
}
