//! The scripts that change a thread in one step. Their texts are constant; whatever varies is a key or an argument.

use std::sync::LazyLock;

/// A script and the digest that Redis knows it by.
pub(crate) struct Script {
    pub(crate) text: &'static str,
    pub(crate) digest: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, digest: redis::Script::new(text).get_hash().to_owned() }
    }
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!($file)));)*
    };
}

scripts! {
    ABORT = "lua/abort.lua";
    ACCOUNT = "lua/account.lua";
    APPEND = "lua/append.lua";
    BEGIN = "lua/begin.lua";
    CLOSE = "lua/close.lua";
    EXTEND = "lua/extend.lua";
    FINISH = "lua/finish.lua";
    FORGET = "lua/forget.lua";
    LAST = "lua/last.lua";
    LOOK = "lua/look.lua";
    PUT = "lua/put.lua";
    READ = "lua/read.lua";
    RENEW = "lua/renew.lua";
    STOP = "lua/stop.lua";
    SWAP = "lua/swap.lua";
}
