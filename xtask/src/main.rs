//! One verb a job.
fn main() {}
