//! Scalar functions and operators, one declaration each: signature, result type, evaluation.
