//! Expressions, functions, operators, DML, DDL.
