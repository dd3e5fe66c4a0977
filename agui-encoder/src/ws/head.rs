//! The head of an upgrade: whether it is one, where it comes from and which subprotocol it offers.

use http::header::{
    CONNECTION, HOST, ORIGIN, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderName, Version};

use super::SUBPROTOCOL;
use super::settings::Settings;
use crate::http::{Refusal, RefusalCode};

/// Whether a GET asks for a WebSocket of this version of the protocol. HTTP/2 has another way, which is not served, and
/// HTTP/1.0 has none.
pub(super) fn is_upgrade(version: Version, headers: &HeaderMap) -> bool {
    let is = |name: HeaderName, value: &str| {
        let mut values = headers.get_all(name).iter();
        values.next().is_some_and(|found| found.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
            && values.next().is_none()
    };
    version == Version::HTTP_11
        && list(headers, CONNECTION).any(|option| option.eq_ignore_ascii_case(b"upgrade"))
        && is(UPGRADE, "websocket")
        && is(SEC_WEBSOCKET_VERSION, "13")
}

/// Judges what an upgrade says beside asking for it, and gives the subprotocol to echo.
pub(super) fn judge(headers: &HeaderMap, settings: &Settings) -> Result<Option<&'static str>, Refusal> {
    if !has_admitted_origin(headers, settings) {
        return Err(Refusal::forbidden("Sockets are not opened from this origin."));
    }
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    if !(keys.next().is_some_and(|key| is_key(key.as_bytes())) && keys.next().is_none()) {
        return Err(Refusal::new(RefusalCode::InvalidRequest)
            .with_message("An upgrade carries one Sec-WebSocket-Key of 16 bytes in base64."));
    }
    if !headers.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        return Ok(None);
    }
    if list(headers, SEC_WEBSOCKET_PROTOCOL).any(|offered| offered == SUBPROTOCOL.as_bytes()) {
        return Ok(Some(SUBPROTOCOL));
    }
    Err(Refusal::new(RefusalCode::InvalidRequest)
        .with_message(format!("Only the subprotocol {SUBPROTOCOL} is spoken here.")))
}

/// Whether this is base64 of 16 bytes. Some libraries look, and all three frameworks shall give one answer.
fn is_key(key: &[u8]) -> bool {
    let Some(digits) = key.strip_suffix(b"==") else { return false };
    digits.len() == 22
        && digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// The members of a header that is a list.
fn list(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &[u8]> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|value| value.as_bytes().split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
}

fn has_admitted_origin(headers: &HeaderMap, settings: &Settings) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = match (origins.next(), origins.next()) {
        (None, _) => return !settings.origin_required,
        (Some(origin), None) => origin.to_str().ok().map(normalized),
        (Some(_), Some(_)) => None,
    };
    let Some(origin) = origin else { return false };
    match &settings.origins {
        Some(admitted) => admitted.contains(&origin),
        None => headers.get(HOST).and_then(|host| host.to_str().ok()).is_some_and(|host| {
            // Whether TLS ends at a proxy is not known here, so the scheme is taken to be the origin's.
            origin
                .split_once("://")
                .is_some_and(|(scheme, _)| normalized(&format!("{scheme}://{host}")) == origin)
        }),
    }
}

