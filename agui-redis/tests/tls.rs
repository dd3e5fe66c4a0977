//! The store over TLS, with a certificate of an authority of one's own.

#![expect(clippy::unwrap_used, reason = "helpers fail their test")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use agui_core::store::contract;
use agui_redis::{RedisRunStore, RedisSettings};
use agui_redis_server::RedisServer;
use common::*;

/// A certificate for the loopback address, which is its own authority.
fn certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args([
            "-days",
            "2",
            "-subj",
            "/CN=test",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .output();
    // What makes the certificate is a program that Redis needs the library of.
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn it_keeps_the_contract_over_tls_and_trusts_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (key, cert) = (path("key.pem"), path("cert.pem"));
    let server = RedisServer::start_with_tls(&cert, &key);
    let settings = RedisSettings::new(&server.tls_url()).unwrap();
    assert!(RedisRunStore::connect(settings.clone()).await.is_err());
    let store = store(settings.with_root_certificates(fs::read(&cert).unwrap())).await;
    contract::check(&store).await;
}
