//! The process around a demo server: its log, and the signal that ends it.

/// Writes the log to standard error, by default warnings and worse; `RUST_LOG` says otherwise.
pub fn init_tracing() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    // A log that exists already, as in a test, is left as it is.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

/// Resolves when the process is asked to end, by SIGTERM or by Ctrl-C.
///
/// # Cancel safety
/// Can be dropped and asked again.
pub async fn terminated() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupted => {}
                _ = term.recv() => {}
            }
            return;
        }
    }
    // Without a handler nothing can be waited for, and the signal's own effect ends the process.
    if interrupted.await.is_err() {
        std::future::pending::<()>().await;
    }
}
