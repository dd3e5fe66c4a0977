//! The store over TLS, with a certificate of an authority of one's own.

mod common;

use std::fs;

use agui_core::store::contract;
use agui_redis::{RedisRunStore, RedisSettings};
use agui_redis_server::RedisServer;
use common::*;

#[tokio::test]
async fn it_keeps_the_contract_over_tls_and_trusts_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    // A certificate for the loopback address, which is its own authority.
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (key, cert) =
        (write("key.pem", made.signing_key.serialize_pem()), write("cert.pem", made.cert.pem()));
    let server = RedisServer::start_with_tls(&cert, &key);
    let settings = RedisSettings::new(&server.tls_url()).unwrap().with_lease(CONTRACT_LEASE);
    assert!(RedisRunStore::connect(settings.clone()).await.is_err());
    let store = store(settings.with_root_certificates(made.cert.pem())).await;
    contract::check(&store).await;
}
