//! The settings of a demo server, from environment variables and flags.

use std::sync::Arc;
use std::time::Duration;

use agui_core::store::{DynRunStore, MemoryRunStore};

/// What a demo server can be told. Each setting is an environment variable and a flag; the flag beats the variable.
///
/// | variable | flag | default |
/// | --- | --- | --- |
/// | `AGUI_DEMO_ADDR` | `--addr` | `127.0.0.1:8080` |
/// | `AGUI_DEMO_TOKEN` | `--token` | `demo-token` |
/// | `AGUI_DEMO_KEEPALIVE_MS` | `--keepalive-ms` | 15000 |
/// | `AGUI_DEMO_BODY_LIMIT` | `--body-limit` | 1048576 |
/// | `AGUI_DEMO_REDIS` | `--redis` | none: runs are recorded in memory |
/// | `AGUI_DEMO_LEASE_MS` | `--lease-ms` | 15000 |
///
/// A flag takes its value from the next argument or from behind a `=`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The address to listen on.
    pub addr: String,
    /// The bearer token of everything under `/secure`. An empty one refuses everybody.
    pub token: String,
    /// The silence after which a keep-alive comment is written; zero writes none.
    pub keep_alive: Duration,
    /// The largest request body that is accepted, in bytes.
    pub body_limit: usize,
    /// The URL of the Redis where runs are recorded; several with commas between them are a cluster. Absent, they are
    /// recorded in memory.
    pub redis: Option<String>,
    /// How long a run in Redis stays its process's without word of it.
    pub lease: Duration,
    store: Store,
}

/// Where runs are recorded. Two settings are equal wherever that is: it is nothing that was said.
#[derive(Clone)]
struct Store(Arc<dyn DynRunStore>);

impl PartialEq for Store {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Store {}

/// Settings that cannot be read. The message says which and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The usage was asked for, which is the message.
    #[error("{}", USAGE)]
    HelpAsked,
    /// An argument that is no flag of ours.
    #[error(
        "unknown argument `{0}`; known are --addr, --token, --keepalive-ms, --body-limit, --redis and --lease-ms"
    )]
    UnknownArgument(String),
    /// A flag without its value.
    #[error("`{0}` needs a value")]
    MissingValue(String),
    /// A setting of nothing, where leaving it out would say what is meant.
    #[error("`{0}` is empty; without it runs are recorded in memory")]
    Empty(String),
    /// A value that should be a number and is not.
    #[error("`{name}` should be a whole number, and `{value}` is none")]
    NotANumber {
        /// The flag or the variable.
        name: String,
        /// What it was set to.
        value: String,
    },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            addr: "127.0.0.1:8080".to_owned(),
            token: "demo-token".to_owned(),
            keep_alive: Duration::from_secs(15),
            body_limit: 1_048_576,
            redis: None,
            lease: Duration::from_secs(15),
            store: Store(Arc::new(MemoryRunStore::default())),
        }
    }
}

impl std::fmt::Debug for Settings {
    /// Leaves out the token, and the URL, which may have a password in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("addr", &self.addr)
            .field("keep_alive", &self.keep_alive)
            .field("body_limit", &self.body_limit)
            .finish_non_exhaustive()
    }
}

/// The settings of this process.
///
/// Prints the usage and exits with 0 where `--help` or `-h` is among the arguments.
///
/// # Errors
/// An argument is unknown, lacks its value, is empty where that means nothing, or a number is none.
#[expect(clippy::print_stdout, reason = "whoever asks for the usage reads it there")]
pub fn settings() -> Result<Settings, SettingsError> {
    let settings = Settings::read(|name| std::env::var(name).ok(), std::env::args().skip(1));
    if settings == Err(SettingsError::HelpAsked) {
        println!("{USAGE}");
        std::process::exit(0);
    }
    settings
}

const USAGE: &str = "\
Serves the agents `echo` and `script` on /agui and, with discovery and a record of threads, on /info, /agent/{id}/run,
/agent/{id}/connect, /agent/{id}/stop/{threadId} and /; and all of it again behind a bearer token below /secure.

    flag                  variable                 default
    --addr ADDR           AGUI_DEMO_ADDR           127.0.0.1:8080
    --token TOKEN         AGUI_DEMO_TOKEN          demo-token
    --keepalive-ms MS     AGUI_DEMO_KEEPALIVE_MS   15000, 0 for none
    --body-limit BYTES    AGUI_DEMO_BODY_LIMIT     1048576
    --redis URL           AGUI_DEMO_REDIS          none; runs are recorded in memory
    --lease-ms MS         AGUI_DEMO_LEASE_MS       15000, how long a run in Redis outlives its process
    --help, -h            prints this

A flag beats its variable. RUST_LOG chooses what is logged.";

