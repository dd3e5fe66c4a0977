//! Numbers, ids and words from fixed seeds.

/// Splitmix64: a few lines, and the same numbers on every machine.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Numbers of a seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap_or_default()
    }

    /// An id as producers make them: a prefix and 24 hexadecimal digits.
    pub(crate) fn id(&mut self, prefix: &str) -> String {
        format!("{prefix}{:016x}{:08x}", self.next(), self.next() >> 32)
    }

    /// A token of about five characters.
    pub(crate) fn token(&mut self) -> &'static str {
        const TOKENS: [&str; 32] = [
            " the",
            " model",
            " answer",
            " of",
            " which",
            " stream",
            ",",
            " and",
            " every",
            " token",
            "ing",
            " state",
            ".",
            " small",
            " value",
            "\n\n",
            " \"quoted\"",
            " with",
            " from",
            "tion",
            " about",
            " where",
            " it",
            " tool",
            " calls",
            ":",
            " would",
            " other",
            " first",
            "ed",
            " there",
            " people",
        ];
        TOKENS[self.below(TOKENS.len())]
    }
}