/// An origin in lower case and without what may be left out of it.
pub(super) fn normalized(origin: &str) -> String {
    let mut origin = origin.trim().trim_end_matches('/').to_ascii_lowercase();
    for (scheme, port) in [("http://", ":80"), ("https://", ":443")] {
        if origin.starts_with(scheme) && origin.ends_with(port) {
            origin.truncate(origin.len() - port.len());
        }
    }
    origin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), http::HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn an_upgrade_is_told_from_everything_else() {
        let upgrade = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
        ];
        assert!(is_upgrade(Version::HTTP_11, &headers(&upgrade)));
        for version in [Version::HTTP_10, Version::HTTP_2] {
            assert!(!is_upgrade(version, &headers(&upgrade)));
        }
        for left_out in 0..upgrade.len() {
            let mut fewer = upgrade.to_vec();
            fewer.remove(left_out);
            assert!(!is_upgrade(Version::HTTP_11, &headers(&fewer)), "without {left_out}");
        }
        let older = [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "8")];
        assert!(!is_upgrade(Version::HTTP_11, &headers(&older)));
    }

    #[test]
    fn without_a_list_only_the_servers_own_origin_is_admitted() {
        let admitted = |pairs: &[_]| has_admitted_origin(&headers(pairs), &Settings::default());
        assert!(admitted(&[("host", "a.example")]));
        assert!(admitted(&[("host", "a.example:8080"), ("origin", "http://A.example:8080")]));
        assert!(admitted(&[("host", "a.example"), ("origin", "https://a.example")]));
        assert!(admitted(&[("host", "a.example:443"), ("origin", "https://a.example")]));
        assert!(!admitted(&[("host", "a.example:443"), ("origin", "http://a.example")]));
        assert!(!admitted(&[("host", "a.example"), ("origin", "https://b.example")]));
        assert!(!admitted(&[("host", "a.example"), ("origin", "null")]));
        assert!(!admitted(&[("origin", "https://a.example")]));
        let mut doubled = headers(&[("host", "a.example"), ("origin", "https://a.example")]);
        doubled.append(ORIGIN, http::HeaderValue::from_static("https://a.example"));
        assert!(!has_admitted_origin(&doubled, &Settings::default()));
    }

    #[test]
    fn a_list_is_all_that_is_admitted_and_an_origin_may_be_asked_for() {
        let origins = Some(vec![normalized("https://App.example:443/")]);
        let settings = Settings { origins, ..Settings::default() };
        let admitted = |pairs: &[_], settings: &Settings| has_admitted_origin(&headers(pairs), settings);
        assert!(admitted(&[("host", "a.example"), ("origin", "https://app.example")], &settings));
        assert!(!admitted(&[("host", "a.example"), ("origin", "http://app.example")], &settings));
        assert!(!admitted(&[("host", "a.example"), ("origin", "https://a.example")], &settings));
        assert!(admitted(&[("host", "a.example")], &settings));
        let strict = Settings { origin_required: true, ..settings };
        assert!(!admitted(&[("host", "a.example")], &strict));
    }

    #[test]
    fn a_key_is_sixteen_bytes_in_base64_and_there_is_one() {
        let judged = |keys: &[&'static str]| {
            let mut map = HeaderMap::new();
            for key in keys {
                map.append(SEC_WEBSOCKET_KEY, http::HeaderValue::from_static(key));
            }
            judge(&map, &Settings::default()).is_ok()
        };
        let key = "dGhlIHNhbXBsZSBub25jZQ==";
        assert!(judged(&[key]));
        for keys in
            [&[][..], &[key, key], &["dGhlIHNhbXBsZSBub25jZQ"], &["c2hvcnQ=="], &["dGhlIHNhbXBsZSBub2!jZQ=="]]
        {
            assert!(!judged(keys), "{keys:?}");
        }
    }

    #[test]
    fn a_subprotocol_is_echoed_and_a_foreign_one_refused() {
        let judged = |pairs: &[_]| {
            let mut map = headers(pairs);
            map.insert(SEC_WEBSOCKET_KEY, http::HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ=="));
            judge(&map, &Settings::default()).map_err(|refusal| refusal.code())
        };
        assert_eq!(judged(&[]), Ok(None));
        assert_eq!(judged(&[("sec-websocket-protocol", "chat, ag-ui.1")]), Ok(Some("ag-ui.1")));
        assert_eq!(judged(&[("sec-websocket-protocol", "chat")]), Err(RefusalCode::InvalidRequest));
        assert_eq!(judged(&[("sec-websocket-protocol", "")]), Err(RefusalCode::InvalidRequest));
    }
}
