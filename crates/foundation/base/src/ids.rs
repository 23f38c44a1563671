use std::fmt;

/// Size of every page, in memory and on disk: 16 KiB, InnoDB's default.
pub const PAGE_SIZE: usize = 1 << PAGE_SIZE_BITS;
/// Binary logarithm of [`PAGE_SIZE`].
pub const PAGE_SIZE_BITS: u32 = 14;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $show:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The least value. By convention it means 'none' where an id is stored and may be absent.
            pub const ZERO: $name = $name(0);
            /// The greatest value.
            pub const MAX: $name = $name(u64::MAX);

            /// The bare number.
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// True for [`Self::ZERO`].
            #[inline]
            pub const fn is_zero(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($show, "{}"), self.0)
            }
        }

        impl From<u64> for $name {
            #[inline]
            fn from(v: u64) -> Self {
                $name(v)
            }
        }

        impl From<$name> for u64 {
            #[inline]
            fn from(v: $name) -> u64 {
                v.0
            }
        }
    };
}

id! {
    /// Log sequence number: a byte offset in the one log since the store was created. Also the clock: a commit's LSN is
    /// the timestamp of the versions it wrote.
    Lsn, "lsn "
}
id! {
    /// Number of a page in the data file; its offset is the number times [`PAGE_SIZE`].
    PageNo, "page "
}
id! {
    /// Id of a transaction that has written something. Ids ascend in the order of the first write.
    TrxId, "trx "
}
id! {
    /// Id of a B+tree: the number of its root page, which never moves.
    TreeId, "tree "
}

impl Lsn {
    /// The position `bytes` further on.
    #[inline]
    pub const fn advance(self, bytes: u64) -> Lsn {
        Lsn(self.0 + bytes)
    }

    /// Bytes of log from `earlier` to `self`; 0 when `earlier` is not earlier.
    #[inline]
    pub const fn since(self, earlier: Lsn) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl PageNo {
    /// Byte offset of the page in the data file.
    #[inline]
    pub const fn offset(self) -> u64 {
        self.0 << PAGE_SIZE_BITS
    }

    /// The page after this one.
    #[inline]
    pub const fn next(self) -> PageNo {
        PageNo(self.0 + 1)
    }
}

impl TreeId {
    /// The tree's root page.
    #[inline]
    pub const fn root(self) -> PageNo {
        PageNo(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_and_orders() {
        assert_eq!(format!("{} {:?}", Lsn(7), Lsn(7)), "7 lsn 7");
        assert_eq!(format!("{:>4}", PageNo(3)), "   3");
        assert!(TrxId(1) < TrxId(2));
        assert_eq!(PageNo(2).offset(), 32768);
        assert_eq!(Lsn(10).since(Lsn(4)), 6);
        assert_eq!(Lsn(4).since(Lsn(10)), 0);
        assert_eq!(TreeId(9).root(), PageNo(9));
    }
}
