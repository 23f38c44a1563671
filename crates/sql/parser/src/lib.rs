//! Lexer, digest, AST, parser, printer.