const NAMES: [(&str, &str); 6] = [
    ("AGUI_DEMO_ADDR", "--addr"),
    ("AGUI_DEMO_TOKEN", "--token"),
    ("AGUI_DEMO_KEEPALIVE_MS", "--keepalive-ms"),
    ("AGUI_DEMO_BODY_LIMIT", "--body-limit"),
    ("AGUI_DEMO_REDIS", "--redis"),
    ("AGUI_DEMO_LEASE_MS", "--lease-ms"),
];

impl Settings {
    /// Sets where runs are recorded; in memory by default.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn DynRunStore>) -> Self {
        self.store = Store(store);
        self
    }

    /// Where runs are recorded; the same for all clones.
    pub fn store(&self) -> Arc<dyn DynRunStore> {
        Arc::clone(&self.store.0)
    }

    /// Reads settings from the variables that `variable` knows and from arguments without the program's name.
    ///
    /// # Errors
    /// The usage is asked for, an argument is unknown, lacks its value, is empty where that means nothing, or a number is
    /// none.
    pub fn read(
        variable: impl Fn(&str) -> Option<String>,
        arguments: impl IntoIterator<Item = String>,
    ) -> Result<Self, SettingsError> {
        let arguments: Vec<_> = arguments.into_iter().collect();
        if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
            return Err(SettingsError::HelpAsked);
        }
        let mut settings = Self::default();
        for (name, flag) in NAMES {
            if let Some(value) = variable(name) {
                settings.set(flag, name, value)?;
            }
        }
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (flag, value) = match argument.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (argument, None),
            };
            if !NAMES.iter().any(|(_, known)| *known == flag) {
                return Err(SettingsError::UnknownArgument(flag));
            }
            let Some(value) = value.or_else(|| arguments.next()) else {
                return Err(SettingsError::MissingValue(flag));
            };
            settings.set(&flag, &flag, value)?;
        }
        Ok(settings)
    }

    /// Sets what a flag stands for; `name` is what an error calls it.
    fn set(&mut self, flag: &str, name: &str, value: String) -> Result<(), SettingsError> {
        let not_a_number =
            |value: &str| SettingsError::NotANumber { name: name.to_owned(), value: value.to_owned() };
        match flag {
            "--addr" => self.addr = value,
            "--token" => self.token = value,
            "--keepalive-ms" => {
                self.keep_alive = Duration::from_millis(value.parse().map_err(|_| not_a_number(&value))?);
            }
            "--redis" if value.is_empty() => return Err(SettingsError::Empty(name.to_owned())),
            "--redis" => self.redis = Some(value),
            "--lease-ms" => {
                self.lease = Duration::from_millis(value.parse().map_err(|_| not_a_number(&value))?);
            }
            _ => self.body_limit = value.parse().map_err(|_| not_a_number(&value))?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)], arguments: &[&str]) -> Result<Settings, SettingsError> {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned());
        Settings::read(find, arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn nothing_said_means_the_defaults() {
        assert_eq!(read(&[], &[]).unwrap(), Settings::default());
    }

    #[test]
    fn a_flag_beats_its_variable() {
        let variables = [("AGUI_DEMO_ADDR", "127.0.0.1:1"), ("AGUI_DEMO_KEEPALIVE_MS", "20")];
        let settings = read(&variables, &["--addr", "127.0.0.1:2", "--body-limit=7"]).unwrap();
        assert_eq!(settings.addr, "127.0.0.1:2");
        assert_eq!(settings.keep_alive, Duration::from_millis(20));
        assert_eq!(settings.body_limit, 7);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        assert_eq!(read(&[], &["--port"]), Err(SettingsError::UnknownArgument("--port".to_owned())));
        assert_eq!(read(&[], &["--token"]), Err(SettingsError::MissingValue("--token".to_owned())));
        assert_eq!(read(&[], &["--redis", ""]), Err(SettingsError::Empty("--redis".to_owned())));
        let error = read(&[("AGUI_DEMO_BODY_LIMIT", "1k")], &[]).unwrap_err().to_string();
        assert!(error.contains("AGUI_DEMO_BODY_LIMIT") && error.contains("1k"), "{error}");
    }

    #[test]
    fn help_is_given_whatever_else_is_said_and_names_every_flag_and_variable() {
        for arguments in [&["--help"][..], &["-h"], &["--port", "--help"]] {
            assert_eq!(read(&[("AGUI_DEMO_BODY_LIMIT", "1k")], arguments), Err(SettingsError::HelpAsked));
        }
        let usage = SettingsError::HelpAsked.to_string();
        for name in NAMES.iter().flat_map(|(variable, flag)| [variable, flag]) {
            assert!(usage.contains(name), "{usage}");
        }
    }

    #[test]
    fn neither_the_token_nor_a_password_is_in_the_debug_output() {
        let settings = read(&[], &["--redis", "redis://ann:s3cret@host"]).unwrap();
        assert!(settings.redis.is_some());
        let shown = format!("{settings:?}");
        assert!(!shown.contains("demo-token") && !shown.contains("s3cret"), "{shown}");
    }
}
