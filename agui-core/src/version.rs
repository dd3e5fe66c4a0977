//! Protocol versions: MAJOR.MINOR, compared by number (`VER-2`).

/// The version this crate speaks.
pub const PROTOCOL_VERSION: &str = "1.0";

/// How a peer's declared version compares with ours (`VER-2`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VersionRelation {
    /// The peer declares nothing: it is from before 1.0.
    Absent,
    /// The peer is of our version, or of an older one.
    SameOrOlder,
    /// The peer is newer within our major line.
    NewerMinor,
    /// The peer is of a newer major line.
    NewerMajor,
    /// The declaration is not MAJOR.MINOR.
    Unreadable,
}

impl VersionRelation {
    /// Compares a declaration with [`PROTOCOL_VERSION`].
    ///
    /// # Examples
    /// ```
    /// # use agui_core::VersionRelation;
    /// assert_eq!(VersionRelation::of(Some("1.0")), VersionRelation::SameOrOlder);
    /// assert_eq!(VersionRelation::of(Some("1.10")), VersionRelation::NewerMinor);
    /// assert_eq!(VersionRelation::of(Some("next")), VersionRelation::Unreadable);
    /// assert_eq!(VersionRelation::of(None), VersionRelation::Absent);
    /// ```
    pub fn of(declared: Option<&str>) -> Self {
        let Some(declared) = declared else { return Self::Absent };
        match parse(declared) {
            None => Self::Unreadable,
            Some((1, 0) | (0, _)) => Self::SameOrOlder,
            Some((1, _)) => Self::NewerMinor,
            Some(_) => Self::NewerMajor,
        }
    }

    /// Whether a receiver says something about it: newer and unreadable ones only (`VER-2`).
    pub const fn is_notable(self) -> bool {
        matches!(self, Self::NewerMinor | Self::NewerMajor | Self::Unreadable)
    }
}

fn parse(version: &str) -> Option<(u64, u64)> {
    let (major, minor) = version.split_once('.')?;
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // A number beyond 64 bits is still a number, and newer than ours.
        plain.then(|| digits.parse().unwrap_or(u64::MAX))
    };
    Some((number(major)?, number(minor)?))
}
