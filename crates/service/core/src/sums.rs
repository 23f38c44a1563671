//! By what sessions are summed up: account, user, host, and all together.

/// User and host; one of them, or both, may not be looked at.
pub type Key = (Option<String>, Option<String>);

/// By what sessions are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Account,
    User,
    Host,
    /// All together.
    All,
}

impl Of {
    /// The sums that TRUNCATE forgets with this one.
    pub fn forgotten_with(self) -> &'static [Of] {
        match self {
            Of::Account => &[Of::Account],
            Of::User => &[Of::Account, Of::User],
            Of::Host => &[Of::Account, Of::Host],
            Of::All => &ALL,
        }
    }

    /// What of `user` and `host` the key has.
    pub fn key(self, user: &str, host: &str) -> Key {
        if user == NOBODY {
            return (None, None);
        }
        let (user, host) = (Some(user.to_string()), Some(host.to_string()));
        match self {
            Of::Account => (user, host),
            Of::User => (user, None),
            Of::Host => (None, host),
            Of::All => (None, None),
        }
    }
}

/// As whom clients are counted that have not logged in, and what the server prepares for itself: under no account, as
/// its own threads. No account has this name.
pub const NOBODY: &str = "\0";

pub(crate) const ALL: [Of; 4] = [Of::Account, Of::User, Of::Host, Of::All];
